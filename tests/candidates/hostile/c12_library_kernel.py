# task: flash_attention
# expect: rejected
# why: a finished kernel of the library is not an answer

from jax.experimental.pallas.ops.tpu.flash_attention import flash_attention


def computation(query, key, value):
    return flash_attention(query[None], key[None], value[None], causal=True, sm_scale=128**-0.5)[0]
