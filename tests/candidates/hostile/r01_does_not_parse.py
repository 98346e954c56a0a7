# task: softmax
# expect: does_not_compile
# why: no Python

def computation(x:
    return x
