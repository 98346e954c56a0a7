# task: rms_norm
import jax
import jax.numpy as jnp


@jax.jit
def _normalise(x, weight, epsilon):
    x32 = x.astype(jnp.float32)
    norm = jnp.sqrt(jnp.mean(x32**2, axis=-1, keepdims=True) + epsilon)
    return (x32 / norm * weight).astype(jnp.bfloat16)


def computation(x, weight, epsilon):
    return _normalise(x, weight, epsilon)
