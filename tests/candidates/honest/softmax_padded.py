# task: softmax
"""Pads the matrix to whole tiles first, so that the kernel needs no special edge."""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def _round_up(size: int, multiple: int) -> int:
    return -(-size // multiple) * multiple


def _kernel(x_ref, o_ref):
    x = x_ref[...]
    e = jnp.exp(x - x.max(-1, keepdims=True))
    o_ref[...] = e / e.sum(-1, keepdims=True)


def computation(x):
    rows, columns = x.shape
    block_rows = 16
    padded_rows, padded_columns = _round_up(rows, block_rows), _round_up(columns, 128)
    padded = jnp.pad(x, ((0, padded_rows - rows), (0, padded_columns - columns)), constant_values=-1e30)
    spec = pl.BlockSpec((block_rows, padded_columns), lambda i: (i, 0))
    out = pl.pallas_call(
        _kernel,
        grid=(padded_rows // block_rows,),
        in_specs=[spec],
        out_specs=spec,
        out_shape=jax.ShapeDtypeStruct(padded.shape, padded.dtype),
    )(padded)
    return out[:rows, :columns]
