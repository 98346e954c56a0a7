# task: softmax
# expect: incorrect
# why: odd characters in names and texts

# ‮ reversed ‬, ﻿, 😀
名前 = "\x00\ud800 "


def computation(x):
    return x
