# task: softmax
# expect: incorrect
# why: computes only where it finds NaN in its unwritten output; interpreters with other contents of that memory disagree

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def _kernel(x_ref, out_ref):
    @pl.when(jnp.isnan(out_ref[0, 0]))
    def _():
        x = x_ref[...]
        e = jnp.exp(x - jnp.max(x, axis=-1, keepdims=True))
        out_ref[...] = e / jnp.sum(e, axis=-1, keepdims=True)


def computation(x):
    rows, columns = x.shape
    spec = pl.BlockSpec((min(8, rows), columns), lambda i: (i, 0))
    return pl.pallas_call(
        _kernel, grid=(pl.cdiv(rows, min(8, rows)),), in_specs=[spec], out_specs=spec,
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
    )(x)
