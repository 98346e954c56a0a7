"""The measured rows once more, end to end: kernels that ship with jax and compute the same in the same blocks are exported and traced.

They are not the kernels that were measured. The grouped matmul of jax divides a chip of two cores, which the measured one does not, so it is
compared on v5e alone; jax's attention lacks the compiler flag and the base-2 exponent of the measured one.
"""

from __future__ import annotations

import os
from typing import Iterator

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from jax import export  # noqa: E402
from jax.experimental.pallas.ops.tpu.megablox.gmm import gmm, tgmm  # noqa: E402
from jax.experimental.pallas.ops.tpu.splash_attention import splash_attention_kernel as splash  # noqa: E402
from jax.experimental.pallas.ops.tpu.splash_attention import splash_attention_mask as masks  # noqa: E402

from maxkernel_runner.estimate import estimate  # noqa: E402
from measured import FlashRow, RaggedRow  # noqa: E402

_BF16 = jnp.bfloat16


def _shape(*sizes: int, dtype=_BF16) -> jax.ShapeDtypeStruct:
  return jax.ShapeDtypeStruct(sizes, dtype)


def _module(function, *arguments) -> bytes:
  return export.export(jax.jit(function), platforms=["tpu"])(*arguments).serialize()


def flash_module(row: FlashRow) -> bytes:
  layout = lambda minor: splash.QKVLayout.HEAD_DIM_MINOR if minor else splash.QKVLayout.SEQ_MINOR
  q_layout, k_layout, v_layout = map(layout, row.head_minor)
  sizes = splash.BlockSizes(block_q=row.blocks.q, block_kv=row.blocks.kv, block_kv_compute=row.blocks.kv_compute, q_layout=q_layout,
                            k_layout=k_layout, v_layout=v_layout)
  mask = (masks.CausalMask if row.causal else masks.FullMask)((row.rows, row.columns))
  kernel = splash.make_splash_mha_single_device(masks.MultiHeadMask([mask] * row.heads), block_sizes=sizes, save_residuals=row.residuals)

  def attention(q, k, v):
    q, k, v = (jnp.swapaxes(x, 1, 2) for x in (q * row.head_size**-0.5, k, v))
    out = jax.vmap(kernel)(q, k, v)
    out, statistics = out if row.residuals else (out, ())
    return jnp.swapaxes(out, 1, 2), statistics

  heads = lambda length, count, size: _shape(row.batch, length, count, size)
  return _module(attention, heads(row.rows, row.heads, row.head_size), heads(row.columns, row.kv_heads, row.head_size),
                 heads(row.columns, row.kv_heads, row.value_size))


def ragged_module(row: RaggedRow) -> bytes:
  tiling = (row.tiles.m, row.tiles.k, row.tiles.n)
  groups = len(row.groups)
  sizes = _shape(groups, dtype=jnp.int32)
  product = lambda function, **options: lambda x, y, g: function(x, y, g, preferred_element_type=_BF16, tiling=tiling, **options)
  if row.direction == "forward":
    return _module(product(gmm), _shape(row.m, row.k), _shape(groups, row.k, row.n), sizes)
  if row.direction == "rows":
    return _module(product(gmm, transpose_rhs=True), _shape(row.m, row.k), _shape(groups, row.n, row.k), sizes)
  transposed = lambda x, y, g: product(tgmm)(x.T, y, g)
  return _module(transposed, _shape(row.m, row.k), _shape(row.m, row.n), sizes)


def predictions(rows: list, hardware: dict) -> Iterator[tuple[object, float]]:
  """(row, predicted seconds) of every row that jax's kernels can compute; a row without a time is an error of the tracer."""
  for row in rows:
    if isinstance(row, RaggedRow):
      if row.residuals:  # jax's grouped matmul has no second result
        continue
      data, arguments = ragged_module(row), [None, None, np.array(row.groups, np.int32)]
    else:
      data, arguments = flash_module(row), []
    result = estimate(data, arguments=arguments, hardware=hardware)
    if result["time_s"] is None:
      raise RuntimeError(f"{row}: no estimate: {result['absent']}")
    yield row, result["time_s"]
