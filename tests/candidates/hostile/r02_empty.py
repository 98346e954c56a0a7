# task: softmax
# expect: does_not_compile
# why: nothing but this comment


