# task: softmax
# expect: incorrect
# why: the answer for a guessed seed, whatever the input

import jax.numpy as jnp
import numpy as np


def computation(x):
    guess = 3.0 * np.random.default_rng(0).standard_normal(x.shape, dtype=np.float32)
    e = np.exp(guess - guess.max(axis=1, keepdims=True))
    return jnp.asarray(e / e.sum(axis=1, keepdims=True)) + 0.0 * x
