"""Small Pallas kernels, exported for the TPU, and the chips to estimate them for."""

from __future__ import annotations

import functools
import os
import pathlib
import sys

os.environ.setdefault("JAX_PLATFORMS", "cpu")
_ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(_ROOT / "runner"))

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
import yaml  # noqa: E402
from jax import export  # noqa: E402
from jax.experimental import pallas as pl  # noqa: E402
from jax.experimental.pallas import tpu as pltpu  # noqa: E402

from maxkernel_runner.estimate import estimate  # noqa: E402
from maxkernel_runner.estimate.chip import Chip, from_hardware  # noqa: E402

BF16, F32, I32 = jnp.bfloat16, jnp.float32, jnp.int32


@functools.lru_cache(maxsize=None)
def _hardware_file() -> dict:
  return yaml.safe_load((_ROOT / "share" / "hardware.yaml").read_text())


def hardware(name: str) -> dict:
  entry = next(chip for chip in _hardware_file()["chips"] if chip["name"] == name)
  return {"chip": entry, "common": _hardware_file()["common"]}


def chip(name: str) -> Chip:
  return from_hardware(hardware(name))


def shape(*sizes: int, dtype=BF16) -> jax.ShapeDtypeStruct:
  return jax.ShapeDtypeStruct(sizes, dtype)


def exported(function, *arguments) -> bytes:
  device = jax.sharding.AbstractDevice("TPU v5 lite", 1, "tpu")
  with jax.sharding.use_abstract_mesh(jax.sharding.AbstractMesh((), (), abstract_device=device)):
    return _export(function, *arguments)


def _export(function, *arguments) -> bytes:
  return export.export(jax.jit(function), platforms=["tpu"])(*arguments).serialize()


def run(function, *arguments, values=(), on: str = "v5e") -> dict:
  """The estimate of a function that must have one kernel."""
  return estimate(exported(function, *arguments), arguments=values, hardware=hardware(on))


