# task: softmax
# expect: incorrect or rejected
# why: one row that would broadcast to all

import jax


def computation(x):
    return jax.nn.softmax(x[:1], axis=-1)
