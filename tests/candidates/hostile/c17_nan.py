# task: softmax
# expect: incorrect
# why: no comparison with NaN is true, so a negated one finds nothing wrong

import jax.numpy as jnp


def computation(x):
    return jnp.full_like(x, jnp.nan)
