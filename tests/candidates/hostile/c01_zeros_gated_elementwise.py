# task: gated_elementwise
# expect: incorrect
# why: zeros of the right shape and type

import jax.numpy as jnp


def computation(gate, up, residual):
    return jnp.zeros_like(residual)
