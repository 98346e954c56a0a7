# task: softmax
# expect: incorrect
# why: waits for the copy after it has used the data

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def _kernel(x_hbm, out_ref, x_ref, semaphore):
    i = pl.program_id(0)
    copy = pltpu.make_async_copy(x_hbm.at[pl.ds(pl.multiple_of(i * 8, 8), 8), :], x_ref, semaphore)
    copy.start()
    x = x_ref[...]
    e = jnp.exp(x - jnp.max(x, axis=-1, keepdims=True))
    out_ref[...] = e / jnp.sum(e, axis=-1, keepdims=True)
    copy.wait()


def computation(x):
    rows, columns = x.shape
    x = jnp.pad(x, ((0, -rows % 8), (0, 0)))
    return pl.pallas_call(
        _kernel,
        grid=(x.shape[0] // 8,),
        in_specs=[pl.BlockSpec(memory_space=pl.ANY)],
        out_specs=pl.BlockSpec((8, columns), lambda i: (i, 0)),
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
        scratch_shapes=[pltpu.VMEM((8, columns), jnp.float32), pltpu.SemaphoreType.DMA],
    )(x)[:rows]
