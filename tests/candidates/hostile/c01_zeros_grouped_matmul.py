# task: grouped_matmul
# expect: incorrect
# why: zeros of the right shape and type

import jax.numpy as jnp


def computation(x, weights, group_sizes):
    return jnp.zeros((x.shape[0], weights.shape[2]), x.dtype)
