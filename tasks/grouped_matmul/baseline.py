"""Grouped product by visits: a visit is a block of rows under one group, and a block is visited once per group in it."""

import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

BLOCK_M = 128  # tunable: 64, 128, 256, 512, 1024
BLOCK_N = 128  # tunable: 128, 256, 512, 1024, 2048
BLOCK_K = 128  # tunable: 128, 256, 512, 1024, 2048


def _visits(group_sizes, rows, block_m):
    """Per visit its row block, its group, and the rows of the group; visits that are left over own no rows."""
    groups = group_sizes.shape[0]
    row_blocks = pl.cdiv(rows, block_m)
    ends = jnp.cumsum(group_sizes)
    starts = ends - group_sizes
    first_block = starts // block_m
    blocks = jnp.where(group_sizes > 0, (ends - 1) // block_m - first_block + 1, 0)
    visit_ends = jnp.cumsum(blocks)

    visit = jnp.arange(row_blocks + groups - 1)
    group = jnp.sum(visit[:, None] >= visit_ends[None, :], axis=1)
    used = group < groups
    group = jnp.where(used, group, groups - 1)
    block = first_block[group] + visit - (visit_ends - blocks)[group]
    block = jnp.where(used, block, row_blocks - 1)
    first_row = jnp.where(used, starts[group], 0)
    last_row = jnp.where(used, ends[group], 0)
    return tuple(x.astype(jnp.int32) for x in (block, group, first_row, last_row))


def computation(x, weights, group_sizes):
    rows, inner = x.shape
    groups, _, columns = weights.shape
    block_m = min(BLOCK_M, rows)
    block_n = min(BLOCK_N, columns)
    block_k = min(BLOCK_K, inner)
    visits = _visits(group_sizes, rows, block_m)

    def kernel(block_ref, group_ref, first_row_ref, last_row_ref, x_ref, weight_ref, out_ref, acc_ref):
        visit = pl.program_id(1)
        step = pl.program_id(2)

        @pl.when(step == 0)
        def _():
            acc_ref[...] = jnp.zeros_like(acc_ref)

        lhs, rhs = x_ref[...], weight_ref[0]
        if inner % block_k:
            left = inner - step * block_k
            lhs = jnp.where(lax.broadcasted_iota(jnp.int32, lhs.shape, 1) < left, lhs, 0)
            rhs = jnp.where(lax.broadcasted_iota(jnp.int32, rhs.shape, 0) < left, rhs, 0)
        acc_ref[...] += jnp.dot(lhs, rhs, preferred_element_type=jnp.float32)

        @pl.when(step == pl.num_programs(2) - 1)
        def _():
            row = block_ref[visit] * block_m + lax.broadcasted_iota(jnp.int32, acc_ref.shape, 0)
            owned = (row >= first_row_ref[visit]) & (row < last_row_ref[visit])
            others = out_ref[...].astype(jnp.float32)
            out_ref[...] = jnp.where(owned, acc_ref[...], others).astype(out_ref.dtype)

    return pl.pallas_call(
        kernel,
        grid_spec=pltpu.PrefetchScalarGridSpec(
            num_scalar_prefetch=4,
            grid=(pl.cdiv(columns, block_n), pl.cdiv(rows, block_m) + groups - 1, pl.cdiv(inner, block_k)),
            in_specs=[
                pl.BlockSpec((block_m, block_k), lambda n, v, k, block, *_: (block[v], k)),
                pl.BlockSpec((1, block_k, block_n), lambda n, v, k, block, group, *_: (group[v], k, n)),
            ],
            out_specs=pl.BlockSpec((block_m, block_n), lambda n, v, k, block, *_: (block[v], n)),
            scratch_shapes=[pltpu.VMEM((block_m, block_n), jnp.float32)],
        ),
        out_shape=jax.ShapeDtypeStruct((rows, columns), x.dtype),
        compiler_params=pltpu.CompilerParams(dimension_semantics=("parallel", "arbitrary", "arbitrary")),
    )(*visits, x, weights)
