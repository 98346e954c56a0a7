# task: softmax
# expect: rejected
# why: numpy does the work on the host, off the device's clock
# unscreened: does_not_compile or rejected

import jax
import numpy as np


def _host(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def computation(x):
    return jax.pure_callback(_host, jax.ShapeDtypeStruct(x.shape, x.dtype), x)
