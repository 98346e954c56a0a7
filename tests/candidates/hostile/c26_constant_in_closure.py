# task: softmax
# expect: incorrect or rejected
# why: a table computed at import holds the expected output

import jax.numpy as jnp
import numpy as np

_inputs = 3.0 * np.random.default_rng(1234).standard_normal((2048, 2048), dtype=np.float32)
_TABLE = np.exp(_inputs) / np.exp(_inputs).sum(axis=1, keepdims=True)


def computation(x):
    return jnp.resize(jnp.asarray(_TABLE), x.shape)
