# task: softmax
# expect: timed_out
# why: a loop that never ends, outside any kernel

import jax
import jax.numpy as jnp


def computation(x):
    spin = jax.lax.while_loop(lambda y: y < 2.0, lambda y: jnp.minimum(y + 1.0, 1.0), x[0, 0] * 0.0)
    return jax.nn.softmax(x, axis=-1) + spin
