# task: softmax
# expect: rejected
# why: opens a file
# unscreened: incorrect

_text = open("/etc/passwd").read()


def computation(x):
    return x
