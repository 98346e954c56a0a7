"""A gated linear recurrence over the second axis."""

import jax
import jax.numpy as jnp


def computation(decay, x):
    def advance(state, operands):
        decay_t, x_t = operands
        state = decay_t * state + x_t
        return state, state

    initial = jnp.zeros((x.shape[0], x.shape[2]), x.dtype)
    _, states = jax.lax.scan(advance, initial, (jnp.swapaxes(decay, 0, 1), jnp.swapaxes(x, 0, 1)))
    return jnp.swapaxes(states, 0, 1)
