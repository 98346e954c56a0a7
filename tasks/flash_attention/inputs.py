import ml_dtypes
import numpy as np

FEATURES = 128


def get_inputs(rng, heads, length):
    # Wide queries keep the weights peaked; with flat ones every late row would be nearly the mean of all values.
    query, key, value = (
        (scale * rng.standard_normal((heads, length, FEATURES), dtype=np.float32)).astype(ml_dtypes.bfloat16)
        for scale in (3.0, 1.0, 1.0)
    )
    return (query, key, value), ()
