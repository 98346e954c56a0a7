"""Published tuned block sizes with device times, decoded, and the choices each was picked from.

The data are the tuning tables of the tokamax project (openxla/tokamax, Apache-2.0, tokamax/data/autotuning at commit 783ea95), one
gzipped JSON file per chip and kernel. They are not part of this repository.
"""

from __future__ import annotations

from dataclasses import dataclass
import functools
import gzip
import json
import pathlib
import re
from typing import Iterator

import numpy as np

RAGGED_FILES = {"v5p": "tpu_v5-pallas_mosaic_tpu_ragged_dot.json.gz", "v5e": "tpu_v5_lite-pallas_mosaic_tpu_ragged_dot.json.gz"}
FLASH_FILES = {"v5p": "tpu_v5-pallas_mosaic_tpu_flash_attention.json.gz", "v6e": "tpu_v6_lite-pallas_mosaic_tpu_flash_attention.json.gz"}


class DataError(Exception):
  """The data folder is missing or not what was expected; the message names the file."""


@dataclass(frozen=True)
class Tiles:
  m: int
  k: int  # contracted by the kernel, or rows of the result for the gradient of the weights
  n: int


@dataclass(frozen=True)
class RaggedRow:
  chip: str
  direction: str  # "forward", "rows" (gradient of the rows) or "weights" (gradient of the weights)
  m: int
  k: int
  n: int
  groups: tuple[int, ...]
  residuals: bool
  tiles: Tiles
  buffers: int
  seconds: float

  @property
  def family(self) -> tuple:
    shape = (self.k, self.n) if self.direction == "forward" else tuple(sorted((self.k, self.n)))
    return (self.chip, self.direction == "forward", self.m, *shape, len(self.groups))


@dataclass(frozen=True)
class FlashBlocks:
  q: int
  kv: int
  kv_compute: int


@dataclass(frozen=True)
class FlashRow:
  chip: str
  batch: int
  rows: int
  columns: int
  heads: int
  kv_heads: int
  head_size: int
  value_size: int
  causal: bool
  residuals: bool
  blocks: FlashBlocks
  head_minor: tuple[bool, bool, bool]  # layouts of q, k and v
  low_pressure: bool  # the compiler's alternative scheduler
  seconds: float

  @property
  def family(self) -> tuple:
    return (self.chip, self.batch, self.rows, self.heads, self.head_size)


def _entries(folder: pathlib.Path, name: str) -> Iterator[tuple[dict, dict, float]]:
  path = folder / name
  if not path.is_file():
    raise DataError(f"{path}: no such file; expected the tuning tables of openxla/tokamax, gzipped, under this name")
  try:
    table = json.loads(gzip.decompress(path.read_bytes()))
  except (OSError, ValueError) as error:
    raise DataError(f"{path}: not a gzipped JSON file: {error}") from error
  for key, best in table.items():
    if not best:
      continue
    config, measured = next(iter(best.items()))
    yield json.loads(key), json.loads(config), float(np.median(measured["evaluation_times_ms"])) * 1e-3


def _shape(text: str) -> tuple[int, ...]:
  return tuple(int(size) for size in re.search(r"\[([\d,]+)\]", text).group(1).split(","))


@functools.lru_cache(maxsize=None)
def _random_groups(rows: int, groups: int) -> tuple[int, ...]:
  """What the publisher's generator draws for an entry that names only a number of groups and a total."""
  chosen = np.random.default_rng(0).choice(groups, (rows,), replace=True)
  return tuple(int(count) for count in np.bincount(chosen, minlength=groups))


def _groups(field) -> tuple[int, ...]:
  if isinstance(field, dict):
    return _random_groups(field["total_size"], field["num_groups"])
  return tuple(field)


