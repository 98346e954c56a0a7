# task: softmax
# expect: honest_score
# why: the baseline with other names and comments: the same module, so the same identity

# A completely new idea.
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl

ROWS_PER_STEP = 8


def revolutionary_kernel(source_ref, target_ref):
    values = source_ref[...]  # read
    powers = jnp.exp(values - jnp.max(values, axis=-1, keepdims=True))
    target_ref[...] = powers / jnp.sum(powers, axis=-1, keepdims=True)  # write


def computation(matrix):
    m, n = matrix.shape
    step = min(ROWS_PER_STEP, m)
    whole = pl.BlockSpec((step, n), lambda row: (row, 0))
    return pl.pallas_call(
        revolutionary_kernel,
        grid=(pl.cdiv(m, step),),
        in_specs=[whole],
        out_specs=whole,
        out_shape=jax.ShapeDtypeStruct(matrix.shape, matrix.dtype),
    )(matrix)
