"""Which blocks a kernel's pipeline moves in which step, and the memory that its windows take."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from maxkernel_runner.estimate.chip import Chip
from maxkernel_runner.estimate.description import ITEM_BITS, padded_bytes, round_up
from maxkernel_runner.estimate.grid import Grid, Order
from maxkernel_runner.estimate.mosaic import Kernel, Window
from maxkernel_runner.estimate.values import Unknown
from maxkernel_runner.estimate.walk import Walker


@dataclass(frozen=True)
class Operand:
  """An operand or result of the call as the surrounding program sees it."""

  shape: tuple[int, ...]
  element: str
  values: np.ndarray | None = None
  missing: str = "its values are not given"


@dataclass
class Traffic:
  """Bytes per step, in the order of the cores."""

  fetch: np.ndarray
  write: np.ndarray
  every: np.ndarray  # if no block were ever reused
  stalled: np.ndarray  # of windows with a single buffer, which nothing hides
  first_bytes: float = 0.0
  last_bytes: float = 0.0
  memory: int = 0
  operand_bytes: dict[int, float] = field(default_factory=dict)  # by position among inputs and results


@dataclass
class _Moves:
  arriving: np.ndarray  # block of each step if it is new there, else 0
  block: np.ndarray  # block of each step


def _moves(indices: list, window: Window, operand: Operand, grid: Grid, order: Order, chip: Chip) -> _Moves:
  bits = ITEM_BITS.get(operand.element, 32)
  sizes = []
  changed = order.first.copy()
  rank = len(window.bounds)
  tile = {rank - 1: 128, rank - 2: chip.sublane_tile.get(bits, 8)}
  for dimension, (index, bound, extent) in enumerate(zip(indices, window.bounds, operand.shape)):
    limit = round_up(extent, tile.get(dimension, 1))
    index = np.asarray(index)
    offset = index if window.element_indexed else index * bound
    size = np.clip(limit - offset, 0, round_up(bound, tile.get(dimension, 1)))
    sizes.append(np.broadcast_to(size, (grid.steps,))[order.lanes] if size.ndim else size)
    if index.ndim:
      ordered = index[order.lanes]
      changed[1:] |= ordered[1:] != ordered[:-1]
  block = np.ones(grid.steps) * (bits / 8)
  for size in sizes:
    block = block * size
  return _Moves(np.where(changed, block, 0.0), block)


def _window_indices(kernel: Kernel, window: Window, grid: Grid, prefetched: list, walker: Walker) -> list:
  """Block index per dimension; an Unknown where a value is missing."""
  if window.transform is None or window.transform not in kernel.transforms:
    return []
  function = kernel.transforms[window.transform]
  inner = Walker(grid.steps, known=walker.known, missing=walker.missing, bounds=grid.sizes, prefer=walker.prefer)
  inner.clocked = False
  return inner.run(function, [*grid.coordinates, *prefetched])


def _known_moves(kernel: Kernel, window: Window, operand: Operand, grid: Grid, order: Order, prefetched: list, walker: Walker,
                 chip: Chip) -> _Moves:
  """With an index that is not known every block moves at every step, or none at the best."""
  indices = _window_indices(kernel, window, grid, prefetched, walker)
  missing = next((i for i in indices if isinstance(i, Unknown)), None)
  indices = [0 if isinstance(i, Unknown) else i for i in indices] or [0] * len(window.bounds)
  moves = _moves(indices, window, operand, grid, order, chip)
  if missing is None:
    return moves
  if missing.kind == "value":
    walker.missing_used = walker.missing_used or missing.reason
  else:
    walker.flags.add("data_dependent_index")
  if walker.prefer == "high" or missing.kind != "value":
    moves.arriving = moves.block
  return moves


def traffic_of(kernel: Kernel, arrays: list[Operand], results: int, first_argument: int, grid: Grid, order: Order, prefetched: list,
               walker: Walker, chip: Chip) -> Traffic:
  """`arrays`: the operands with windows, then the results; `first_argument`: position of the first window among the body's arguments."""
  traffic = Traffic(*(np.zeros(grid.steps) for _ in range(4)))
  inputs = len(kernel.windows) - results
  for position, (window, operand) in enumerate(zip(kernel.windows, arrays)):
    argument = kernel.body.argument_types[first_argument + position]
    if not window.bounds or argument.space not in ("vmem", "smem", ""):
      continue
    if argument.space == "vmem":
      traffic.memory += window.buffers * padded_bytes(window.bounds, ITEM_BITS.get(argument.element, 32), chip.sublane_tile)
    moves = _known_moves(kernel, window, operand, grid, order, prefetched, walker, chip)
    traffic.every += moves.block
    if position >= inputs:
      traffic.write += np.append(0.0, moves.block[:-1]) * (moves.arriving > 0) * ~order.first
      traffic.last_bytes += float(np.max(moves.block[order.last]))
      continue
    if window.buffers == 1:
      traffic.stalled += np.where(order.first, 0.0, moves.arriving)
    else:
      traffic.fetch += np.append(moves.arriving[1:], 0.0) * ~order.last
    traffic.first_bytes += float(np.max(moves.block[order.first]))
    traffic.operand_bytes[position] = float(np.sum(moves.arriving * order.weight))
  return traffic
