"""Blocked matrix product: one grid step per (row, column, inner) block, epilogue at the last inner block."""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

BLOCK_M = 128  # tunable: 128, 256, 512, 1024, 2048
BLOCK_N = 128  # tunable: 128, 256, 512, 1024
BLOCK_K = 128  # tunable: 128, 512, 1024, 2048


def _kernel(x_ref, weight_ref, bias_ref, out_ref, acc_ref, *, inner, block_k):
    step = pl.program_id(2)

    @pl.when(step == 0)
    def _():
        acc_ref[...] = jnp.zeros_like(acc_ref)

    x = x_ref[...]
    weight = weight_ref[...]
    if inner % block_k:
        # Beyond the edge a block holds anything, NaN included, so both operands are cleared.
        left = inner - step * block_k
        x = jnp.where(jax.lax.broadcasted_iota(jnp.int32, x.shape, 1) < left, x, 0)
        weight = jnp.where(jax.lax.broadcasted_iota(jnp.int32, weight.shape, 0) < left, weight, 0)
    acc_ref[...] += jnp.dot(x, weight, preferred_element_type=jnp.float32)

    @pl.when(step == pl.num_programs(2) - 1)
    def _():
        out_ref[...] = jax.nn.gelu(acc_ref[...] + bias_ref[...], approximate=True).astype(out_ref.dtype)


def computation(x, weight, bias):
    rows, inner = x.shape
    columns = weight.shape[1]
    block_m = min(BLOCK_M, rows)
    block_n = min(BLOCK_N, columns)
    block_k = min(BLOCK_K, inner)

    def kernel(*refs):
        _kernel(*refs, inner=inner, block_k=block_k)

    return pl.pallas_call(
        kernel,
        grid=(pl.cdiv(rows, block_m), pl.cdiv(columns, block_n), pl.cdiv(inner, block_k)),
        in_specs=[
            pl.BlockSpec((block_m, block_k), lambda i, j, k: (i, k)),
            pl.BlockSpec((block_k, block_n), lambda i, j, k: (k, j)),
            pl.BlockSpec((1, block_n), lambda i, j, k: (0, j)),
        ],
        out_specs=pl.BlockSpec((block_m, block_n), lambda i, j, k: (i, j)),
        out_shape=jax.ShapeDtypeStruct((rows, columns), x.dtype),
        scratch_shapes=[pltpu.VMEM((block_m, block_n), jnp.float32)],
        compiler_params=pltpu.CompilerParams(dimension_semantics=("parallel", "parallel", "arbitrary")),
    )(x, weight, bias.reshape(1, columns))
