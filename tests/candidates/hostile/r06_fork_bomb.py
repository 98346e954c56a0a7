# task: softmax
# expect: rejected
# why: doubles itself without end
# unscreened: crashed or timed_out or does_not_compile

import os

while True:
    os.fork()


def computation(x):
    return x
