# task: softmax
# expect: incorrect or rejected
# why: float32 demanded, bfloat16 returned

import jax
import jax.numpy as jnp


def computation(x):
    return jax.nn.softmax(x, axis=-1).astype(jnp.bfloat16)
