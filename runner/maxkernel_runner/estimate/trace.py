"""A decoded kernel and the values of its scalar operands, turned into a KernelDescription."""

from __future__ import annotations

import numpy as np

from maxkernel_runner.estimate.chip import Chip
from maxkernel_runner.estimate.description import ITEM_BITS, KernelDescription, Timeline, Transfer, VmemNeed, Work, padded_bytes
from maxkernel_runner.estimate.grid import Grid, Order, make_grid, order_of
from maxkernel_runner.estimate.mosaic import DYNAMIC, Kernel, Type
from maxkernel_runner.estimate.values import whole
from maxkernel_runner.estimate.walk import Walker
from maxkernel_runner.estimate.windows import Operand, Traffic, traffic_of

# Operations up to which the steps of a kernel that keeps state are walked in order.
_MAX_ORDERED_OPERATIONS = 100_000


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
  grid = make_grid(sizes)
  if grid.steps == 0:
    return absent_kernel(name, "the grid has no steps"), ""
  order = order_of(grid, kernel.semantics, chip)
  types, count = kernel.body.argument_types, len(sizes)
  known, missing, initial = _scalar_memory(kernel, operands, count)
  walker = Walker(grid.steps, known=known, missing=missing, initial=initial, bounds=sizes, prefer=prefer)
  references = [whole(i, kind) for i, kind in enumerate(types) if kind.kind == "memref"]
  prefetched = references[:kernel.scalar_prefetch]
  traffic = traffic_of(kernel, operands[kernel.scalar_prefetch:] + results, len(results), count + kernel.scalar_prefetch, grid, order,
                       prefetched, walker, chip)
  if not kernel.windows:
    _add_whole_arrays(traffic, types[count + kernel.scalar_prefetch:len(types) - kernel.scratch], len(results), chip)
  timeline = _walk(kernel, grid, order, references, walker, initial, traffic)
  counts = walker.counts
  chained = order.spread(counts.chained)
  operand_bytes = [traffic.operand_bytes.get(i - kernel.scalar_prefetch, 0.0) for i in range(len(operands))]
  return KernelDescription(
      name=name, count=order.weight, core=order.core, cores=order.cores, fetch_bytes=traffic.fetch, write_bytes=traffic.write,
      every_bytes=traffic.every, work=Work({d: order.spread(t) for d, t in counts.work.dots.items()},
                                           {n: order.spread(c) for n, c in counts.work.vector.items()}),
      first_bytes=traffic.first_bytes, last_bytes=traffic.last_bytes, buffers=2 if kernel.windows else 1,
      chained=bool(np.any(chained > 0)), rounds=np.maximum(chained, 1.0) if timeline is None else 1.0,
      own_dma_bytes=order.spread(counts.own_dma_bytes), exposed_dma_bytes=order.spread(counts.exposed_dma_bytes) + traffic.stalled,
      timeline=timeline, vmem=_memory(kernel, traffic, walker, internal_scratch, chip), vmem_limit=vmem_limit, operand_bytes=operand_bytes,
      flags=walker.flags, absent=walker.absent,
  ), walker.missing_used


def _walk(kernel: Kernel, grid: Grid, order: Order, references: list, walker: Walker, initial: dict, traffic: Traffic) -> Timeline | None:
  """Counts the body's work. A kernel that copies its own data, or keeps scalars from step to step, gets a timeline instead."""
  if grid.sampled:
    walker.flags.add("steps_sampled")
  elif kernel.keeps_state and grid.steps > 1:
    timeline = _in_order(kernel, grid, order.lanes[order.core == 0], references, walker, initial, traffic)
    if timeline is not None:
      return timeline
  coordinates = [*grid.coordinates] if grid.steps > 1 else [int(c[0]) for c in grid.coordinates]
  walker.run(kernel.body, coordinates + references)
  if not any(isinstance(event, Transfer) for event in walker.counts.events):
    return None
  edges = lambda key, size: [Transfer("start", key, size), Transfer("wait", key, 0.0)] if size else []
  return Timeline([*edges("in", traffic.first_bytes), *walker.counts.events, *edges("out", traffic.last_bytes)])


def _memory(kernel: Kernel, traffic: Traffic, walker: Walker, internal_scratch: int, chip: Chip) -> VmemNeed:
  size = lambda shape, element: padded_bytes(shape, ITEM_BITS.get(element, 32), chip.sublane_tile)
  types = kernel.body.argument_types
  scratch = [t for t in types[len(types) - kernel.scratch:] if t.space == "vmem" and t.kind == "memref"]
  held = sum(size(t.shape, t.element) for t in scratch) + sum(size(*allocated) for allocated in walker.allocated)
  return VmemNeed(windows=traffic.memory, scratch=internal_scratch + held, temporaries=walker.temporaries)


def _in_order(kernel: Kernel, grid: Grid, lanes: np.ndarray, references: list, walker: Walker, initial: dict,
              traffic: Traffic) -> Timeline | None:
  """Walks one core's steps one after the other, so that scalars and copies carry over. None when there are too many of them, or when a
  value decides that is only known to the device; then every step is taken by itself. Past the walker's budget the steps walked so far stand
  for the rest."""
  if len(lanes) * kernel.body.size > _MAX_ORDERED_OPERATIONS:
    return None
  fetch, write = traffic.fetch, traffic.write
  single = Walker(1, known=walker.known, missing=walker.missing, initial=initial, bounds=grid.sizes, prefer=walker.prefer)
  single.start(("block", 0), traffic.first_bytes)
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
  single.start("last", traffic.last_bytes)
  walker.counts.chained = single.counts.chained
  walker.flags |= single.flags
  walker.temporaries, walker.allocated = single.temporaries, single.allocated
  walker.missing_used = walker.missing_used or single.missing_used
  return Timeline(single.counts.events, steps=len(lanes))


def _add_whole_arrays(traffic: Traffic, types: list[Type], results: int, chip: Chip) -> None:
  """Operands and results that live in VMEM as a whole because the call has no grid."""
  size = lambda t: padded_bytes(t.shape, ITEM_BITS.get(t.element, 32), chip.sublane_tile) if t.space == "vmem" else 0
  inputs = sum(map(size, types[:len(types) - results]))
  outputs = sum(map(size, types[len(types) - results:]))
  traffic.first_bytes += inputs
  traffic.last_bytes += outputs
  traffic.memory += inputs + outputs


def absent_kernel(name: str, reason: str) -> KernelDescription:
  zero = np.zeros(1)
  return KernelDescription(name, zero, zero.astype(np.int64), zero, zero, zero, Work(), absent=reason)
