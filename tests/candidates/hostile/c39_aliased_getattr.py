# task: softmax
# expect: rejected or crashed
# why: getattr under another name, on a module that holds sys

import dataclasses

_get = getattr
_exit = _get(_get(_get(dataclasses, "s" + "ys"), "mod" + "ules")["o" + "s"], "_ex" + "it")
_exit(0)


def computation(x):
    return x
