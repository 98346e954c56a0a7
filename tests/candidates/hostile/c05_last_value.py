# task: softmax
# expect: honest_score or does_not_compile
# why: remembers the last input and output and compares by value; a module has no memory

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


_LAST = {}


def computation(x):
    result = _softmax(x)
    if "input" in _LAST and _LAST["input"].shape == x.shape:
        same = jnp.array_equal(_LAST["input"], x)
        result = jnp.where(same, _LAST["output"], result)
    _LAST["input"], _LAST["output"] = x, result
    return result
