"""A decoded kernel and the values of its scalar operands, turned into a KernelDescription."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from maxkernel_runner.estimate.chip import Chip
from maxkernel_runner.estimate.description import ITEM_BITS, KernelDescription, Timeline, Transfer, VmemNeed, Work, padded_bytes, round_up
from maxkernel_runner.estimate.mosaic import DYNAMIC, Kernel, Type, Window, lanes_of
from maxkernel_runner.estimate.walk import Unknown, Walker, whole

# Grid steps evaluated one by one; larger grids are represented by contiguous samples of the outer dimensions.
_MAX_STEPS = 1 << 19

# Operations up to which the steps of a kernel that keeps state are walked in order.
_MAX_ORDERED_OPERATIONS = 100_000


@dataclass(frozen=True)
class Operand:
  """An operand or result of the call as the surrounding program sees it."""

  shape: tuple[int, ...]
  element: str
  values: np.ndarray | None = None
  missing: str = "its values are not given"


@dataclass
class _Grid:
  sizes: tuple[int, ...]
  coordinates: list[np.ndarray]
  weight: np.ndarray  # steps of the real grid that each evaluated step stands for
  starts: np.ndarray  # whether a step begins a sample, so that its neighbour is not the step before it
  sampled: bool = False

  @property
  def steps(self) -> int:
    return len(self.weight)


def _make_grid(sizes: tuple[int, ...]) -> _Grid:
  total = int(np.prod(sizes, dtype=np.int64)) if sizes else 1
  if total <= _MAX_STEPS:
    starts = np.zeros(total, bool)
    starts[:1] = True
    return _Grid(sizes, lanes_of(sizes), np.ones(total), starts)
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
  return _Grid(sizes, coordinates, np.full(inner * len(chosen), outer / len(chosen)), starts, sampled=True)


def _split_cores(grid: _Grid, semantics: tuple[str, ...], chip: Chip) -> tuple[int, np.ndarray]:
  """The first parallel dimension with more than one step is divided; a call without one runs on a single core."""
  core = np.zeros(grid.steps, np.int64)
  if chip.cores < 2:
    return 1, core
  for dimension, (kind, size) in enumerate(zip(semantics, grid.sizes)):
    if kind in ("parallel", "core_parallel") and size > 1:
      return 2, (grid.coordinates[dimension] >= -(-size // 2)).astype(np.int64)
  return 1, core


@dataclass
class _Moves:
  """Bytes that one operand moves per step, in the order the core runs them."""

  arriving: np.ndarray  # block of each step if it is new there, else 0
  block: np.ndarray  # block of each step


def _moves(indices: list, window: Window, operand: Operand, grid: _Grid, order: np.ndarray, first: np.ndarray, chip: Chip) -> _Moves:
  bits = ITEM_BITS.get(operand.element, 32)
  sizes = []
  changed = first.copy()
  rank = len(window.bounds)
  tile = {rank - 1: 128, rank - 2: chip.sublane_tile.get(bits, 8)}
  for dimension, (index, bound, extent) in enumerate(zip(indices, window.bounds, operand.shape)):
    limit = round_up(extent, tile.get(dimension, 1))
    index = np.asarray(index)
    offset = index if window.element_indexed else index * bound
    size = np.clip(limit - offset, 0, round_up(bound, tile.get(dimension, 1)))
    sizes.append(np.broadcast_to(size, (grid.steps,))[order] if size.ndim else size)
    if index.ndim:
      ordered = index[order]
      changed[1:] |= ordered[1:] != ordered[:-1]
  block = np.ones(grid.steps) * (bits / 8)
  for size in sizes:
    block = block * size
  return _Moves(np.where(changed, block, 0.0), block)


def _window_indices(kernel: Kernel, window: Window, grid: _Grid, prefetched: list, walker: Walker) -> list:
  """Block index per dimension; an Unknown where a value is missing."""
  if window.transform is None or window.transform not in kernel.transforms:
    return []
  function = kernel.transforms[window.transform]
  inner = Walker(grid.steps, known=walker.known, missing=walker.missing, bounds=grid.sizes, prefer=walker.prefer)
  inner.clocked = False
  return inner.run(function, [*grid.coordinates, *prefetched])


def _resolve_grid(kernel: Kernel, operands: list[Operand]) -> tuple[tuple[int, ...], list[Operand], str]:
  """Replaces dynamic bounds by the values of the leading operands."""
  sizes, rest = [], list(operands)
  for size in kernel.grid:
    if size != DYNAMIC:
      sizes.append(size)
      continue
    bound = rest.pop(0)
    if bound.values is None:
      return (), rest, f"a grid bound is computed at run time and {bound.missing}"
    sizes.append(max(0, int(np.asarray(bound.values).reshape(-1)[0])))
  return tuple(sizes), rest, ""


def scalar_operands(kernel: Kernel) -> list[int]:
  """Positions among the call's operands whose values the kernel can use as scalars: grid bounds, prefetched scalars, scalar memory."""
  bounds = sum(size == DYNAMIC for size in kernel.grid)
  types = kernel.body.argument_types[len(kernel.grid):]
  return [*range(bounds), *(bounds + i for i, t in enumerate(types) if t.space == "smem" and t.kind == "memref")]


