# task: adam_step
# expect: incorrect
# why: zeros of the right shape and type

import jax.numpy as jnp


def computation(parameters, gradient, first_moment, second_moment, step, settings):
    return {
        "parameters": jnp.zeros_like(parameters),
        "first_moment": jnp.zeros_like(parameters),
        "second_moment": jnp.zeros_like(parameters),
    }
