# task: linear_scan
"""Sequential over time with the loop unrolled eightfold and wide blocks of features."""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

UNROLL = 8


def _kernel(a_ref, x_ref, h_ref, carry_ref):
    @pl.when(pl.program_id(2) == 0)
    def _():
        carry_ref[...] = jnp.zeros(carry_ref.shape, carry_ref.dtype)

    def tile(i, h):
        start = pl.multiple_of(i * UNROLL, UNROLL)
        a = a_ref[pl.ds(start, UNROLL), :]
        x = x_ref[pl.ds(start, UNROLL), :]
        rows = []
        for t in range(UNROLL):
            h = a[t : t + 1] * h + x[t : t + 1]
            rows.append(h)
        h_ref[pl.ds(start, UNROLL), :] = jnp.concatenate(rows, axis=0)
        return h

    carry_ref[...] = jax.lax.fori_loop(0, a_ref.shape[0] // UNROLL, tile, carry_ref[...])


def computation(decay, x):
    batch, steps, features = x.shape
    bt, bf = 128, min(512, features)
    spec = pl.BlockSpec((None, bt, bf), lambda b, f, t: (b, t, f))
    return pl.pallas_call(
        _kernel,
        grid=(batch, pl.cdiv(features, bf), pl.cdiv(steps, bt)),
        in_specs=[spec, spec],
        out_specs=spec,
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
        scratch_shapes=[pltpu.VMEM((1, bf), x.dtype)],
    )(decay, x)
