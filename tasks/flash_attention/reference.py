"""Causal attention over (head, position, feature) arrays."""

import math

import jax
import jax.numpy as jnp


def computation(query, key, value):
    length, features = query.shape[1:]
    scores = jnp.einsum("hqd,hkd->hqk", query, key, preferred_element_type=jnp.float32) / math.sqrt(features)
    visible = jnp.tril(jnp.ones((length, length), bool))
    weights = jax.nn.softmax(jnp.where(visible, scores, -jnp.inf), axis=-1)
    return jnp.einsum("hqk,hkd->hqd", weights, value.astype(jnp.float32)).astype(query.dtype)
