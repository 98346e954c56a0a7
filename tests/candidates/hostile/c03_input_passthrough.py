# task: gated_elementwise
# expect: incorrect
# why: returns the input, which has the output's shape and type

import jax
from jax.experimental import pallas as pl


def _kernel(x_ref, out_ref):
    out_ref[...] = x_ref[...]


def computation(gate, up, residual):
    return pl.pallas_call(
        _kernel,
        grid=(pl.cdiv(gate.shape[0], 64),),
        in_specs=[pl.BlockSpec((64, gate.shape[1]), lambda i: (i, 0))],
        out_specs=pl.BlockSpec((64, gate.shape[1]), lambda i: (i, 0)),
        out_shape=jax.ShapeDtypeStruct(residual.shape, residual.dtype),
    )(residual)
