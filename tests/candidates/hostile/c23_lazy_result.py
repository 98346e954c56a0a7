# task: softmax
# expect: incorrect or rejected or does_not_compile
# why: an object that would compute when it is compared

import jax


class Lazy:
    def __init__(self, x):
        self.x, self.shape, self.dtype = x, x.shape, x.dtype

    def __array__(self, dtype=None, copy=None):
        return jax.nn.softmax(self.x, axis=-1)

    def __eq__(self, other):
        return True


def computation(x):
    return Lazy(x)
