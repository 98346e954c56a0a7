# task: top_k
import jax.numpy as jnp


def computation(x, k):
    positions = jnp.argsort(x, axis=1, descending=True)[:, :k]
    return jnp.take_along_axis(x, positions, axis=1), positions.astype(jnp.int32)
