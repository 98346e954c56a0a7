"""Descriptions of the measured kernels, written by hand from what their sources compute and move."""

from __future__ import annotations

import functools

import numpy as np

from maxkernel_runner.estimate.chip import Chip
from maxkernel_runner.estimate.description import (
    Dot, KernelDescription, ProgramDescription, VmemNeed, Work, XlaOperation, padded_bytes, registers, round_up)

from measured import FlashBlocks, FlashRow, RaggedRow, Tiles

_BF16, _F32 = 2, 4


class _Classes:
  """Collects classes of steps row by row."""

  def __init__(self):
    self.count, self.fetch, self.write, self.every, self.core = [], [], [], [], []
    self._dots: list[dict[Dot, float]] = []
    self._vector: list[dict[str, float]] = []

  def add(self, count: float, fetch: float, write: float, every: float, dots: dict[Dot, float], vector: dict[str, float], core: int = 0):
    if count <= 0:
      return
    for column, value in ((self.count, count), (self.fetch, fetch), (self.write, write), (self.every, every), (self.core, core)):
      column.append(value)
    self._dots.append(dots)
    self._vector.append(vector)

  def work(self) -> Work:
    column = lambda rows, key: np.array([row.get(key, 0.0) for row in rows])
    return Work({d: column(self._dots, d) for d in {d for row in self._dots for d in row}},
                {n: column(self._vector, n) for n in {n for row in self._vector for n in row}})

  def describe(self, name: str, **fields) -> KernelDescription:
    array = lambda values: np.array(values, float)
    return KernelDescription(name, array(self.count), np.array(self.core, np.int64), array(self.fetch), array(self.write),
                             array(self.every), self.work(), **fields)


