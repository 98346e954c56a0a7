"""The measured rows once more, end to end: kernels that ship with jax and compute the same in the same blocks are exported and traced.

They are not the kernels that were measured. The grouped matmul of jax divides a chip of two cores, which the measured one does not, so it
is compared on v5e alone; on v5p a small kernel stands for the measured one that runs its own pipeline on one core, forward and gradient of
the rows. jax's attention lacks the compiler flag and the base-2 exponent of the measured one.
"""

from __future__ import annotations

import functools
import os
from typing import Iterator

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from jax import export  # noqa: E402
from jax.experimental import pallas as pl  # noqa: E402
from jax.experimental.pallas import tpu as pltpu  # noqa: E402
from jax.experimental.pallas.ops.tpu.megablox.gmm import gmm, tgmm  # noqa: E402
from jax.experimental.pallas.ops.tpu.splash_attention import splash_attention_kernel as splash  # noqa: E402
from jax.experimental.pallas.ops.tpu.splash_attention import splash_attention_mask as masks  # noqa: E402

from maxkernel_runner.estimate import estimate  # noqa: E402
from kernels import visits  # noqa: E402
from measured import FlashRow, RaggedRow  # noqa: E402

_BF16 = jnp.bfloat16


def _shape(*sizes: int, dtype=_BF16) -> jax.ShapeDtypeStruct:
  return jax.ShapeDtypeStruct(sizes, dtype)


def _module(function, *arguments) -> bytes:
  device = jax.sharding.AbstractDevice("TPU v5", 1, "tpu")
  with jax.sharding.use_abstract_mesh(jax.sharding.AbstractMesh((), (), abstract_device=device)):
    return _export(function, *arguments)


def _export(function, *arguments) -> bytes:
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


def pipelined_module(row: RaggedRow) -> tuple[bytes, list]:
  """A grouped matmul without a grid: its pipeline over (column tile, visit, k tile) takes tiles and groups from scalar memory."""
  tm, tk, tn = row.tiles.m, row.tiles.k, row.tiles.n
  row_tile, group, _ = visits(row.groups, tm, False)
  tiles_k = -(-row.k // tk)

  def step(tile_of, group_of, starts, x, w, out, total):
    i, k = pl.program_id(1), pl.program_id(2)

    @pl.when(k == 0)
    def _():
      total[...] = jnp.zeros_like(total)

    total[...] += jnp.dot(x[...], w[...], preferred_element_type=jnp.float32)

    @pl.when(k == tiles_k - 1)
    def _():
      rows = tile_of[i] * tm + jax.lax.broadcasted_iota(jnp.int32, total.shape, 0)
      mine = (rows >= starts[group_of[i]]) & (rows < starts[group_of[i] + 1])
      out[...] = jnp.where(mine, total[...], out[...].astype(jnp.float32)).astype(out.dtype)

  def body(tile_of, group_of, starts, x, w, out, total):
    pltpu.emit_pipeline(
        functools.partial(step, tile_of, group_of, starts, total=total), grid=(-(-row.n // tn), len(row_tile), tiles_k),
        in_specs=[pl.BlockSpec((tm, tk), lambda n, i, k: (tile_of[i], k)),
                  pl.BlockSpec((None, tk, tn), lambda n, i, k: (group_of[i], k, n))],
        out_specs=[pl.BlockSpec((tm, tn), lambda n, i, k: (tile_of[i], n))])(x, w, out)

  scalars, anywhere = pl.BlockSpec(memory_space=pltpu.SMEM), pl.BlockSpec(memory_space=pl.ANY)
  call = pl.pallas_call(body, in_specs=[scalars] * 3 + [anywhere] * 2, out_specs=anywhere, out_shape=_shape(row.m, row.n),
                        scratch_shapes=[pltpu.VMEM((tm, tn), jnp.float32)])
  starts = np.concatenate([[0], np.cumsum(row.groups)]).astype(np.int32)
  values = [row_tile.astype(np.int32), group.astype(np.int32), starts]
  arguments = [_shape(len(v), dtype=jnp.int32) for v in values] + [_shape(row.m, row.k), _shape(len(row.groups), row.k, row.n)]
  return _module(call, *arguments), values + [None, None]


def predictions(rows: list, hardware: dict) -> Iterator[tuple[object, float]]:
  """(row, predicted seconds) of every row that these kernels can compute; a row without a time is an error of the tracer."""
  for row in rows:
    if isinstance(row, RaggedRow):
      if row.residuals:  # these kernels have no second result
        continue
      if row.chip == "v5p":
        if row.direction == "weights":
          continue
        data, arguments = pipelined_module(row)
      else:
        data, arguments = ragged_module(row), [None, None, np.array(row.groups, np.int32)]
    else:
      data, arguments = flash_module(row), []
    result = estimate(data, arguments=arguments, hardware=hardware)
    if result["time_s"] is None:
      raise RuntimeError(f"{row}: no estimate: {result['absent']}")
    yield row, result["time_s"]
