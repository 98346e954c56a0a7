# task: top_k
# expect: incorrect
# why: zeros of the right shape and type

import jax.numpy as jnp


def computation(x, k):
    return jnp.zeros((x.shape[0], k), x.dtype), jnp.zeros((x.shape[0], k), jnp.int32)
