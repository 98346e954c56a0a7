# task: matmul_epilogue
"""The bias is fetched whole and once; blocks have a leading dimension that is squeezed away."""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def computation(x, weight, bias):
    m, k = x.shape
    n = weight.shape[1]
    bn, bk = min(512, n), 128

    def kernel(x_ref, w_ref, b_ref, o_ref, acc_ref):
        l = pl.program_id(1)

        @pl.when(l == 0)
        def _():
            # Starts from the bias, which saves an addition at the end.
            acc_ref[...] = jnp.broadcast_to(b_ref[...], acc_ref.shape)

        acc_ref[...] += jnp.dot(x_ref[...], w_ref[...], preferred_element_type=jnp.float32)

        @pl.when(l == pl.num_programs(1) - 1)
        def _():
            o_ref[...] = jax.nn.gelu(acc_ref[...], approximate=True).astype(o_ref.dtype)

    return pl.pallas_call(
        kernel,
        grid=(pl.cdiv(n, bn), k // bk),
        in_specs=[
            pl.BlockSpec((None, m, bk), lambda j, l: (0, 0, l)),
            pl.BlockSpec((bk, bn), lambda j, l: (l, j)),
            pl.BlockSpec((1, bn), lambda j, l: (0, j), pipeline_mode=pl.Buffered(1)),
        ],
        out_specs=pl.BlockSpec((m, bn), lambda j, l: (0, j)),
        out_shape=jax.ShapeDtypeStruct((m, n), x.dtype),
        scratch_shapes=[pltpu.VMEM((m, bn), jnp.float32)],
        compiler_params=pltpu.CompilerParams(vmem_limit_bytes=100 * 2**20),
    )(x[None], weight, bias.reshape(1, n))
