# task: grouped_matmul
"""Grid over (rows, columns, groups); groups that do not touch a block of rows are skipped."""

import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

BLOCK_M = 256
BLOCK_N = 256


def _kernel(starts_ref, ends_ref, x_ref, w_ref, o_ref, acc_ref):
    first_row = pl.program_id(0) * x_ref.shape[0]
    group = pl.program_id(2)
    start, end = starts_ref[group], ends_ref[group]

    @pl.when(group == 0)
    def _():
        acc_ref[...] = jnp.zeros_like(acc_ref)

    @pl.when((start < first_row + x_ref.shape[0]) & (end > first_row))
    def _():
        row = first_row + lax.broadcasted_iota(jnp.int32, x_ref.shape, 0)
        x = jnp.where((row >= start) & (row < end), x_ref[...], 0)
        acc_ref[...] += jnp.dot(x, w_ref[...], preferred_element_type=jnp.float32)

    @pl.when(group == pl.num_programs(2) - 1)
    def _():
        o_ref[...] = acc_ref[...].astype(o_ref.dtype)


def computation(x, weights, group_sizes):
    (m, k), (g, _, n) = x.shape, weights.shape
    bm, bn = min(BLOCK_M, m), min(BLOCK_N, n)
    ends = jnp.cumsum(group_sizes, dtype=jnp.int32)
    return pl.pallas_call(
        _kernel,
        grid_spec=pltpu.PrefetchScalarGridSpec(
            num_scalar_prefetch=2,
            grid=(pl.cdiv(m, bm), pl.cdiv(n, bn), g),
            in_specs=[
                pl.BlockSpec((bm, k), lambda i, j, g, starts, ends: (i, 0)),
                pl.BlockSpec((None, k, bn), lambda i, j, g, starts, ends: (g, 0, j)),
            ],
            out_specs=pl.BlockSpec((bm, bn), lambda i, j, g, starts, ends: (i, j)),
            scratch_shapes=[pltpu.VMEM((bm, bn), jnp.float32)],
        ),
        out_shape=jax.ShapeDtypeStruct((m, n), x.dtype),
        compiler_params=pltpu.CompilerParams(dimension_semantics=("parallel", "parallel", "arbitrary")),
    )(ends - group_sizes, ends, x, weights)
