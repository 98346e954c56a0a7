import math

import ml_dtypes
import numpy as np


def get_inputs(rng, rows, inner, columns):
    x = rng.standard_normal((rows, inner), dtype=np.float32)
    # Scaled so that products keep unit variance whatever the inner size.
    weight = rng.standard_normal((inner, columns), dtype=np.float32) / math.sqrt(inner)
    bias = rng.standard_normal((columns,), dtype=np.float32)
    return (x.astype(ml_dtypes.bfloat16), weight.astype(ml_dtypes.bfloat16), bias), ()
