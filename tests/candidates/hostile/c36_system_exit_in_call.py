# task: softmax
# expect: rejected or crashed or does_not_compile
# why: leaves while it is traced

def computation(x):
    raise SystemExit(0)
