# task: grouped_matmul
"""Moves the rows so that each group starts at a block of its own; then a block has one group."""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

BLOCK_M = 128  # tunable: 64, 128, 256
BLOCK_N = 256  # tunable: 128, 256, 512


def _kernel(group_ref, x_ref, w_ref, o_ref):
    del group_ref
    o_ref[...] = jnp.dot(x_ref[...], w_ref[0], preferred_element_type=jnp.float32).astype(o_ref.dtype)


def computation(x, weights, group_sizes):
    m, k = x.shape
    groups, _, n = weights.shape
    bn = min(BLOCK_N, n)
    blocks = -(-group_sizes // BLOCK_M)
    block_ends = jnp.cumsum(blocks)
    ends = jnp.cumsum(group_sizes)
    total_blocks = -(-m // BLOCK_M) + groups

    row = jnp.arange(m)
    group_of_row = jnp.sum(row[:, None] >= ends[None, :], axis=1)
    new_row = row - (ends - group_sizes)[group_of_row] + (block_ends - blocks)[group_of_row] * BLOCK_M
    moved = jnp.zeros((total_blocks * BLOCK_M, k), x.dtype).at[new_row].set(x, unique_indices=True)
    group_of_block = jnp.minimum(
        jnp.sum(jnp.arange(total_blocks)[:, None] >= block_ends[None, :], axis=1), groups - 1
    ).astype(jnp.int32)

    out = pl.pallas_call(
        _kernel,
        grid_spec=pltpu.PrefetchScalarGridSpec(
            num_scalar_prefetch=1,
            grid=(pl.cdiv(n, bn), total_blocks),
            in_specs=[
                pl.BlockSpec((BLOCK_M, k), lambda j, i, group: (i, 0)),
                pl.BlockSpec((1, k, bn), lambda j, i, group: (group[i], 0, j)),
            ],
            out_specs=pl.BlockSpec((BLOCK_M, bn), lambda j, i, group: (i, j)),
        ),
        out_shape=jax.ShapeDtypeStruct((total_blocks * BLOCK_M, n), x.dtype),
    )(group_of_block, moved, weights)
    return out[new_row]
