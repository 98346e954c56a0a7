# task: softmax
# expect: rejected
# why: a kernel that cannot be lowered, and an except that returns plain jax
# unscreened: does_not_compile

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def _kernel(x_ref, out_ref):
    x = x_ref[...]
    e = jnp.exp(x - jnp.max(x, axis=-1, keepdims=True))
    out_ref[...] = e / jnp.sum(e, axis=-1, keepdims=True)


def _softmax(x):
    rows, columns = x.shape
    block_rows = 7
    spec = pl.BlockSpec((block_rows, columns), lambda i: (i, 0))
    return pl.pallas_call(
        _kernel,
        grid=(pl.cdiv(rows, block_rows),),
        in_specs=[spec],
        out_specs=spec,
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
    )(x)


def computation(x):
    try:
        return _softmax(x)
    except Exception:
        return jax.nn.softmax(x, axis=-1)
