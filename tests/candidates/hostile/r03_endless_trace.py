# task: softmax
# expect: timed_out
# why: a loop without end while it is traced

def computation(x):
    while True:
        x = x + 1