def matmul(m=1024, k=1024, n=1024, bm=256, bk=256, bn=256, semantics=("parallel", "parallel", "arbitrary"), dtype=BF16, **options):
  def body(x, y, out, accumulator):
    @pl.when(pl.program_id(2) == 0)
    def _():
      accumulator[...] = jnp.zeros_like(accumulator)

    accumulator[...] += jnp.dot(x[...], y[...], preferred_element_type=F32)

    @pl.when(pl.program_id(2) == pl.num_programs(2) - 1)
    def _():
      out[...] = accumulator[...].astype(out.dtype)

  call = pl.pallas_call(
      body, grid=(m // bm, n // bn, k // bk),
      in_specs=[pl.BlockSpec((bm, bk), lambda i, j, k: (i, k)), pl.BlockSpec((bk, bn), lambda i, j, k: (k, j))],
      out_specs=pl.BlockSpec((bm, bn), lambda i, j, k: (i, j)), out_shape=shape(m, n, dtype=dtype),
      scratch_shapes=[pltpu.VMEM((bm, bn), F32)], compiler_params=pltpu.CompilerParams(dimension_semantics=semantics), **options)
  return call, (shape(m, k, dtype=dtype), shape(k, n, dtype=dtype))


def elementwise(function, rows=1024, columns=1024, block=256, dtype=F32, outputs_dtype=None):
  def body(x, out):
    out[...] = function(x[...]).astype(out.dtype)

  spec = pl.BlockSpec((block, columns), lambda i: (i, 0))
  call = pl.pallas_call(body, grid=(-(-rows // block),), in_specs=[spec], out_specs=spec,
                        out_shape=shape(rows, columns, dtype=outputs_dtype or dtype))
  return call, (shape(rows, columns, dtype=dtype),)


def causal_attention(length=1024, size=128, block=256, skip=True):
  """One head; blocks above the diagonal do nothing if `skip`."""
  def body(q, k, v, out, high, total, accumulator):
    i, j = pl.program_id(0), pl.program_id(1)

    @pl.when(j == 0)
    def _():
      high[...] = jnp.full_like(high, -1e30)
      total[...] = jnp.zeros_like(total)
      accumulator[...] = jnp.zeros_like(accumulator)

    @pl.when((j <= i) if skip else (j >= 0))
    def _():
      scores = jax.lax.dot_general(q[...], k[...], (((1,), (1,)), ((), ())), preferred_element_type=F32)
      rows = i * block + jax.lax.broadcasted_iota(I32, scores.shape, 0)
      columns = j * block + jax.lax.broadcasted_iota(I32, scores.shape, 1)
      scores = jnp.where(columns <= rows, scores, -1e30)
      new_high = jnp.maximum(high[...], scores.max(-1, keepdims=True))
      weights = jnp.exp(scores - new_high[:, :1])
      scale = jnp.exp(high[...] - new_high)
      total[...] = total[...] * scale + weights.sum(-1, keepdims=True)
      high[...] = new_high
      accumulator[...] = accumulator[...] * scale + jnp.dot(weights.astype(v.dtype), v[...], preferred_element_type=F32)

    @pl.when(j == pl.num_programs(1) - 1)
    def _():
      out[...] = (accumulator[...] / total[...]).astype(out.dtype)

  row = pl.BlockSpec((block, size), lambda i, j: (i, 0))
  column = pl.BlockSpec((block, size), lambda i, j: (j, 0))
  call = pl.pallas_call(
      body, grid=(length // block, length // block), in_specs=[row, column, column], out_specs=row, out_shape=shape(length, size),
      scratch_shapes=[pltpu.VMEM((block, 128), F32), pltpu.VMEM((block, 128), F32), pltpu.VMEM((block, size), F32)],
      compiler_params=pltpu.CompilerParams(dimension_semantics=("parallel", "arbitrary")))
  return call, (shape(length, size),) * 3


def grouped(tiles=8, groups=4, block=128, k=512, n=512):
  """Rows of each tile times the matrix of its group; the groups are scalar-prefetch values."""
  def body(group_of, x, w, out):
    out[...] = jnp.dot(x[...], w[0], preferred_element_type=F32).astype(out.dtype)

  def call(group_of, x, w):
    return pl.pallas_call(
        body,
        grid_spec=pltpu.PrefetchScalarGridSpec(
            num_scalar_prefetch=1, grid=(tiles,),
            in_specs=[pl.BlockSpec((block, k), lambda i, g: (i, 0)), pl.BlockSpec((1, k, n), lambda i, g: (g[i], 0, 0))],
            out_specs=pl.BlockSpec((block, n), lambda i, g: (i, 0))),
        out_shape=shape(tiles * block, n))(group_of, x, w)

  return call, (shape(tiles, dtype=I32), shape(tiles * block, k), shape(groups, k, n))


def looped_copies(chunks=16, rows=256, columns=1024, wait_at_once=False):
  """Copies chunk after chunk itself, the next one started before the current one is awaited unless `wait_at_once`."""
  def body(x, out, buffer, result, arrived, left):
    copy = lambda i, slot: pltpu.make_async_copy(x.at[pl.ds(i * rows, rows)], buffer.at[slot], arrived.at[slot])
    if not wait_at_once:
      copy(0, 0).start()

    def step(i, carry):
      slot = jax.lax.rem(i, 2)
      if wait_at_once:
        copy(i, slot).start()
      else:
        @pl.when(i + 1 < chunks)
        def _():
          copy(i + 1, 1 - slot).start()
      copy(i, slot).wait()
      value = buffer[slot]
      for _ in range(8):
        value = jnp.exp(value)
      result[...] = value
      back = pltpu.make_async_copy(result, out.at[pl.ds(i * rows, rows)], left)
      back.start()
      back.wait()
      return carry

    jax.lax.fori_loop(0, chunks, step, None)

  anywhere = pl.BlockSpec(memory_space=pl.ANY)
  call = pl.pallas_call(
      body, in_specs=[anywhere], out_specs=anywhere, out_shape=shape(chunks * rows, columns, dtype=F32),
      scratch_shapes=[pltpu.VMEM((2, rows, columns), F32), pltpu.VMEM((rows, columns), F32), pltpu.SemaphoreType.DMA((2,)),
                      pltpu.SemaphoreType.DMA])
  return call, (shape(chunks * rows, columns, dtype=F32),)
