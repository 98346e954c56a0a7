# task: softmax
# expect: rejected
# why: registers another lowering of pallas_call

import jax
from jax._src.interpreters import mlir
from jax._src.pallas.pallas_call import pallas_call_p

mlir.register_lowering(pallas_call_p, lambda ctx, *args, **params: args)


def computation(x):
    return x