def _scalar_memory(kernel: Kernel, operands: list[Operand], first: int) -> tuple[dict, dict, dict]:
  """Values of scalar memory by argument of the body, why others have none, and first values of what the kernel writes."""
  known, missing, initial = {}, {}, {}
  for i, operand in enumerate(operands):
    root = first + i
    if root >= len(kernel.body.argument_types):
      break
    kind = kernel.body.argument_types[root]
    if kind.space != "smem" or kind.kind != "memref":
      continue
    name = f"scalar-prefetch operand {i}" if i < kernel.scalar_prefetch else f"operand {i}, which is in scalar memory"
    if int(np.prod(kind.shape)) != int(np.prod(operand.shape)):
      continue  # a block of a larger array: other values at every step
    if operand.values is not None:
      (initial if root in kernel.stored_arguments else known)[root] = np.asarray(operand.values).reshape(kind.shape)
    elif root not in kernel.stored_arguments:
      missing[root] = f"the values of {name}, and {operand.missing}"
  return known, missing, initial


def describe(kernel: Kernel, name: str, operands: list[Operand], results: list[Operand], chip: Chip, *, prefer: str = "high",
             vmem_limit: int | None = None, internal_scratch: int = 0) -> tuple[KernelDescription, str]:
  """The description, and the reason of a missing value that decided something in it ("" if none did)."""
  sizes, operands, absent = _resolve_grid(kernel, operands)
  if absent:
    return absent_kernel(name, absent), ""
  grid = _make_grid(sizes)
  if grid.steps == 0:
    return absent_kernel(name, "the grid has no steps"), ""
  prefetch = operands[:kernel.scalar_prefetch]
  arrays = operands[kernel.scalar_prefetch:] + results
  argument_types = kernel.body.argument_types
  count = len(sizes)
  roots = {i: whole(i, kind) for i, kind in enumerate(argument_types) if kind.kind == "memref"}
  known, missing, initial = _scalar_memory(kernel, operands, count)
  walker = Walker(grid.steps, known=known, missing=missing, initial=initial, bounds=sizes, prefer=prefer)
  prefetched = [roots[count + i] for i in range(len(prefetch))]

  cores, core = _split_cores(grid, kernel.semantics, chip)
  order = np.argsort(core, kind="stable") if cores > 1 else np.arange(grid.steps)
  core, weight, first = core[order], grid.weight[order], grid.starts[order].copy()
  first[1:] |= core[1:] != core[:-1]
  last = np.append(first[1:], True)

  steps = grid.steps
  fetch, write, every, stalled = (np.zeros(steps) for _ in range(4))
  first_bytes = last_bytes = 0.0
  need = VmemNeed(scratch=internal_scratch)
  buffers = 2 if kernel.windows else 1
  operand_bytes = [0.0] * len(operands)
  input_windows = len(kernel.windows) - len(results)
  for position, (window, operand) in enumerate(zip(kernel.windows, arrays)):
    argument = argument_types[count + len(prefetch) + position]
    if not window.bounds or argument.space not in ("vmem", "smem", ""):
      continue
    block_type = Type("memref", tuple(window.bounds), argument.element, argument.space)
    if argument.space == "vmem":
      need.windows += window.buffers * padded_bytes(block_type.shape, ITEM_BITS.get(argument.element, 32), chip.sublane_tile)
    indices = _window_indices(kernel, window, grid, prefetched, walker)
    missing_index = next((i for i in indices if isinstance(i, Unknown)), None)
    if missing_index is not None:
      if missing_index.kind == "value":
        walker.missing_used = walker.missing_used or missing_index.reason
      else:
        walker.flags.add("data_dependent_index")
      indices = [0 if isinstance(i, Unknown) else i for i in indices]
    moves = _moves(indices or [0] * len(window.bounds), window, operand, grid, order, first, chip)
    if missing_index is not None and (prefer == "high" or missing_index.kind != "value"):
      moves.arriving = moves.block  # no two steps share a block
    every += moves.block
    if position < input_windows:
      leaving = np.append(moves.arriving[1:], 0.0) * ~last
      if window.buffers == 1:
        stalled += np.where(first, 0.0, moves.arriving)
      else:
        fetch += leaving
      operand_bytes[len(prefetch) + position] = float(np.sum(moves.arriving * weight))
      first_bytes += float(np.max(moves.block[first]))
    else:
      written = np.append(0.0, moves.block[:-1]) * (moves.arriving > 0) * ~first
      write += written
      last_bytes += float(np.max(moves.block[last]))
  scratch_from = len(argument_types) - kernel.scratch
  for argument in argument_types[scratch_from:] if kernel.scratch else []:
    if argument.space == "vmem" and argument.kind == "memref":
      need.scratch += padded_bytes(argument.shape, ITEM_BITS.get(argument.element, 32), chip.sublane_tile)
  if not kernel.windows:
    whole_in, whole_out = _whole_arrays(argument_types[count + len(prefetch):scratch_from], len(results), chip)
    first_bytes, last_bytes = first_bytes + whole_in, last_bytes + whole_out
    need.windows += int(whole_in + whole_out)

  references = [roots[i] for i in range(count, len(argument_types)) if i in roots]
  timeline = _in_order(kernel, grid, order[core == 0], references, walker, initial, (first_bytes, fetch, write, last_bytes)) \
      if kernel.keeps_state and steps > 1 and not grid.sampled else None
  if timeline is None:
    coordinates = [*grid.coordinates] if steps > 1 else [int(c[0]) for c in grid.coordinates]
    walker.run(kernel.body, coordinates + references)
    if any(isinstance(event, Transfer) for event in walker.counts.events):
      edges = (lambda key, size: [Transfer("start", key, size), Transfer("wait", key, 0.0)] if size else [])
      timeline = Timeline([*edges("in", first_bytes), *walker.counts.events, *edges("out", last_bytes)])
  counts = walker.counts
  spread = lambda value: np.broadcast_to(np.asarray(value, float), (steps,))[order]
  work = Work({d: spread(t) for d, t in counts.work.dots.items()}, {n: spread(c) for n, c in counts.work.vector.items()})
  need.temporaries = walker.temporaries
  need.scratch += sum(padded_bytes(shape, ITEM_BITS.get(element, 32), chip.sublane_tile) for shape, element in walker.allocated)
  chained = spread(counts.chained)
  if grid.sampled:
    walker.flags.add("steps_sampled")
  return KernelDescription(
      name=name, count=weight, core=core, cores=cores, fetch_bytes=fetch, write_bytes=write, every_bytes=every, work=work,
      first_bytes=first_bytes, last_bytes=last_bytes, buffers=buffers, chained=bool(np.any(chained > 0)), rounds=np.maximum(chained, 1.0) if timeline is None else 1.0,
      own_dma_bytes=spread(counts.own_dma_bytes), exposed_dma_bytes=spread(counts.exposed_dma_bytes) + stalled,
      own_dma_count=spread(counts.own_dma_count), timeline=timeline, vmem=need, vmem_limit=vmem_limit,
      operand_bytes=operand_bytes,
      flags=walker.flags, absent=walker.absent,
  ), walker.missing_used


