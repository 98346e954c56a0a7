# task: softmax
"""Uses powers of two, which the chip has in hardware, and multiplies by the inverse sum."""

import math

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl

LOG2_E = math.log2(math.e)


def kernel(x_ref, o_ref):
    x = x_ref[...]
    powers = jnp.exp2((x - jnp.max(x, axis=1, keepdims=True)) * LOG2_E)
    inverse = 1.0 / jnp.sum(powers, axis=1, keepdims=True)
    o_ref[...] = powers * inverse


def computation(x):
    m, n = x.shape
    return pl.pallas_call(
        kernel,
        out_shape=jax.ShapeDtypeStruct((m, n), jnp.float32),
        grid=((m + 15) // 16,),
        in_specs=[pl.BlockSpec((16, n), lambda i: (i, 0))],
        out_specs=pl.BlockSpec((16, n), lambda i: (i, 0)),
    )(x)
