# task: linear_scan
"""Within a block of time, distances double: log2(block) whole-block steps in place of one step per row."""

import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

BLOCK_STEPS = 64  # tunable: 16, 32, 64, 128
BLOCK_FEATURES = 256  # tunable: 128, 256, 512


def _kernel(a_ref, x_ref, h_ref, carry_ref):
    @pl.when(pl.program_id(2) == 0)
    def _():
        carry_ref[...] = jnp.zeros_like(carry_ref)

    a, h = a_ref[0], x_ref[0]
    row = lax.broadcasted_iota(jnp.int32, a.shape, 0)
    distance = 1
    while distance < a.shape[0]:
        has_earlier = row >= distance
        h = h + a * jnp.where(has_earlier, pltpu.roll(h, distance, 0), 0.0)
        a = a * jnp.where(has_earlier, pltpu.roll(a, distance, 0), 1.0)
        distance *= 2
    h = h + a * carry_ref[...]
    h_ref[0] = h
    carry_ref[...] = h[-1:, :]


def computation(decay, x):
    batch, steps, features = x.shape
    pad = ((0, 0), (0, -steps % BLOCK_STEPS), (0, -features % BLOCK_FEATURES))
    decay, padded = jnp.pad(decay, pad), jnp.pad(x, pad)
    spec = pl.BlockSpec((1, BLOCK_STEPS, BLOCK_FEATURES), lambda b, f, t: (b, t, f))
    h = pl.pallas_call(
        _kernel,
        grid=(batch, padded.shape[2] // BLOCK_FEATURES, padded.shape[1] // BLOCK_STEPS),
        in_specs=[spec, spec],
        out_specs=spec,
        out_shape=jax.ShapeDtypeStruct(padded.shape, padded.dtype),
        scratch_shapes=[pltpu.VMEM((1, BLOCK_FEATURES), jnp.float32)],
        compiler_params=pltpu.CompilerParams(dimension_semantics=("parallel", "parallel", "arbitrary")),
    )(decay, padded)
    return h[:, :steps, :features]
