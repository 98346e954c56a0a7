import numpy as np

# Learning rate, decay of the first moment, decay of the second moment, epsilon. The rate is large so that the update is
# of the same magnitude as the parameters, and an update left out or halved is far outside the tolerance.
SETTINGS = (0.1, 0.9, 0.99, 1e-8)


def get_inputs(rng, rows, columns):
    parameters, gradient, first_moment = (rng.standard_normal((rows, columns), dtype=np.float32) for _ in range(3))
    second_moment = 0.1 + rng.random((rows, columns), dtype=np.float32)
    step = rng.integers(1, 100, size=(1,), dtype=np.int32)
    return (parameters, gradient, first_moment, second_moment, step), (SETTINGS,)