def ragged_rows(folder: pathlib.Path, chip: str, *, even_groups: bool = False) -> list[RaggedRow]:
  rows = []
  for spec, config, seconds in _entries(folder, RAGGED_FILES[chip]):
    lhs, rhs = _shape(spec["lhs"]), _shape(spec["rhs"])
    groups = _groups(spec["group_sizes"])
    if even_groups and isinstance(spec["group_sizes"], dict):
      groups = (sum(groups) // len(groups),) * len(groups)
    contracted = spec["ragged_dot_dimension_numbers"]["dot_dimension_numbers"][0]
    tile_m, tile_k, tile_n = config["tile_m"], config["tile_k"], config["tile_n"]
    if contracted == [[1], [1]]:
      direction, k, n, tiles = "forward", lhs[1], rhs[2], Tiles(tile_m, tile_k, tile_n)
    elif contracted == [[1], [2]]:
      # The tables of v5e predate the commit (e919cdc, 2026-07-14) after which tile_n names the contracted dimension here.
      direction, k, n = "rows", lhs[1], rhs[1]
      tiles = Tiles(tile_m, tile_k, tile_n) if chip == "v5e" else Tiles(tile_m, tile_n, tile_k)
    else:
      direction, k, n, tiles = "weights", lhs[1], rhs[1], Tiles(tile_m, tile_k, tile_n)
    rows.append(RaggedRow(chip, direction, lhs[0], k, n, groups, bool(spec["return_residuals"]), tiles, config["input_buffer_count"],
                          seconds))
  return rows


def flash_rows(folder: pathlib.Path, chip: str) -> list[FlashRow]:
  rows = []
  for spec, config, seconds in _entries(folder, FLASH_FILES[chip]):
    q, k, v = _shape(spec["q"]), _shape(spec["k"]), _shape(spec["v"])
    rows.append(FlashRow(
        chip=chip, batch=q[0], rows=q[1], columns=k[1], heads=q[2], kv_heads=k[2], head_size=q[3], value_size=v[3],
        causal=bool(spec["mask"]["is_causal"]), residuals=bool(spec["return_residuals"]),
        blocks=FlashBlocks(config["block_q"], config["block_kv"], config["block_kv_compute"]),
        head_minor=tuple(config[name] == 1 for name in ("q_layout", "k_layout", "v_layout")),
        low_pressure=bool(config["use_experimental_scheduler"]), seconds=seconds))
  return rows


def _powers(low: int, high: int) -> set[int]:
  return {low * 2**i for i in range(8) if low * 2**i <= high}


def _tile_sizes(size: int, smallest: int) -> list[int]:
  rounded = -(-size // 128) * 128
  sizes = _powers(128, rounded) | {rounded // 2**i for i in range(6) if rounded // 2**i >= smallest}
  return sorted({s for s in sizes if s % 128 == 0} | {size})  # other minor block sizes do not compile


def ragged_choices(row: RaggedRow) -> list[Tiles]:
  """The block sizes that the publisher's tuner enumerated when the row was measured; buffers as published."""
  smallest_m, smallest = (64, 1) if row.chip == "v5e" else (128, 128)
  sizes_k, sizes_n = _tile_sizes(row.k, smallest), _tile_sizes(row.n, smallest)
  if row.chip == "v5e" and row.direction == "rows":
    # These entries hold tiles of either dimension under both names, so neither range alone can have been the space.
    sizes_k = sizes_n = sorted({*sizes_k, *sizes_n})
  return [Tiles(m, k, n) for m in sorted(_powers(smallest_m, min(row.m, 1024))) for k in sizes_k for n in sizes_n]


def flash_choices(row: FlashRow) -> list[FlashBlocks]:
  """The same for attention; layouts and scheduler as published."""
  sizes = (128, 256, 512, 1024, 2048, 4096) if row.chip == "v5p" else (256, 512, 1024, 2048)
  smallest = lambda length: 1024 if length >= 1024 else 0
  return [FlashBlocks(q, kv, compute) for q in sizes for kv in sizes for compute in sizes
          if smallest(row.rows) <= q <= row.rows and smallest(row.columns) <= kv <= row.columns and compute <= 1024 and kv % compute == 0]
