# task: softmax
# expect: rejected
# why: moves the work before the clock: a table of 16 MiB in the module

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
import numpy as np


def _kernel(x_ref, out_ref):
    x = x_ref[...]
    e = jnp.exp(x - jnp.max(x, axis=-1, keepdims=True))
    out_ref[...] = e / jnp.sum(e, axis=-1, keepdims=True)


def _softmax(x):
    rows, columns = x.shape
    block_rows = min(8, rows)
    spec = pl.BlockSpec((block_rows, columns), lambda i: (i, 0))
    return pl.pallas_call(
        _kernel,
        grid=(pl.cdiv(rows, block_rows),),
        in_specs=[spec],
        out_specs=spec,
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
    )(x)


_TABLE = np.random.default_rng(7).standard_normal((2048, 2048)).astype(np.float32)


def computation(x):
    return _softmax(x) + 0.0 * jnp.asarray(_TABLE)[0, 0] * jnp.sum(jnp.asarray(_TABLE) * 0.0)
