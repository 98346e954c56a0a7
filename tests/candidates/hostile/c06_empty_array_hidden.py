# task: softmax
# expect: rejected
# why: the same, with the function's name hidden from a screen

import jax.lax


def computation(x):
    library = jax.lax
    return library.empty(x.shape, x.dtype)
