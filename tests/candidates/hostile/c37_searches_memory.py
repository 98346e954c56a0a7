# task: softmax
# expect: rejected
# why: returns any array in memory that has the output's shape
# unscreened: incorrect

import gc

import jax.numpy as jnp
import numpy as np


def computation(x):
    found = [o for o in gc.get_objects() if isinstance(o, np.ndarray) and o.shape == x.shape]
    return jnp.asarray(found[-1]) if found else jnp.zeros_like(x)
