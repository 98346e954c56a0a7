# task: softmax
# expect: rejected
# why: an array that nothing has written, by way of lax.empty

from jax import lax


def computation(x):
    return lax.empty(x.shape, x.dtype)
