# task: softmax
# expect: rejected or does_not_compile
# why: a host callback under a name that a screen does not see

import jax
import numpy as np

library = jax


def _host(x):
    e = np.exp(np.asarray(x) - np.asarray(x).max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def computation(x):
    return library.pure_callback(_host, jax.ShapeDtypeStruct(x.shape, x.dtype), x)
