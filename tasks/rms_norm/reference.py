"""Root-mean-square normalisation with a weight per column."""

import jax.numpy as jnp
from jax import lax


def computation(x, weight, epsilon):
    values = x.astype(jnp.float32)
    mean_square = jnp.mean(values * values, axis=-1, keepdims=True)
    return (values * lax.rsqrt(mean_square + epsilon) * weight).astype(x.dtype)
