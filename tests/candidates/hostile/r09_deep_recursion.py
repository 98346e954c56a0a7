# task: softmax
# expect: does_not_compile or crashed
# why: recurses until the stack ends

def _down(x):
    return _down(x + 1)


def computation(x):
    return _down(x)
