# task: rms_norm
"""Copies each block from main memory itself, and waits for it."""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def computation(x, weight, epsilon):
    rows, columns = x.shape
    block = 16
    padded_rows = -(-rows // block) * block
    x_padded = jnp.pad(x, ((0, padded_rows - rows), (0, 0)))

    def kernel(x_hbm, w_ref, o_ref, x_vmem, semaphore):
        i = pl.program_id(0)
        copy = pltpu.make_async_copy(x_hbm.at[pl.ds(pl.multiple_of(i * block, block), block), :], x_vmem, semaphore)
        copy.start()
        copy.wait()
        v = x_vmem[...].astype(jnp.float32)
        mean = jnp.sum(v * v, axis=-1, keepdims=True) * (1.0 / columns)
        o_ref[...] = (v * jax.lax.rsqrt(mean + epsilon) * w_ref[...]).astype(o_ref.dtype)

    out = pl.pallas_call(
        kernel,
        grid=(padded_rows // block,),
        in_specs=[pl.BlockSpec(memory_space=pl.ANY), pl.BlockSpec((1, columns), lambda i: (0, 0))],
        out_specs=pl.BlockSpec((block, columns), lambda i: (i, 0)),
        out_shape=jax.ShapeDtypeStruct((padded_rows, columns), x.dtype),
        scratch_shapes=[pltpu.VMEM((block, columns), x.dtype), pltpu.SemaphoreType.DMA],
    )(x_padded, weight.reshape(1, columns))
    return out[:rows]
