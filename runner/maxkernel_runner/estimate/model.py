"""Seconds from descriptions. Every constant names its source; docs/reference/estimate.md says how far to trust each."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from maxkernel_runner.estimate.chip import Chip
from maxkernel_runner.estimate.description import (
    Dot, ITEM_BITS, KernelDescription, ProgramDescription, Transfer, Work, XlaOperation, round_up)

# Cycles per register for classes of vector work that were fitted on published device times of tuned kernels (tokamax autotuning data,
# v5p and v6e). "fit" constants absorb scheduling and the assumed clock: they are not instruction counts.
FITTED_CYCLES = {
    "accumulate": 1.02,      # read, add, store of an accumulator; fit, prior 1 from one store slot
    "zero": 1.0,             # store of zeros; prior
    "masked_store": 1.85,    # fit, prior 2
    "row_mask": 1.28,        # fit, weakly identified
    "transpose": 1.22,       # fit, weakly identified
    "softmax": 1.03,         # per score register; fit, poorly identified
    "rescale": 0.52,         # per output register of a softmax round; fit, poorly identified
    "row_statistics": 4.45,  # per eight rows of a softmax round; fit, poorly identified
    "causal_mask": 0.87,     # per score register; fit, poor
    "first_step": 2.0,       # per output register, initialisation of a softmax accumulator; set
    "last_step": 2.5,        # per output register, normalisation and store; set
}
# Fitted classes that delay the step instead of overlapping with its matmuls.
SERIAL_CLASSES = frozenset(("causal_mask", "first_step", "last_step"))

# Classes that the tracer counts, as (issue slot, uses of the slot per register). Cycles of a step are those of its busiest slot.
# Slots: four vector ALUs per lane and sublane, one store per cycle ("How to scale your model", chapter on TPUs); one transcendental unit,
# one cross-lane unit, two loads and one scalar operation per cycle are assumptions.
SLOT_WIDTH = {"alu": 4.0, "transcendental": 1.0, "cross_lane": 1.0, "load": 2.0, "store": 1.0, "scalar": 1.0}
TRACED_SLOTS = {
    "alu": (("alu", 1.0),),
    "transcendental": (("transcendental", 1.0), ("alu", 1.0)),
    "cross_lane": (("cross_lane", 1.0),),
    "load": (("load", 1.0),),
    "store": (("store", 1.0),),
    "scalar": (("scalar", 1.0),),
    "unknown": (("alu", 8.0), ("cross_lane", 2.0)),
}
# Before generation 6 the vector unit computes bf16 as two f32 registers with a conversion each way.
_NARROW_ALU_SINCE_GENERATION = 6
_NARROW_EMULATION = 5.0

_FP8_TYPES = frozenset(name for name in ITEM_BITS if name.startswith("f8") or name.startswith("f4"))
_INT_TYPES = frozenset(("i8", "i4", "i2", "ui8", "ui4", "ui2"))


@dataclass(frozen=True)
class Constants:
  matrix_efficiency: float = 0.944   # achievable share of peak; fit, firm
  dma_efficiency: float = 0.845      # achievable share of bandwidth for block copies; fit, moderate
  xla_efficiency: float = 0.98       # the same for XLA's own operations; fit
  lone_core_share: float = 1.6       # bandwidth of one core while its sibling idles, in halves; fit, at its bound
  step_s: float = 0.10e-6            # fixed cost of a grid step; step + dma fitted to a published v5e matmul, split chosen
  dma_s: float = 0.15e-6             # latency of a step that moves data
  call_s: float = 3e-6               # per call of the function; set, not identified
  operation_s: float = 0.5e-6        # per XLA operation around a kernel; set, not identified
  overlap: float = 0.93              # of matrix and vector work in a step; fit
  exposed_round: float = 0.38        # part of one round of a chain that nothing overlaps; fit, poor
  exposed_round_low_pressure: float = 0.32  # the same under the compiler's alternative scheduler; fit, poor


@dataclass(frozen=True)
class Switches:
  """Parts of the model that can be left out, to show what each is worth."""

  fetch_once: bool = True
  overlap_dma: bool = True
  step_cost: bool = True
  vector_work: bool = True
  exposed_round: bool = True
  matrix_padding: bool = True
  vmem_filter: bool = True
  xla_operations: bool = True
  lone_core_bonus: bool = True
  roofline_only: bool = False


@dataclass(frozen=True)
class Model:
  chip: Chip
  constants: Constants = field(default_factory=Constants)
  switches: Switches = field(default_factory=Switches)

  def without(self, *names: str) -> "Model":
    return replace(self, switches=replace(self.switches, **{name: False for name in names}))


@dataclass
class KernelTime:
  seconds: float
  bytes: float
  flops: float
  bound_by: str


def peak_of(dot: Dot, chip: Chip) -> float:
  narrow = {dot.lhs, dot.rhs}
  if narrow <= _INT_TYPES and chip.int8_flops:
    return chip.int8_flops
  if narrow <= _FP8_TYPES and chip.fp8_flops:
    return chip.fp8_flops
  return chip.peak_flops


def matrix_seconds(dot: Dot, model: Model) -> float:
  m, k, n = dot.m, dot.k, dot.n
  if model.switches.matrix_padding:
    edge = model.chip.matrix_edge
    m, k, n = round_up(m, 8), round_up(k, edge), round_up(n, edge)
  return 2.0 * dot.batch * m * k * n * dot.passes / (peak_of(dot, model.chip) * model.constants.matrix_efficiency)


def vector_cycles(work: Work, chip: Chip):
  """Cycles that can overlap with matmuls, and cycles that cannot."""
  fitted = serial = 0.0
  slots = dict.fromkeys(SLOT_WIDTH, 0.0)
  for name, count in work.vector.items():
    if name in SERIAL_CLASSES:
      serial = serial + FITTED_CYCLES[name] * count
      continue
    if name in FITTED_CYCLES:
      fitted = fitted + FITTED_CYCLES[name] * count
      continue
    factor = 1.0
    if name.endswith("_narrow"):
      name = name.removesuffix("_narrow")
      factor = 1.0 if chip.generation >= _NARROW_ALU_SINCE_GENERATION else _NARROW_EMULATION
    for slot, uses in TRACED_SLOTS[name]:
      slots[slot] = slots[slot] + uses * factor * count / SLOT_WIDTH[slot]
  busiest = 0.0
  for cycles in slots.values():
    busiest = np.maximum(busiest, cycles)
  return fitted + busiest, serial


def matrix_and_vector(work: Work, model: Model):
  """Seconds of the matrix unit, of vector work that can overlap with it, and of vector work that cannot."""
  matrix = 0.0
  for dot, times in work.dots.items():
    matrix = matrix + matrix_seconds(dot, model) * times
  if not model.switches.vector_work:
    return matrix, 0.0, 0.0
  vector, serial = vector_cycles(work, model.chip)
  return matrix, vector / model.chip.clock, serial / model.chip.clock


def compute_seconds(work: Work, kernel: KernelDescription, model: Model):
  """Compute time of each class of steps, and its matrix and vector parts."""
  matrix, vector, serial = matrix_and_vector(work, model)
  less = np.minimum(matrix, vector)
  exposed = 1.0 - model.constants.overlap
  if kernel.chained:
    share = model.constants.exposed_round if kernel.exposed is None else kernel.exposed
    exposed = share / np.maximum(kernel.rounds, 1.0) if model.switches.exposed_round else 0.0
  return np.maximum(matrix, vector) + exposed * less + serial, matrix, vector + serial


def _bandwidth(kernel: KernelDescription, model: Model) -> float:
  lone = model.chip.cores > 1 and kernel.cores == 1 and model.switches.lone_core_bonus
  return model.chip.bandwidth * model.constants.dma_efficiency * (model.constants.lone_core_share if lone else 1.0)


def _slowest_core(kernel: KernelDescription, seconds) -> float:
  weighted = np.broadcast_to(kernel.count * seconds, np.shape(kernel.count))
  return float(np.bincount(kernel.core, weights=weighted).max()) if weighted.size else 0.0


def _bound(parts: dict[str, float]) -> str:
  return max(parts, key=parts.get)


def _clocked(kernel: KernelDescription, model: Model) -> KernelTime:
  """A kernel that copies its own data, on one core: one clock for the core, one for the copy queue, one per semaphore."""
  constants, bandwidth, timeline = model.constants, _bandwidth(kernel, model), kernel.timeline
  step_s = constants.step_s if model.switches.step_cost else 0.0
  dma_s = constants.dma_s if model.switches.step_cost else 0.0
  now = step_s * (timeline.steps or 0)
  owed = 0.0  # the fixed cost of a step hides behind nothing, so it is paid after the wait that ends it
  counted = 0.0  # of that cost, what the loop's own scalar operations have taken already
  latency = dma_s  # of the first copy after some computing; the rest follow on its heels
  # Bookkeeping of a loop delays its copies as it delays its computing: then the clocks agree with the closed form of a grid.
  next_latency = dma_s + (step_s if timeline.steps is None else 0.0)
  queue = matrix_total = vector_total = moved = flops = 0.0
  finish: dict[object, float] = {}
  times: dict[int, tuple[float, float, float, float]] = {}
  for event in timeline.events:
    if isinstance(event, Transfer):
      if event.kind == "start":
        queue = max(now, queue) + latency + event.transferred / bandwidth
        latency = 0.0
        finish[event.key] = queue
        moved += event.transferred
        if not model.switches.overlap_dma:
          now = finish[event.key]
      else:
        now = max(now, finish.get(event.key, now)) + owed
        owed = 0.0
      continue
    if id(event) not in times:
      times[id(event)] = (*map(float, compute_seconds(event, kernel, model)), float(event.flops()))
    compute, matrix, vector, own_flops = times[id(event)]
    now += compute
    if event.dots or event.vector.keys() - {"scalar"}:
      latency = next_latency
      owed += max(0.0, step_s - counted) if timeline.steps is None else 0.0
      counted = 0.0
    else:
      counted += compute
    matrix_total, vector_total, flops = matrix_total + matrix, vector_total + vector, flops + own_flops
  seconds = max([now, *finish.values()]) + owed
  parts = {"matrix": matrix_total, "vector": vector_total, "memory": moved / bandwidth}
  return KernelTime(seconds, moved * kernel.cores, flops * kernel.cores, _bound(parts))


def kernel_time(kernel: KernelDescription, model: Model) -> KernelTime:
  if kernel.timeline is not None:
    return _clocked(kernel, model)
  constants, switches = model.constants, model.switches
  bandwidth = _bandwidth(kernel, model)
  step_s = constants.step_s if switches.step_cost else 0.0
  dma_s = constants.dma_s if switches.step_cost else 0.0
  compute, matrix, vector = compute_seconds(kernel.work, kernel, model)
  blocks = kernel.fetch_bytes + kernel.write_bytes if switches.fetch_once else kernel.every_bytes
  moved = blocks + kernel.own_dma_bytes
  exposed = kernel.exposed_dma_bytes
  copy = np.where(moved > 0, dma_s + moved / bandwidth, 0.0)
  stalled = np.where(np.asarray(exposed) > 0, dma_s + exposed / bandwidth, 0.0)
  busy = np.maximum(compute, copy) if switches.overlap_dma else compute + copy
  total = _slowest_core(kernel, busy + stalled + step_s)
  edges = kernel.first_bytes + kernel.last_bytes
  all_bytes = float(np.sum(kernel.count * (moved + exposed))) + edges
  if switches.roofline_only:
    flops = float(np.sum(kernel.count * kernel.work.flops()))
    seconds = max(flops / (model.chip.peak_flops * kernel.cores), all_bytes / (model.chip.bandwidth * kernel.cores))
    return KernelTime(seconds, all_bytes, flops, "memory")
  if kernel.buffers > 2:
    unbounded = max(_slowest_core(kernel, compute), _slowest_core(kernel, moved / bandwidth))
    unbounded += _slowest_core(kernel, stalled + step_s)
    total -= max(0.0, total - unbounded) * (1.0 - 1.0 / (kernel.buffers - 1))
  elif kernel.buffers < 2:
    total = _slowest_core(kernel, compute + copy + stalled + step_s)
  total += edges / bandwidth + dma_s * ((kernel.first_bytes > 0) + (kernel.last_bytes > 0))
  parts = {
      "matrix": _slowest_core(kernel, matrix),
      "vector": _slowest_core(kernel, vector),
      "memory": _slowest_core(kernel, (moved + exposed) / bandwidth),
      "overhead": _slowest_core(kernel, step_s + np.where(moved > 0, dma_s, 0.0)),
  }
  return KernelTime(total, all_bytes, float(np.sum(kernel.count * kernel.work.flops())), _bound(parts))


def xla_seconds(operation: XlaOperation, model: Model) -> float:
  chip = model.chip
  memory = (operation.read_bytes + operation.write_bytes) / (chip.bandwidth_of_device * model.constants.xla_efficiency)
  matrix, vector, serial = matrix_and_vector(operation.work, model)
  return max(memory, float(matrix) / chip.cores, float(vector + serial) / chip.cores)


def fits(kernel: KernelDescription, chip: Chip) -> bool:
  limit = chip.vmem_limit if kernel.vmem_limit is None else min(kernel.vmem_limit, chip.vmem_capacity)
  return kernel.vmem.total <= limit


def program_seconds(program: ProgramDescription, model: Model) -> float:
  """Time of one call. Never below the roofline of the program's own counted work."""
  seconds = model.constants.call_s
  for kernel in program.kernels:
    seconds += kernel_time(kernel, model).seconds * kernel.times
  if model.switches.xla_operations:
    for operation in program.operations:
      seconds += (xla_seconds(operation, model) + model.constants.operation_s) * operation.times
  return max(seconds, floor_seconds(program, model))


def _peak_seconds(work: Work, count, chip: Chip) -> float:
  return sum(float(np.sum(count * times)) * dot.flops / peak_of(dot, chip) for dot, times in work.dots.items()) / chip.cores


def floor_seconds(program: ProgramDescription, model: Model) -> float:
  """No device does the counted matmuls above its peak, or reads its inputs and writes its outputs above its bandwidth."""
  chip = model.chip
  matrix = sum(_peak_seconds(o.work, o.times, chip) for o in program.operations)
  for kernel in program.kernels:
    if kernel.timeline is not None:
      matrix += kernel.times * kernel.cores * sum(_peak_seconds(e, 1.0, chip) for e in kernel.timeline.events if isinstance(e, Work))
    else:
      matrix += kernel.times * _peak_seconds(kernel.work, kernel.count, chip)
  return max(matrix, program.floor_bytes / chip.bandwidth_of_device)
