import ml_dtypes
import numpy as np


def get_inputs(rng, rows, columns):
    gate, up, residual = (
        (scale * rng.standard_normal((rows, columns), dtype=np.float32)).astype(ml_dtypes.bfloat16)
        for scale in (3.0, 1.0, 1.0)
    )
    return (gate, up, residual), ()
