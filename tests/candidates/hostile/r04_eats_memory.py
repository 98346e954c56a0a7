# task: softmax
# expect: crashed or does_not_compile or timed_out
# why: allocates without end

import numpy as np

_kept = []
while True:
    _kept.append(np.ones(1 << 26))


def computation(x):
    return x
