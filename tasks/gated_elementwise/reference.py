"""Residual plus a gated value: residual + silu(gate) * up."""

import jax
import jax.numpy as jnp


def computation(gate, up, residual):
    gate, up, residual_f32 = (x.astype(jnp.float32) for x in (gate, up, residual))
    return (residual_f32 + jax.nn.silu(gate) * up).astype(residual.dtype)
