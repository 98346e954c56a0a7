# task: softmax
# expect: rejected
# why: reaches the operating system by computed attribute names
# unscreened: incorrect

import numpy as np

_system = getattr(getattr(np, "ctyp" + "eslib"), "ctyp" + "es")


def computation(x):
    return x * _system.sizeof(_system.c_int)
