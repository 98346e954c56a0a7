# task: softmax
# expect: rejected
# why: asks for a layout of its inputs, so that a transpose falls outside the timed part

import jax
from jax.experimental.layout import Format, Layout


def computation(x):
    return jax.jit(lambda y: jax.nn.softmax(y, axis=-1), in_shardings=Format(Layout((1, 0))))(x)
