# task: softmax
# expect: rejected or crashed
# why: an annotation is text that typing evaluates

import typing


class Options:
    size: "__import__('os')._exit(0)"


typing.get_type_hints(Options)


def computation(x):
    return x
