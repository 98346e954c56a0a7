# task: linear_scan
"""Puts time first, so that one step of the loop advances a whole (batch, features) tile."""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def _kernel(a_ref, x_ref, h_ref, state_ref):
    @pl.when(pl.program_id(1) == 0)
    def _():
        state_ref[...] = jnp.zeros_like(state_ref)

    @pl.loop(0, a_ref.shape[0])
    def _(t):
        state_ref[...] = a_ref[t] * state_ref[...] + x_ref[t]
        h_ref[t] = state_ref[...]


def computation(decay, x):
    batch, steps, features = x.shape
    decay, x = jnp.transpose(decay, (1, 0, 2)), jnp.transpose(x, (1, 0, 2))
    bt, bf = min(64, steps), min(256, features)
    spec = pl.BlockSpec((bt, batch, bf), lambda f, t: (t, 0, f))
    h = pl.pallas_call(
        _kernel,
        grid=(pl.cdiv(features, bf), pl.cdiv(steps, bt)),
        in_specs=[spec, spec],
        out_specs=spec,
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
        scratch_shapes=[pltpu.VMEM((batch, bf), jnp.float32)],
    )(decay, x)
    return jnp.transpose(h, (1, 0, 2))
