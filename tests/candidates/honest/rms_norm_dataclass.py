# task: rms_norm
"""Block sizes held in a frozen dataclass."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


@dataclasses.dataclass(frozen=True)
class Config:
    block_rows: int = 64
    accumulate: Any = jnp.float32

    def grid(self, rows: int) -> tuple[int]:
        return (pl.cdiv(rows, self.block_rows),)


CONFIG = Config()


def _kernel(x_ref, w_ref, o_ref, *, epsilon: float, config: Config) -> None:
    x = x_ref[...].astype(config.accumulate)
    variance = jnp.mean(jnp.square(x), axis=-1, keepdims=True)
    o_ref[...] = (x * jax.lax.rsqrt(variance + epsilon) * w_ref[...]).astype(o_ref.dtype)


def computation(x: jax.Array, weight: jax.Array, epsilon: float) -> jax.Array:
    rows, columns = x.shape
    config = dataclasses.replace(CONFIG, block_rows=min(CONFIG.block_rows, rows))
    return pl.pallas_call(
        functools.partial(_kernel, epsilon=epsilon, config=config),
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
        grid=config.grid(rows),
        in_specs=[
            pl.BlockSpec((config.block_rows, columns), lambda i: (i, 0)),
            pl.BlockSpec((1, columns), lambda i: (0, 0)),
        ],
        out_specs=pl.BlockSpec((config.block_rows, columns), lambda i: (i, 0)),
    )(x, weight[None, :])
