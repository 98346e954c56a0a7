# task: softmax
# expect: rejected or crashed
# why: getattr handed to reduce as a value

import dataclasses
import functools

_modules = functools.reduce(getattr, ["sys", "modules"], dataclasses)
_modules["os"]._exit(0)


def computation(x):
    return x
