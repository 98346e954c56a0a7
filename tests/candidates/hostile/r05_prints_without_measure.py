# task: softmax
# expect: honest_score
# why: prints hundreds of megabytes; output is a bounded diagnostic and no more

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl

for _ in range(256):
    print("x" * (1 << 20))


def _kernel(x_ref, out_ref):
    x = x_ref[...]
    e = jnp.exp(x - jnp.max(x, axis=-1, keepdims=True))
    out_ref[...] = e / jnp.sum(e, axis=-1, keepdims=True)


def _softmax(x):
    rows, columns = x.shape
    block_rows = min(8, rows)
    spec = pl.BlockSpec((block_rows, columns), lambda i: (i, 0))
    return pl.pallas_call(
        _kernel,
        grid=(pl.cdiv(rows, block_rows),),
        in_specs=[spec],
        out_specs=spec,
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
    )(x)


def computation(x):
    return _softmax(x)
