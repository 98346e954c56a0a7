# task: matmul_epilogue
"""Large blocks and a raised VMEM limit."""

import functools

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

BLOCK_M = 512  # tunable: 256, 512, 1024
BLOCK_N = 1024  # tunable: 512, 1024, 2048
BLOCK_K = 1024  # tunable: 512, 1024, 2048


def _matmul(x_ref, w_ref, b_ref, o_ref, acc_ref, *, steps):
    k = pl.program_id(2)
    partial = jnp.dot(x_ref[...], w_ref[...], preferred_element_type=jnp.float32)

    @pl.when(k == 0)
    def _first():
        acc_ref[...] = partial

    @pl.when(k > 0)
    def _later():
        acc_ref[...] += partial

    @pl.when(k == steps - 1)
    def _last():
        o_ref[...] = jax.nn.gelu(acc_ref[...] + b_ref[...], approximate=True).astype(o_ref.dtype)


def computation(x, weight, bias):
    m, k = x.shape
    n = weight.shape[1]
    bm, bn, bk = min(m, BLOCK_M), min(n, BLOCK_N), min(k, BLOCK_K)
    if k % bk:
        x = jnp.pad(x, ((0, 0), (0, -k % bk)))
        weight = jnp.pad(weight, ((0, -k % bk), (0, 0)))
        k = x.shape[1]
    return pl.pallas_call(
        functools.partial(_matmul, steps=k // bk),
        grid=(pl.cdiv(m, bm), pl.cdiv(n, bn), k // bk),
        in_specs=[
            pl.BlockSpec((bm, bk), lambda i, j, l: (i, l)),
            pl.BlockSpec((bk, bn), lambda i, j, l: (l, j)),
            pl.BlockSpec((1, bn), lambda i, j, l: (0, j)),
        ],
        out_specs=pl.BlockSpec((bm, bn), lambda i, j, l: (i, j)),
        out_shape=jax.ShapeDtypeStruct((m, n), x.dtype),
        scratch_shapes=[pltpu.VMEM((bm, bn), jnp.float32)],
        compiler_params=pltpu.CompilerParams(
            dimension_semantics=("parallel", "parallel", "arbitrary"), vmem_limit_bytes=64 * 1024 * 1024
        ),
    )(x, weight, bias.reshape(1, n))
