import math

import ml_dtypes
import numpy as np


def get_inputs(rng, rows, inner, columns, groups):
    x = rng.standard_normal((rows, inner), dtype=np.float32)
    weights = rng.standard_normal((groups, inner, columns), dtype=np.float32)
    weights *= 1.0 / math.sqrt(inner)
    popularity = rng.dirichlet(np.full(groups, 2.0))
    group_sizes = rng.multinomial(rows, popularity).astype(np.int32)
    group_sizes[-1] += group_sizes[0]
    group_sizes[0] = 0
    return (x.astype(ml_dtypes.bfloat16), weights.astype(ml_dtypes.bfloat16), group_sizes), ()
