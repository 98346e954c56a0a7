# task: softmax
# expect: does_not_compile
# why: the name is there but cannot be called

computation = 42