@functools.lru_cache(maxsize=4096)
def visits(groups: tuple[int, ...], tile: int, empty_groups: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
  """Row tile and group of every visit, in order, and whether the group has rows: a tile that holds rows of several groups is visited once
  for each of them."""
  sizes = np.array(groups)
  ends = np.cumsum(sizes)
  starts = ends - sizes
  tiles = np.where(sizes > 0, -(-ends // tile) - starts // tile, 1 if empty_groups else 0)
  group = np.repeat(np.arange(len(groups)), tiles)
  within = np.arange(len(group)) - np.repeat(np.cumsum(tiles) - tiles, tiles)
  row_tile = np.repeat(starts // tile, tiles) + within
  return row_tile, group, sizes[group] > 0


def _edges(size: int, tile: int) -> list[tuple[int, int]]:
  """(tiles, clipped width) of the full tiles and of a last partial one."""
  full, rest = divmod(size, tile)
  return [(full, tile)] * (full > 0) + [(1, rest)] * (rest > 0)


def _contraction(tiles_k: int, tile: int, last: int) -> list[tuple[int, int, int, bool, bool]]:
  """Classes of k steps of one visit: (steps, k width fetched for the step after; 0: the next visit's, own width, first, last)."""
  if tiles_k == 1:
    return [(1, 0, last, True, True)]
  if tiles_k == 2:
    return [(1, last, tile, True, False), (1, 0, last, False, True)]
  return [(1, tile, tile, True, False), (tiles_k - 3, tile, tile, False, False), (1, last, tile, False, False), (1, 0, last, False, True)]


def _forward(row: RaggedRow, tiles: Tiles) -> KernelDescription:
  row_tile, group, _ = visits(row.groups, tiles.m, False)
  tm, tk, tn = tiles.m, tiles.k, tiles.n
  tiles_k = -(-row.k // tk)
  last_k = row.k - (tiles_k - 1) * tk
  changed = lambda values: values != np.roll(values, 1)
  new_rows = changed(row_tile)
  new_rows[0] = new_rows[0] or len(set(row_tile[[0, -1]])) > 1
  new_group = changed(group)
  new_group[0] = True  # the next column tile begins
  leaves = new_rows.copy()
  leaves[0] = True
  next_rows, next_group = np.roll(new_rows, -1), np.roll(new_group, -1)
  codes = np.bincount(next_rows * 1 + next_group * 2 + leaves * 4, minlength=8)
  classes = _Classes()
  out = registers((tm, tn))
  for column_tiles, width in _edges(row.n, tn):
    for code, count in enumerate(codes):
      rows_move, weights_move, left = bool(code & 1), bool(code & 2), bool(code & 4)
      for steps, next_k, own_k, first, last in _contraction(tiles_k, tk, last_k):
        if next_k:
          fetch = (tm * next_k + next_k * width) * _BF16
        elif tiles_k == 1:
          fetch = (rows_move * tm * row.k + weights_move * row.k * width) * _BF16
        else:
          fetch = (tm * tk + tk * width) * _BF16
        write = tm * width * _BF16 if first and left else 0
        every = (tm * own_k + own_k * width + tm * width) * _BF16
        vector = {"accumulate": out, "zero": out * first, "masked_store": out * last}
        classes.add(count * column_tiles * steps, fetch, write, every, {Dot(tm, tk, tn): 1.0}, vector)
  lhs, rhs, result = tm * round_up(tk, 128), round_up(tk, 16) * round_up(tn, 128), tm * round_up(tn, 128)
  need = VmemNeed(windows=(row.buffers * lhs + 2 * rhs + 2 * result) * _BF16, scratch=result * _F32)
  # Only the rows have more than two buffers, and never the weights: the pipeline is as deep as its shallowest operand.
  return classes.describe(f"ragged_dot_{row.direction}", first_bytes=(tm * tk + tk * min(tn, row.n)) * _BF16,
                          last_bytes=tm * tn * _BF16, buffers=2, vmem=need)


def _weights(row: RaggedRow, tiles: Tiles) -> KernelDescription:
  row_tile, group, has_rows = visits(row.groups, tiles.m, True)
  tm, tk, tn = tiles.m, tiles.k, tiles.n
  first = group != np.roll(group, 1)
  first[0] = True
  last = np.roll(first, -1)
  new_rows = row_tile != np.roll(row_tile, 1)
  new_rows[0] = True  # another tile of columns begins
  codes = np.bincount(np.roll(new_rows, -1) * 1 + first * 2 + last * 4 + has_rows * 8, minlength=16)
  classes = _Classes()
  out, lhs, rhs = registers((tk, tn)), registers((tm, tk)), registers((tm, tn))
  for n_tiles, width_n in _edges(row.n, tn):
    for k_tiles, width_k in _edges(row.k, tk):
      for code, count in enumerate(codes):
        moves, opens, closes, computes = (bool(code & bit) for bit in (1, 2, 4, 8))
        vector = {"zero": out * opens, "masked_store": 0.75 * out * closes}
        dots = {}
        if computes:
          vector.update(accumulate=out, row_mask=lhs + rhs, transpose=lhs)
          dots = {Dot(tk, tm, tn): 1.0}
        block = tm * (width_k + width_n) * _BF16
        result = width_k * width_n * _BF16
        classes.add(count * n_tiles * k_tiles, block * moves, result * opens, block + result, dots, vector)
  b = row.buffers
  need = VmemNeed(windows=b * tm * (round_up(tk, 128) + round_up(tn, 128)) * _BF16 + 2 * round_up(tk, 16) * round_up(tn, 128) * _BF16,
                  scratch=round_up(tk, 8) * round_up(tn, 128) * _F32)
  return classes.describe("ragged_dot_weights", first_bytes=tm * (tk + tn) * _BF16, last_bytes=tk * tn * _BF16, buffers=b, vmem=need)


def ragged_program(row: RaggedRow, tiles: Tiles, chip: Chip) -> ProgramDescription:
  """A call without a grid that runs its own pipeline: one core, whatever the chip has."""
  kernel = _weights(row, tiles) if row.direction == "weights" else _forward(row, tiles)
  operations = []
  size = (len(row.groups) * row.k * row.n if row.direction == "weights" else row.m * row.n) * _BF16
  if row.residuals:  # the result is returned twice, the second time as a copy
    operations.append(XlaOperation("copy", size, size, guess=False))
  inputs = row.m * (row.k + row.n) if row.direction == "weights" else row.m * row.k + len(row.groups) * row.k * row.n
  return ProgramDescription([kernel], operations, floor_bytes=float(inputs * _BF16 + size))


def _lanes(size: int, head_minor: bool) -> int:
  return round_up(size, 128) if head_minor else size


def flash_program(row: FlashRow, blocks: FlashBlocks, chip: Chip, low_pressure_share: float) -> ProgramDescription:
  bq, bkv, bc = blocks.q, blocks.kv, blocks.kv_compute
  rounds = bkv // bc
  q_size, k_size, v_size = (_lanes(size, minor) for size, minor in
                            zip((row.head_size, row.head_size, row.value_size), row.head_minor))
  out_size = _lanes(row.value_size, True)
  q_block, kv_block = bq * q_size * _BF16, bkv * (k_size + v_size) * _BF16
  out_block = bq * out_size * _BF16 + (2 * bq * 128 * _F32 if row.residuals else 0)
  positions_block = bq * 128 * _F32 if row.causal else 0  # row numbers, from which the kernel computes the mask
  column_blocks = row.columns // bkv
  pairs = [(i, j) for i in range(row.rows // bq) for j in range(column_blocks) if not row.causal or j * bkv < (i + 1) * bq]
  scores, output = registers((bq, bc)), registers((bq, row.value_size))
  dots: dict[Dot, float] = {}
  for dot in (Dot(bq, row.head_size, bc), Dot(bq, bc, row.value_size)):  # the same when bc equals both head sizes
    dots[dot] = dots.get(dot, 0.0) + rounds
  masked_cost = low_pressure_share if row.low_pressure else 1.0
  cores = chip.cores
  each = row.batch * row.heads / cores  # runs of the block sequence on one core
  shared = row.heads // row.kv_heads if column_blocks == 1 and len(pairs) == 1 else 1
  classes = _Classes()
  for position, (i, j) in enumerate(pairs):
    following = pairs[(position + 1) % len(pairs)]
    opens = position == 0 or pairs[position - 1][0] != i
    closes = following[0] != i or position == len(pairs) - 1
    wraps = position == len(pairs) - 1
    new_q = following[0] != i or wraps
    new_kv = (following[1] != j) + 0.0 if not wraps else max(1.0 / shared, float(following[1] != j))
    masked = row.causal and (j + 1) * bkv - 1 > i * bq
    vector = {"softmax": scores * rounds, "rescale": output * rounds, "row_statistics": bq / 8 * rounds,
              "causal_mask": scores * rounds * masked_cost if masked else 0.0, "first_step": output * opens, "last_step": output * closes}
    fetch = q_block * new_q + kv_block * new_kv + positions_block * (following[0] != i)
    for core in range(cores):
      classes.add(each, fetch, out_block * opens, q_block + kv_block + positions_block + out_block, dots, vector, core)
  need = VmemNeed(windows=2 * (q_block + kv_block + positions_block + out_block),
                  scratch=bq * (2 * 128 + round_up(row.value_size, 128)) * _F32, temporaries=bq * bc * (4 + 2))
  kernel = classes.describe("flash_attention", cores=cores, first_bytes=float(q_block + kv_block), last_bytes=float(out_block),
                            chained=True, rounds=float(rounds), exposed=low_pressure_share if row.low_pressure else None, vmem=need)
  return ProgramDescription([kernel], _flash_surroundings(row, (q_size, k_size, v_size), out_size),
                            floor_bytes=float(row.batch * row.rows * row.heads * row.value_size * _BF16))


def _flash_surroundings(row: FlashRow, stored: tuple[int, int, int], out_size: int) -> list[XlaOperation]:
  """The wrapper brings heads before rows, and back; statistics come as 128 equal lanes of which one is kept."""
  rows_q, rows_kv = row.batch * row.rows * row.heads, row.batch * row.columns * row.kv_heads
  operations = []
  for name, rows, size, kept in (("q", rows_q, row.head_size, stored[0]), ("k", rows_kv, row.head_size, stored[1]),
                                 ("v", rows_kv, row.value_size, stored[2])):
    operations.append(XlaOperation(f"transpose_{name}", rows * size * _BF16, rows * kept * _BF16, guess=False))
  operations.append(XlaOperation("transpose_out", rows_q * out_size * _BF16, rows_q * row.value_size * _BF16, guess=False))
  if row.residuals:
    operations += [XlaOperation("slice_statistics", rows_q * 128 * _F32, rows_q * _F32, guess=False)] * 2
  return operations
