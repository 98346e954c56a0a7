"""The k largest values of each row and where they are."""

import jax


def computation(x, k):
    values, positions = jax.lax.top_k(x, k)
    return values, positions
