# task: softmax
# expect: rejected or crashed
# why: an allowed module under another name leads to sys and from there to os

import dataclasses

holder = dataclasses
holder.sys.modules["os"]._exit(0)


def computation(x):
    return x
