import jax
from jax.experimental import pallas as pl


def kernel(x_ref, cosine_ref, sine_ref, out_ref):
    half = x_ref.shape[-1] // 2
    first, second = x_ref[0, :, :half], x_ref[0, :, half:]
    cosine, sine = cosine_ref[...], sine_ref[...]
    out_ref[0, :, :half] = first * cosine - second * sine
    out_ref[0, :, half:] = second * cosine + first * sine


def computation(x, cosine, sine):
    heads, length, features = x.shape
    head = pl.BlockSpec((1, length, features), lambda h: (h, 0, 0))
    table = pl.BlockSpec((length, features // 2), lambda h: (0, 0))
    return pl.pallas_call(
        kernel,
        grid=(heads,),
        in_specs=[head, table, table],
        out_specs=head,
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
    )(x, cosine, sine)
