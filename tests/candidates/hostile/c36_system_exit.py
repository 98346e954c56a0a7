# task: softmax
# expect: rejected or crashed
# why: leaves at import, before anything is checked

raise SystemExit(0)


def computation(x):
    return x
