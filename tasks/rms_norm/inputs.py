import ml_dtypes
import numpy as np

EPSILON = 1e-6


def get_inputs(rng, rows, columns):
    # Rows of very different magnitude, so that a result without the normalisation is far off.
    scale = np.exp(2.0 * rng.standard_normal((rows, 1), dtype=np.float32))
    x = scale * rng.standard_normal((rows, columns), dtype=np.float32)
    weight = 1.0 + 0.5 * rng.standard_normal((columns,), dtype=np.float32)
    return (x.astype(ml_dtypes.bfloat16), weight), (EPSILON,)
