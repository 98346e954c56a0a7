# task: flash_attention
import jax
import jax.numpy as jnp


def _one_head(q, k, v):
    n, d = q.shape
    s = jnp.matmul(q, k.T, preferred_element_type=jnp.float32) * d**-0.5
    i = jnp.arange(n)
    p = jax.nn.softmax(jnp.where(i[:, None] >= i[None, :], s, -1e30), axis=-1)
    return jnp.matmul(p.astype(v.dtype), v, preferred_element_type=jnp.float32).astype(q.dtype)


computation = jax.vmap(_one_head)
