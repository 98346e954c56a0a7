# task: matmul_epilogue
# expect: incorrect
# why: zeros of the right shape and type

import jax.numpy as jnp


def computation(x, weight, bias):
    return jnp.zeros((x.shape[0], weight.shape[1]), x.dtype)
