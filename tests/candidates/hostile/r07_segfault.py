# task: softmax
# expect: rejected
# why: reads address zero
# unscreened: crashed

import ctypes

ctypes.string_at(0)


def computation(x):
    return x
