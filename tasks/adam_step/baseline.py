"""One pass over blocks; results replace the old parameters and moments in place."""

import functools

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

BLOCK_ROWS = 8  # tunable: 8, 16, 32, 64, 128, 256, 512
BLOCK_COLUMNS = 256  # tunable: 128, 256, 512, 1024, 2048


def _kernel(bias_ref, parameters_ref, gradient_ref, first_ref, second_ref, new_parameters, new_first, new_second, *, settings):
    learning_rate, decay1, decay2, epsilon = settings
    gradient = gradient_ref[...]
    first = decay1 * first_ref[...] + (1.0 - decay1) * gradient
    second = decay2 * second_ref[...] + (1.0 - decay2) * gradient * gradient
    update = (first * bias_ref[0]) / (jnp.sqrt(second * bias_ref[1]) + epsilon)
    new_parameters[...] = parameters_ref[...] - learning_rate * update
    new_first[...] = first
    new_second[...] = second


def computation(parameters, gradient, first_moment, second_moment, step, settings):
    rows, columns = parameters.shape
    block = (min(BLOCK_ROWS, rows), min(BLOCK_COLUMNS, columns))
    spec = pl.BlockSpec(block, lambda i, j: (i, j))
    _, decay1, decay2, _ = settings
    count = step.astype(jnp.float32)
    bias = jnp.concatenate([1.0 / (1.0 - decay1**count), 1.0 / (1.0 - decay2**count)])
    shape = jax.ShapeDtypeStruct(parameters.shape, parameters.dtype)
    new_parameters, new_first, new_second = pl.pallas_call(
        functools.partial(_kernel, settings=settings),
        grid=(pl.cdiv(rows, block[0]), pl.cdiv(columns, block[1])),
        in_specs=[pl.BlockSpec(memory_space=pltpu.SMEM), spec, spec, spec, spec],
        out_specs=[spec, spec, spec],
        out_shape=[shape, shape, shape],
        input_output_aliases={1: 0, 3: 1, 4: 2},
        compiler_params=pltpu.CompilerParams(dimension_semantics=("parallel", "parallel")),
    )(bias, parameters, gradient, first_moment, second_moment)
    return {"parameters": new_parameters, "first_moment": new_first, "second_moment": new_second}
