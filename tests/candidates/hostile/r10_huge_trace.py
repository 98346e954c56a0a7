# task: softmax
# expect: timed_out or does_not_compile or crashed or rejected
# why: ten million operations unrolled into one program

def computation(x):
    for _ in range(10_000_000):
        x = x * 1.0000001
    return x
