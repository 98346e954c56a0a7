"""Steps through time row by row; the state is carried in scratch from one block of time to the next."""

import functools

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

BLOCK_STEPS = 8  # tunable: 8, 16, 32, 64, 128, 256, 512
BLOCK_FEATURES = 128  # tunable: 128, 256, 512, 1024, 2048


def _kernel(decay_ref, x_ref, out_ref, state_ref, *, block_steps):
    @pl.when(pl.program_id(2) == 0)
    def _():
        state_ref[...] = jnp.zeros_like(state_ref)

    def advance(t, state):
        row = pl.ds(t, 1)
        state = decay_ref[0, row, :] * state + x_ref[0, row, :]
        out_ref[0, row, :] = state
        return state

    state_ref[...] = jax.lax.fori_loop(0, block_steps, advance, state_ref[...])


def computation(decay, x):
    batch, steps, features = x.shape
    block_steps = min(BLOCK_STEPS, steps)
    block_features = min(BLOCK_FEATURES, features)
    spec = pl.BlockSpec((1, block_steps, block_features), lambda b, f, t: (b, t, f))
    return pl.pallas_call(
        functools.partial(_kernel, block_steps=block_steps),
        grid=(batch, pl.cdiv(features, block_features), pl.cdiv(steps, block_steps)),
        in_specs=[spec, spec],
        out_specs=spec,
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
        scratch_shapes=[pltpu.VMEM((1, block_features), jnp.float32)],
        compiler_params=pltpu.CompilerParams(dimension_semantics=("parallel", "parallel", "arbitrary")),
    )(decay, x)
