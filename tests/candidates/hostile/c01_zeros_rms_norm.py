# task: rms_norm
# expect: incorrect
# why: zeros of the right shape and type

import jax.numpy as jnp


def computation(x, weight, epsilon):
    return jnp.zeros_like(x)
