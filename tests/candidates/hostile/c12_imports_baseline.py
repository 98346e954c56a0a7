# task: softmax
# expect: rejected
# why: calls the baseline in place of computing
# unscreened: does_not_compile

import baseline


def computation(x):
    return baseline.computation(x)
