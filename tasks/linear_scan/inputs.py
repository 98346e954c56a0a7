import numpy as np


def get_inputs(rng, batch, steps, features):
    shape = (batch, steps, features)
    decay = 1.0 / (1.0 + np.exp(-2.0 * rng.standard_normal(shape, dtype=np.float32) - 1.0))
    return (decay, rng.standard_normal(shape, dtype=np.float32)), ()
