# task: rms_norm
"""Statistics outside the kernel in plain jax, the heavy pass inside."""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


@jax.jit
def _inverse_root(x, epsilon):
    return jax.lax.rsqrt(jnp.mean(jnp.square(x.astype(jnp.float32)), axis=-1, keepdims=True) + epsilon)


def computation(x, weight, epsilon):
    rows, columns = x.shape
    tile = (min(rows, 128), min(columns, 2048))

    def kernel(x_ref, r_ref, w_ref, o_ref):
        o_ref[...] = (x_ref[...].astype(jnp.float32) * r_ref[...] * w_ref[...]).astype(o_ref.dtype)

    return pl.pallas_call(
        kernel,
        grid=tuple(pl.cdiv(a, b) for a, b in zip((rows, columns), tile)),
        in_specs=[
            pl.BlockSpec(tile, lambda i, j: (i, j)),
            pl.BlockSpec((tile[0], 1), lambda i, j: (i, 0)),
            pl.BlockSpec((1, tile[1]), lambda i, j: (0, j)),
        ],
        out_specs=pl.BlockSpec(tile, lambda i, j: (i, j)),
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
    )(x, _inverse_root(x, epsilon), weight.reshape(1, -1))
