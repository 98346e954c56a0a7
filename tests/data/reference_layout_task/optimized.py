import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl

BLOCK_ROWS = 32  # tunable: 8, 32, 128


def computation(x, scale, power):
    rows, columns = x.shape

    def kernel(x_ref, scale_ref, out_ref):
        positive = jnp.maximum(x_ref[...], 0.0)
        result = positive
        for _ in range(power - 1):
            result *= positive
        out_ref[...] = result * scale_ref[...]

    row_block = pl.BlockSpec((BLOCK_ROWS, columns), lambda i: (i, 0))
    return pl.pallas_call(
        kernel,
        grid=(pl.cdiv(rows, BLOCK_ROWS),),
        in_specs=[row_block, pl.BlockSpec((1, columns), lambda i: (0, 0))],
        out_specs=row_block,
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
    )(x, scale.reshape(1, columns))
