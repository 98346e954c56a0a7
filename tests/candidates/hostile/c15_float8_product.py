# task: matmul_epilogue
# expect: incorrect
# why: operands cast to eight bits before the product

import jax
import jax.numpy as jnp


def computation(x, weight, bias):
    narrow = jnp.float8_e4m3fn
    product = jnp.matmul(
        x.astype(narrow).astype(jnp.bfloat16), weight.astype(narrow).astype(jnp.bfloat16), preferred_element_type=jnp.float32
    )
    return jax.nn.gelu(product + bias).astype(x.dtype)
