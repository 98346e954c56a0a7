# task: softmax
# expect: incorrect
# why: an infinite result makes a relative error meaningless

import jax.numpy as jnp


def computation(x):
    return jnp.full_like(x, jnp.inf)
