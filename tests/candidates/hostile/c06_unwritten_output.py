# task: softmax
# expect: incorrect
# why: a kernel that does nothing returns whatever was in memory

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def _kernel(x_ref, out_ref):
    pass


def computation(x):
    return pl.pallas_call(_kernel, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x[:8, :128])
