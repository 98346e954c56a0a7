# task: matmul_epilogue
# expect: honest_score
# why: the product is left to XLA and a kernel copies the result; the estimate charges for both

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def _copy(y_ref, out_ref):
    out_ref[...] = y_ref[...]


def computation(x, weight, bias):
    y = jax.nn.gelu(jnp.matmul(x, weight, preferred_element_type=jnp.float32) + bias).astype(x.dtype)
    rows, columns = y.shape
    spec = pl.BlockSpec((min(rows, 64), columns), lambda i: (i, 0))
    return pl.pallas_call(
        _copy, grid=(pl.cdiv(rows, min(rows, 64)),), in_specs=[spec], out_specs=spec,
        out_shape=jax.ShapeDtypeStruct(y.shape, y.dtype),
    )(y)
