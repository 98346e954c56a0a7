# task: softmax
# expect: incorrect or rejected
# why: a tuple of one in place of an array

import jax


def computation(x):
    return (jax.nn.softmax(x, axis=-1),)
