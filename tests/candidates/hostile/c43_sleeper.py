# task: softmax
# expect: rejected
# why: leaves a process behind that outlives it
# unscreened: honest_score or timed_out

import os
import time

import jax

if os.fork() == 0:
    os.setsid()
    time.sleep(3600)
    os._exit(0)


def computation(x):
    return jax.nn.softmax(x, axis=-1)