def _in_order(kernel: Kernel, grid: _Grid, lanes: np.ndarray, references: list, walker: Walker, initial: dict,
              moves: tuple) -> Timeline | None:
  """Walks one core's steps one after the other, so that scalars and copies carry over. None when there are too many of them, or when a
  value decides that is only known to the device; then every step is taken by itself. Past the walker's budget the steps walked so far stand
  for the rest."""
  if len(lanes) * kernel.body.size > _MAX_ORDERED_OPERATIONS:
    return None
  first_bytes, fetch, write, last_bytes = moves
  single = Walker(1, known=walker.known, missing=walker.missing, initial=initial, bounds=grid.sizes, prefer=walker.prefer)
  single.start(("block", 0), first_bytes)
  single.wait(("block", 0))
  for position, lane in enumerate(lanes):
    if fetch[position]:
      single.start(("block", position + 1), float(fetch[position]))
    single.run_step(kernel.body, [int(c[lane]) for c in grid.coordinates] + references)
    if write[position]:
      single.start(("result", position), float(write[position]))
    if fetch[position]:
      single.wait(("block", position + 1))
    if single.absent:
      return None
    if single.exhausted and position + 1 < len(lanes):
      single.repeat(len(lanes) / (position + 1))
      break
  single.start("last", last_bytes)
  walker.counts.chained = single.counts.chained
  walker.flags |= single.flags
  walker.temporaries, walker.allocated = single.temporaries, single.allocated
  walker.missing_used = walker.missing_used or single.missing_used
  return Timeline(single.counts.events, steps=len(lanes))


def _whole_arrays(types: list[Type], results: int, chip: Chip) -> tuple[float, float]:
  """Bytes of operands and results that live in VMEM as a whole because the call has no grid."""
  size = lambda t: padded_bytes(t.shape, ITEM_BITS.get(t.element, 32), chip.sublane_tile) if t.space == "vmem" else 0
  inputs, outputs = types[:len(types) - results], types[len(types) - results:]
  return float(sum(map(size, inputs))), float(sum(map(size, outputs)))


def absent_kernel(name: str, reason: str) -> KernelDescription:
  zero = np.zeros(1)
  return KernelDescription(name, zero, zero.astype(np.int64), zero, zero, zero, Work(), absent=reason)
