import numpy as np


def get_inputs(rng, rows, columns, spread):
    return (spread * rng.standard_normal((rows, columns), dtype=np.float32),), ()
