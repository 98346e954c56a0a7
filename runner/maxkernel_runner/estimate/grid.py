"""The steps of a grid in the order in which its cores run them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from maxkernel_runner.estimate.chip import Chip
from maxkernel_runner.estimate.mosaic import lanes_of

# Grid steps evaluated one by one; larger grids are represented by contiguous samples of the outer dimensions.
_MAX_STEPS = 1 << 19


@dataclass
class Grid:
  sizes: tuple[int, ...]
  coordinates: list[np.ndarray]
  weight: np.ndarray  # steps of the real grid that each evaluated step stands for
  starts: np.ndarray  # whether a step begins a sample, so that its neighbour is not the step before it
  sampled: bool = False

  @property
  def steps(self) -> int:
    return len(self.weight)


def make_grid(sizes: tuple[int, ...]) -> Grid:
  total = int(np.prod(sizes, dtype=np.int64)) if sizes else 1
  if total <= _MAX_STEPS:
    starts = np.zeros(total, bool)
    starts[:1] = True
    return Grid(sizes, lanes_of(sizes), np.ones(total), starts)
  inner = 1
  split = len(sizes)
  while split > 0 and inner * sizes[split - 1] <= _MAX_STEPS // 8:
    split -= 1
    inner *= sizes[split]
  if split == len(sizes):  # one dimension longer than a sample: its first part stands for the rest
    split -= 1
    inner = _MAX_STEPS // 8
  outer = total / inner if inner else 1
  outer_total = int(np.prod(sizes[:split], dtype=np.int64)) if split else 1
  chosen = np.unique(np.linspace(0, outer_total - 1, 8).astype(np.int64))
  outer_coordinates = np.unravel_index(chosen, sizes[:split]) if split else []
  inner_sizes = sizes[split:]
  inner_coordinates = np.unravel_index(np.arange(inner), inner_sizes)
  coordinates = [np.repeat(c, inner) for c in outer_coordinates] + [np.tile(c, len(chosen)) for c in inner_coordinates]
  starts = np.zeros(inner * len(chosen), bool)
  starts[::inner] = True
  return Grid(sizes, coordinates, np.full(inner * len(chosen), outer / len(chosen)), starts, sampled=True)


@dataclass
class Order:
  """Positions of steps sorted by the core that runs them, each core's in grid order."""

  cores: int
  lanes: np.ndarray  # step of the grid at each place
  core: np.ndarray
  weight: np.ndarray
  first: np.ndarray  # whether a place begins a core's sequence, or a sample of it
  last: np.ndarray

  def spread(self, value) -> np.ndarray:
    """A number per step of the grid, or one for all, as one per place."""
    return np.broadcast_to(np.asarray(value, float), self.lanes.shape)[self.lanes]


def _cores_of(grid: Grid, semantics: tuple[str, ...], chip: Chip) -> tuple[int, np.ndarray]:
  """The first parallel dimension with more than one step is divided; a call without one runs on a single core."""
  core = np.zeros(grid.steps, np.int64)
  if chip.cores < 2:
    return 1, core
  for dimension, (kind, size) in enumerate(zip(semantics, grid.sizes)):
    if kind in ("parallel", "core_parallel") and size > 1:
      return 2, (grid.coordinates[dimension] >= -(-size // 2)).astype(np.int64)
  return 1, core


def order_of(grid: Grid, semantics: tuple[str, ...], chip: Chip) -> Order:
  cores, core = _cores_of(grid, semantics, chip)
  lanes = np.argsort(core, kind="stable") if cores > 1 else np.arange(grid.steps)
  core, first = core[lanes], grid.starts[lanes].copy()
  first[1:] |= core[1:] != core[:-1]
  return Order(cores, lanes, core, grid.weight[lanes], first, np.append(first[1:], True))
