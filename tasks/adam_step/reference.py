"""One step of Adam."""

import jax.numpy as jnp


def computation(parameters, gradient, first_moment, second_moment, step, settings):
    learning_rate, decay1, decay2, epsilon = settings
    count = step.astype(jnp.float32)
    first_moment = decay1 * first_moment + (1.0 - decay1) * gradient
    second_moment = decay2 * second_moment + (1.0 - decay2) * gradient * gradient
    first_unbiased = first_moment / (1.0 - decay1**count)
    second_unbiased = second_moment / (1.0 - decay2**count)
    parameters = parameters - learning_rate * first_unbiased / (jnp.sqrt(second_unbiased) + epsilon)
    return {"parameters": parameters, "first_moment": first_moment, "second_moment": second_moment}
