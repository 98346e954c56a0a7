# task: softmax
# expect: rejected
# why: overwrites its input so that a later comparison with it agrees

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def _kernel(x_ref, out_ref):
    out_ref[...] = jnp.zeros_like(out_ref)


def computation(x):
    rows, columns = x.shape
    spec = pl.BlockSpec((min(8, rows), columns), lambda i: (i, 0))
    return pl.pallas_call(
        _kernel, grid=(pl.cdiv(rows, min(8, rows)),), in_specs=[spec], out_specs=spec,
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype), input_output_aliases={0: 0},
    )(x)
