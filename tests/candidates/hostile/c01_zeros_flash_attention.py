# task: flash_attention
# expect: incorrect
# why: zeros of the right shape and type

import jax.numpy as jnp


def computation(query, key, value):
    return jnp.zeros_like(query)
