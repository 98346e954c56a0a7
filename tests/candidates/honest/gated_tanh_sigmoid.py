# task: gated_elementwise
"""Sigmoid by way of tanh, which is one operation on the chip."""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def _sigmoid(x):
    return 0.5 * jnp.tanh(0.5 * x) + 0.5


def kernel(g_ref, u_ref, r_ref, o_ref):
    g, u, r = g_ref[...].astype(jnp.float32), u_ref[...].astype(jnp.float32), r_ref[...].astype(jnp.float32)
    o_ref[...] = (r + g * _sigmoid(g) * u).astype(jnp.bfloat16)


def computation(gate, up, residual):
    m, n = gate.shape
    block_shape = (min(m, 256), n)
    spec = pl.BlockSpec(block_shape, lambda i: (i, 0))
    return pl.pallas_call(
        kernel, grid=(pl.cdiv(m, block_shape[0]),), in_specs=[spec] * 3, out_specs=spec,
        out_shape=jax.ShapeDtypeStruct((m, n), jnp.bfloat16),
    )(gate, up, residual)
