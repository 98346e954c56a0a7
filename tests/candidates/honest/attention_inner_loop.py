# task: flash_attention
"""Keys and values of a head stay in VMEM; the kernel loops over their blocks up to the diagonal."""

import functools
import math

import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

BLOCK_Q = 256  # tunable: 128, 256, 512
BLOCK_KV = 256  # tunable: 128, 256, 512


def _kernel(q_ref, k_ref, v_ref, o_ref, *, scale):
    start = pl.program_id(1) * BLOCK_Q
    q = q_ref[0]
    row = start + lax.broadcasted_iota(jnp.int32, (BLOCK_Q, BLOCK_KV), 0)
    offset = lax.broadcasted_iota(jnp.int32, (BLOCK_Q, BLOCK_KV), 1)

    def step(j, carry):
        m, l, acc = carry
        rows = pl.ds(pl.multiple_of(j * BLOCK_KV, BLOCK_KV), BLOCK_KV)
        s = lax.dot_general(q, k_ref[0, rows, :], (((1,), (1,)), ((), ())), preferred_element_type=jnp.float32)
        s = jnp.where(j * BLOCK_KV + offset <= row, s * scale, -1e30)
        m_next = jnp.maximum(m, s.max(axis=1, keepdims=True))
        alpha = jnp.exp(m - m_next)
        p = jnp.exp(s - m_next)
        l = alpha * l + p.sum(axis=1, keepdims=True)
        acc = alpha * acc + jnp.dot(p.astype(v_ref.dtype), v_ref[0, rows, :], preferred_element_type=jnp.float32)
        return m_next, l, acc

    initial = (
        jnp.full((BLOCK_Q, 1), -1e30, jnp.float32),
        jnp.zeros((BLOCK_Q, 1), jnp.float32),
        jnp.zeros((BLOCK_Q, q.shape[1]), jnp.float32),
    )
    blocks = (start + BLOCK_Q + BLOCK_KV - 1) // BLOCK_KV
    _, l, acc = lax.fori_loop(0, blocks, step, initial)
    o_ref[0] = (acc / l).astype(o_ref.dtype)


def computation(query, key, value):
    heads, length, features = query.shape
    block = max(BLOCK_Q, BLOCK_KV)
    padding = ((0, 0), (0, -length % block), (0, 0))
    q, k, v = (jnp.pad(x, padding) for x in (query, key, value))
    padded = q.shape[1]
    whole = pl.BlockSpec((1, padded, features), lambda h, i: (h, 0, 0))
    tile = pl.BlockSpec((1, BLOCK_Q, features), lambda h, i: (h, i, 0))
    out = pl.pallas_call(
        functools.partial(_kernel, scale=1.0 / math.sqrt(features)),
        grid=(heads, padded // BLOCK_Q),
        in_specs=[tile, whole, whole],
        out_specs=tile,
        out_shape=jax.ShapeDtypeStruct(q.shape, q.dtype),
        compiler_params=pltpu.CompilerParams(dimension_semantics=("parallel", "parallel")),
    )(q, k, v)
    return out[:, :length]
