# task: grouped_matmul
"""Every row times the weights of its group, found by comparing its number with the running sum of the sizes."""

import jax
import jax.numpy as jnp


def computation(x, weights, group_sizes):
    ends = jnp.cumsum(group_sizes)
    group = jnp.sum(jnp.arange(x.shape[0])[:, None] >= ends[None, :], axis=1)

    def one_group(total, operands):
        index, weight = operands
        mine = jnp.where((group == index)[:, None], x, 0)
        return total + jnp.dot(mine, weight, preferred_element_type=jnp.float32), None

    start = jnp.zeros((x.shape[0], weights.shape[2]), jnp.float32)
    total, _ = jax.lax.scan(one_group, start, (jnp.arange(weights.shape[0]), weights))
    return total.astype(x.dtype)
