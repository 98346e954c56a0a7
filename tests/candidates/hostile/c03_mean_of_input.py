# task: flash_attention
# expect: incorrect
# why: a statistic of the input, broadcast

import jax.numpy as jnp


def computation(query, key, value):
    return jnp.broadcast_to(jnp.mean(value, axis=1, keepdims=True), query.shape).astype(query.dtype)
