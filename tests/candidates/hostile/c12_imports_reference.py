# task: softmax
# expect: rejected
# why: calls the reference in place of computing
# unscreened: does_not_compile

from reference import computation as answer


def computation(x):
    return answer(x)
