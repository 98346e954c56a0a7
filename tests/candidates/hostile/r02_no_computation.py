# task: softmax
# expect: does_not_compile
# why: defines nothing of the name that is called

import jax


def compute(x):
    return jax.nn.softmax(x, axis=-1)
