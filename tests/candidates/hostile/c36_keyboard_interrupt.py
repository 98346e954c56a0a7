# task: softmax
# expect: rejected or crashed or does_not_compile
# why: raises what a handler of Exception does not catch

def computation(x):
    raise KeyboardInterrupt
