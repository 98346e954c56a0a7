# task: gated_elementwise
"""Names as a port from another framework brings them: `input`, `vars`, `open_gate`; the text says exec() and eval()."""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def swiglu_kernel(input_ref, up_ref, residual_ref, output_ref):
    input = input_ref[:].astype(jnp.float32)
    open_gate = input * jax.nn.sigmoid(input)
    output_ref[:] = (residual_ref[:].astype(jnp.float32) + open_gate * up_ref[:].astype(jnp.float32)).astype(output_ref.dtype)


def computation(input, up, residual):
    rows, columns = input.shape
    vars = (min(rows, 64), min(columns, 1024))
    spec = pl.BlockSpec(block_shape=vars, index_map=lambda row, column: (row, column))
    return pl.pallas_call(
        swiglu_kernel,
        out_shape=jax.ShapeDtypeStruct(input.shape, input.dtype),
        grid=(pl.cdiv(rows, vars[0]), pl.cdiv(columns, vars[1])),
        in_specs=[spec, spec, spec],
        out_specs=spec,
        name="swiglu",
    )(input, up, residual)
