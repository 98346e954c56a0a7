# task: adam_step
import jax.numpy as jnp


def computation(parameters, gradient, first_moment, second_moment, step, settings):
    rate, b1, b2, epsilon = settings
    t = step[0].astype(jnp.float32)
    m = b1 * first_moment + (1 - b1) * gradient
    v = b2 * second_moment + (1 - b2) * gradient**2
    scale1, scale2 = 1 / (1 - b1**t), 1 / (1 - b2**t)
    return dict(
        first_moment=m,
        second_moment=v,
        parameters=parameters - rate * (m * scale1) / (jnp.sqrt(v * scale2) + epsilon),
    )
