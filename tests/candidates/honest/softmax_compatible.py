# task: softmax
"""Written to run on several versions of the library, with its own little test at the end."""

import functools

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

__all__ = ["computation"]

try:
    CompilerParams = pltpu.CompilerParams
except AttributeError:
    CompilerParams = pltpu.TPUCompilerParams


@functools.lru_cache(maxsize=None)
def block_rows(columns: int, budget: int = 4 * 2**20) -> int:
    """The largest power of two of rows whose two buffers of input and output fit the budget."""
    rows = 8
    while 2 * rows * columns * 4 * 4 <= budget:
        rows *= 2
    assert rows % 8 == 0, f"{rows} is not a multiple of 8"
    return rows


def kernel(x_ref, o_ref):
    o_ref[...] = jax.nn.softmax(x_ref[...], axis=-1)


def computation(x):
    rows, columns = x.shape
    bm = min(rows, block_rows(columns))
    return pl.pallas_call(
        kernel,
        grid=(pl.cdiv(rows, bm),),
        in_specs=[pl.BlockSpec((bm, columns), lambda i: (i, 0))],
        out_specs=pl.BlockSpec((bm, columns), lambda i: (i, 0)),
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
        compiler_params=CompilerParams(dimension_semantics=("parallel",)),
        cost_estimate=pl.CostEstimate(flops=5 * rows * columns, transcendentals=rows * columns, bytes_accessed=8 * rows * columns),
    )(x)


if __name__ == "__main__":
    print(computation(jnp.ones((8, 128))))
