# task: softmax
# expect: timed_out
# why: a loop without end at import

while True:
    pass


def computation(x):
    return x
