# task: softmax
# expect: does_not_compile or rejected
# why: commits its result to a second device

import jax


def computation(x):
    return jax.device_put(jax.nn.softmax(x, axis=-1), jax.devices()[1])
