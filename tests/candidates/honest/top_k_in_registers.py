# task: top_k
"""The running matrix is the loop's carried value; the order of the results is reversed, which the task allows."""

import functools

import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl


def _kernel(x_ref, v_ref, i_ref, *, k):
    lane = lax.broadcasted_iota(jnp.int32, x_ref.shape, 1)
    slot = lax.broadcasted_iota(jnp.int32, v_ref.shape, 1)

    def take(step, carry):
        x, values, places = carry
        best = x.max(axis=1, keepdims=True)
        place = jnp.where(x == best, lane, x.shape[1]).min(axis=1, keepdims=True)
        here = slot == k - 1 - step
        return (
            jnp.where(lane == place, -jnp.inf, x),
            jnp.where(here, best, values),
            jnp.where(here, place, places),
        )

    start = (x_ref[...], jnp.zeros(v_ref.shape, v_ref.dtype), jnp.zeros(i_ref.shape, i_ref.dtype))
    _, v_ref[...], i_ref[...] = lax.fori_loop(0, k, take, start)


def computation(x, k):
    m, n = x.shape
    block = min(m, 16)
    small = pl.BlockSpec((block, k), lambda i: (i, 0))
    values, places = pl.pallas_call(
        functools.partial(_kernel, k=k),
        grid=(pl.cdiv(m, block),),
        in_specs=[pl.BlockSpec((block, n), lambda i: (i, 0))],
        out_specs=(small, small),
        out_shape=(jax.ShapeDtypeStruct((m, k), x.dtype), jax.ShapeDtypeStruct((m, k), jnp.int32)),
    )(x)
    return values, places
