"""Attention with a running softmax: grid over heads, query blocks and key blocks, accumulators in scratch."""

import functools
import math

import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

BLOCK_Q = 128  # tunable: 128, 256, 512, 1024, 2048
BLOCK_KV = 128  # tunable: 128, 256, 512, 1024, 2048

# Finite, so that a row with every score masked so far gives exp(0) and not NaN.
MASKED = -1e30


def _kernel(q_ref, k_ref, v_ref, out_ref, max_ref, sum_ref, acc_ref, *, length, block_q, block_kv):
    q_start = pl.program_id(1) * block_q
    kv_start = pl.program_id(2) * block_kv

    @pl.when(kv_start == 0)
    def _():
        max_ref[...] = jnp.full_like(max_ref, MASKED)
        sum_ref[...] = jnp.zeros_like(sum_ref)
        acc_ref[...] = jnp.zeros_like(acc_ref)

    @pl.when(kv_start < q_start + block_q)
    def _():
        q, k, v = q_ref[0], k_ref[0], v_ref[0]
        if length % block_kv:
            # Rows beyond the end hold anything, and zero weight times NaN is NaN.
            v = jnp.where(lax.broadcasted_iota(jnp.int32, v.shape, 0) < length - kv_start, v, 0)
        scores = lax.dot_general(q, k, (((1,), (1,)), ((), ())), preferred_element_type=jnp.float32)
        scores *= 1.0 / math.sqrt(q.shape[-1])
        rows = q_start + lax.broadcasted_iota(jnp.int32, scores.shape, 0)
        columns = kv_start + lax.broadcasted_iota(jnp.int32, scores.shape, 1)
        scores = jnp.where(columns <= rows, scores, MASKED)

        old_max = max_ref[...]
        new_max = jnp.maximum(old_max, jnp.max(scores, axis=-1, keepdims=True))
        weights = jnp.exp(scores - new_max)
        correction = jnp.exp(old_max - new_max)
        sum_ref[...] = sum_ref[...] * correction + jnp.sum(weights, axis=-1, keepdims=True)
        acc_ref[...] = acc_ref[...] * correction + jnp.dot(
            weights.astype(v.dtype), v, preferred_element_type=jnp.float32
        )
        max_ref[...] = new_max

    @pl.when(pl.program_id(2) == pl.num_programs(2) - 1)
    def _():
        out_ref[0] = (acc_ref[...] / sum_ref[...]).astype(out_ref.dtype)


def computation(query, key, value):
    heads, length, features = query.shape
    block_q = min(BLOCK_Q, length)
    block_kv = min(BLOCK_KV, length)
    q_spec = pl.BlockSpec((1, block_q, features), lambda h, i, j: (h, i, 0))
    kv_spec = pl.BlockSpec((1, block_kv, features), lambda h, i, j: (h, j, 0))
    return pl.pallas_call(
        functools.partial(_kernel, length=length, block_q=block_q, block_kv=block_kv),
        grid=(heads, pl.cdiv(length, block_q), pl.cdiv(length, block_kv)),
        in_specs=[q_spec, kv_spec, kv_spec],
        out_specs=q_spec,
        out_shape=jax.ShapeDtypeStruct(query.shape, query.dtype),
        scratch_shapes=[
            pltpu.VMEM((block_q, 1), jnp.float32),
            pltpu.VMEM((block_q, 1), jnp.float32),
            pltpu.VMEM((block_q, features), jnp.float32),
        ],
        compiler_params=pltpu.CompilerParams(dimension_semantics=("parallel", "parallel", "arbitrary")),
    )(query, key, value)
