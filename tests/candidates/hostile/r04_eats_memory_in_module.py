# task: softmax
# expect: crashed or incorrect or does_not_compile or timed_out
# why: a module that needs a terabyte

import jax
import jax.numpy as jnp


def computation(x):
    large = jnp.broadcast_to(x[0, 0], (1 << 19, 1 << 19)) * jnp.arange(1 << 19, dtype=jnp.float32)
    return jax.nn.softmax(x, axis=-1) + jnp.sort(large, axis=0)[0, 0] * 0.0
