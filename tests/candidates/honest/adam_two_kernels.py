# task: adam_step
"""Moments first, in place; parameters from the new moments in a second kernel."""

import collections

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl

Settings = collections.namedtuple("Settings", ["rate", "decay1", "decay2", "epsilon"])
BLOCK = (128, 512)


def _moments(g_ref, m_ref, v_ref, m_out, v_out, *, s):
    g = g_ref[...]
    m_out[...] = m_ref[...] * s.decay1 + g * (1.0 - s.decay1)
    v_out[...] = v_ref[...] * s.decay2 + g * g * (1.0 - s.decay2)


def _parameters(c_ref, p_ref, m_ref, v_ref, p_out, *, s):
    c = c_ref[...]
    p_out[...] = p_ref[...] - s.rate * (m_ref[...] * c[:, 0:1]) / (jnp.sqrt(v_ref[...] * c[:, 1:2]) + s.epsilon)


def computation(parameters, gradient, first_moment, second_moment, step, settings):
    s = Settings(*settings)
    shape = jax.ShapeDtypeStruct(parameters.shape, parameters.dtype)
    block = tuple(min(a, b) for a, b in zip(BLOCK, parameters.shape))
    grid = tuple(pl.cdiv(a, b) for a, b in zip(parameters.shape, block))
    tile = pl.BlockSpec(block, lambda i, j: (i, j))
    m, v = pl.pallas_call(
        lambda *refs: _moments(*refs, s=s), grid=grid, in_specs=[tile] * 3, out_specs=[tile] * 2,
        out_shape=[shape, shape], input_output_aliases={1: 0, 2: 1},
    )(gradient, first_moment, second_moment)
    t = step.astype(jnp.float32)
    corrections = jnp.stack([1 / (1 - s.decay1**t), 1 / (1 - s.decay2**t)], axis=1)
    p = pl.pallas_call(
        lambda *refs: _parameters(*refs, s=s), grid=grid,
        in_specs=[pl.BlockSpec((1, 2), lambda i, j: (0, 0)), tile, tile, tile], out_specs=tile, out_shape=shape,
        input_output_aliases={1: 0},
    )(corrections, parameters, m, v)
    return {"parameters": p, "first_moment": m, "second_moment": v}
