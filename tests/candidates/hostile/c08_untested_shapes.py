# task: softmax
# expect: incorrect or rejected
# why: computes nothing for shapes that are timed but too large to be tested on a CPU

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


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


def _nothing(x_ref, out_ref):
    out_ref[...] = jnp.zeros_like(out_ref)


def computation(x):
    if x.shape[0] >= 1024:
        rows, columns = x.shape
        return pl.pallas_call(
            _nothing,
            grid=(rows // 8,),
            in_specs=[pl.BlockSpec((8, 128), lambda i: (0, 0))],
            out_specs=pl.BlockSpec((8, columns), lambda i: (i, 0)),
            out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
        )(x)
    return _softmax(x)
