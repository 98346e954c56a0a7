# task: rms_norm
"""Adds the squares up on the matrix unit, at full float32 precision, by a product with a column of ones."""

import functools

import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl


def _row_sums(squares):
    ones = jnp.ones((squares.shape[1], 128), jnp.float32)
    return jnp.dot(squares, ones, precision=lax.Precision.HIGHEST, preferred_element_type=jnp.float32)[:, :1]


def _body(x_ref, w_ref, o_ref, *, epsilon):
    v = x_ref[...].astype(jnp.float32)
    mean = _row_sums(v * v) / v.shape[1]
    o_ref[...] = (v * lax.rsqrt(mean + epsilon) * w_ref[...]).astype(o_ref.dtype)


def computation(x, weight, epsilon):
    rows, columns = x.shape
    block_rows = min(32, rows)
    call = pl.pallas_call(
        functools.partial(_body, epsilon=epsilon),
        grid=(pl.cdiv(rows, block_rows),),
        in_specs=[
            pl.BlockSpec((block_rows, columns), lambda i: (i, 0)),
            pl.BlockSpec((1, columns), lambda i: (0, 0)),
        ],
        out_specs=pl.BlockSpec((block_rows, columns), lambda i: (i, 0)),
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
    )
    return call(x, weight.reshape(1, columns))
