# task: flash_attention
"""All scores of a small block of queries at once: no running softmax."""

import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl

BLOCK_Q = 128


def _attend(q_ref, k_ref, v_ref, o_ref):
    q, k, v = q_ref[0], k_ref[0], v_ref[0]
    s = lax.dot_general(q, k, (((1,), (1,)), ((), ())), preferred_element_type=jnp.float32)
    s = s * (q.shape[-1] ** -0.5)
    position = pl.program_id(1) * q.shape[0] + lax.broadcasted_iota(jnp.int32, s.shape, 0)
    s = jnp.where(lax.broadcasted_iota(jnp.int32, s.shape, 1) > position, -jnp.inf, s)
    p = jnp.exp(s - jnp.max(s, axis=1, keepdims=True))
    p = p / jnp.sum(p, axis=1, keepdims=True)
    o_ref[0] = jnp.dot(p.astype(v.dtype), v, preferred_element_type=jnp.float32).astype(o_ref.dtype)


def computation(query, key, value):
    heads, length, features = query.shape
    bq = min(length, BLOCK_Q)
    return pl.pallas_call(
        _attend,
        grid=(heads, pl.cdiv(length, bq)),
        in_specs=[
            pl.BlockSpec((1, bq, features), lambda h, i: (h, i, 0)),
            pl.BlockSpec((1, length, features), lambda h, i: (h, 0, 0)),
            pl.BlockSpec((1, length, features), lambda h, i: (h, 0, 0)),
        ],
        out_specs=pl.BlockSpec((1, bq, features), lambda h, i: (h, i, 0)),
        out_shape=jax.ShapeDtypeStruct(query.shape, query.dtype),
    )(query, key, value)
