# task: linear_scan
# expect: incorrect
# why: zeros of the right shape and type

import jax.numpy as jnp


def computation(decay, x):
    return jnp.zeros_like(x)
