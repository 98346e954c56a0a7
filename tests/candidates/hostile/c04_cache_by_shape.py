# task: softmax
# expect: honest_score or does_not_compile
# why: a cache keyed on the shape cannot reach from one call of a module to the next

import functools

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


_INPUTS = {}


@functools.lru_cache(maxsize=None)
def _by_shape(shape):
    return _softmax(_INPUTS[shape])


def computation(x):
    _INPUTS[x.shape] = x
    return _by_shape(x.shape)
