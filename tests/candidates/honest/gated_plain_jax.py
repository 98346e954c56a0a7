# task: gated_elementwise
import jax
import jax.numpy as jnp

f32 = jnp.float32


def computation(gate, up, residual):
    return (residual.astype(f32) + gate.astype(f32) * jax.lax.logistic(gate.astype(f32)) * up.astype(f32)).astype(
        residual.dtype
    )
