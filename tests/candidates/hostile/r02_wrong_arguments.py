# task: softmax
# expect: does_not_compile
# why: takes other arguments than the reference

def computation(x, y, z):
    return x + y + z
