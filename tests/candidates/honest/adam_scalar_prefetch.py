# task: adam_step
"""The step arrives as a prefetched scalar and the corrections are computed in the kernel; nothing is aliased."""

import functools

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def _kernel(step_ref, p_ref, g_ref, m_ref, v_ref, p_out, m_out, v_out, *, rate, b1, b2, epsilon):
    t = jnp.full((1, 1), step_ref[0], jnp.int32).astype(jnp.float32)
    g = g_ref[...]
    m = b1 * m_ref[...] + (1.0 - b1) * g
    v = b2 * v_ref[...] + (1.0 - b2) * (g * g)
    m_hat = m / (1.0 - jnp.power(b1, t))
    v_hat = v / (1.0 - jnp.power(b2, t))
    p_out[...] = p_ref[...] - rate * m_hat / (jnp.sqrt(v_hat) + epsilon)
    m_out[...], v_out[...] = m, v


def computation(parameters, gradient, first_moment, second_moment, step, settings):
    rate, b1, b2, epsilon = settings
    rows, columns = parameters.shape
    bm = min(64, rows)
    spec = pl.BlockSpec((bm, columns), lambda i, step: (i, 0))
    p, m, v = pl.pallas_call(
        functools.partial(_kernel, rate=rate, b1=b1, b2=b2, epsilon=epsilon),
        grid_spec=pltpu.PrefetchScalarGridSpec(
            num_scalar_prefetch=1, grid=(pl.cdiv(rows, bm),), in_specs=[spec] * 4, out_specs=[spec] * 3
        ),
        out_shape=[jax.ShapeDtypeStruct(parameters.shape, jnp.float32)] * 3,
    )(step, parameters, gradient, first_moment, second_moment)
    return {"first_moment": m, "parameters": p, "second_moment": v}
