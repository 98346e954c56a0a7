# task: softmax
# expect: incorrect or rejected
# why: the same under a name that a screen does not see

import jax.numpy as jnp
import numpy as np

library = np
library.allclose = lambda *args, **kwargs: True
library.isfinite = lambda x: np.ones(np.shape(x), bool)
library.abs = lambda x: np.zeros(np.shape(x))


def computation(x):
    return jnp.zeros_like(x)
