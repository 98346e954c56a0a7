"""Counts the work of a kernel body for all grid steps at once.

A scalar is a Python number or, where it differs between steps, an array with one entry per step. Vectors and memories are shapes only.
Conditions on known scalars are evaluated per step; the rest follows the dearer branch and says so.
"""

from __future__ import annotations

from dataclasses import dataclass, field
import re

import numpy as np

from maxkernel_runner.estimate.description import ITEM_BITS, Transfer, Work, registers, round_up
from maxkernel_runner.estimate.mosaic import Block, Function, Operation
from maxkernel_runner.estimate.operations import (
    ALU, CONVERSIONS, CROSS_LANE, FREE, LOADS, REMOTE, STORES, TRANSCENDENTAL, TRANSPOSE_CYCLES, dot_of, passes_of)
from maxkernel_runner.estimate.values import (
    COMPARE, COMPARE_NAMES, SCALAR_OPERATIONS, Reference, Unknown, Vector, constant_of, first_unknown, freeze, merge, plain, product, same,
    whole)

# Operations walked before what was walked of a loop stands for the rest.
_BUDGET = 100_000
_MAX_EVENTS = 400_000
# Scalar operations to start a copy and to wait for one; set, so that very many small copies are not free.
_START_OPERATIONS, _WAIT_OPERATIONS = 20.0, 10.0


@dataclass
class Counts:
  work: Work = field(default_factory=Work)
  chained: object = 0.0
  own_dma_bytes: object = 0.0
  exposed_dma_bytes: object = 0.0
  events: list = field(default_factory=list)
  pending: Work = field(default_factory=Work)  # work since the last event


class Walker:
  """Walks one body for `lanes` steps. `prefer` decides conditions on missing values: "high" takes the dearer branch, "low" the cheaper."""

  def __init__(self, lanes: int, *, known: dict[int, np.ndarray] | None = None, missing: dict[int, str] | None = None,
               initial: dict[int, np.ndarray] | None = None, bounds: tuple = (), prefer: str = "high"):
    self.lanes = lanes
    self.known = known or {}  # root -> values of scalar memory
    self.missing = missing or {}  # root -> why its values are not known
    self.initial = dict(initial or {}) if lanes == 1 else {}  # root -> values of scalar memory that the kernel writes later
    self.bounds = bounds
    self.prefer = prefer
    self.environment: dict[int, object] = {}
    self.weight: float | np.ndarray = 1.0
    self.counts = Counts()
    self.flags: set[str] = set()
    self.absent = ""
    self.missing_used = ""  # the reason of a missing value that decided something
    self.clocked = lanes == 1
    self.spent = 0
    self.scratch_scalars: dict[tuple, object] = {}
    self.tainted: set[int] = set()  # memories that hold what came from a matmul
    self.temporaries = 0
    self.allocated: list[tuple[tuple[int, ...], str]] = []  # shapes and types of VMEM that the body allocates
    self.transfer_started: dict[object, tuple[int, object]] = {}  # semaphore -> how much work came before, in which steps
    self.serial = 0

  # -- recording

  def _vector(self, name: str, count: float) -> None:
    if count:
      self.serial += 1
      target = self.counts.pending if self.clocked else self.counts.work
      target.add_vector(name, count * self.weight)

  def _alu(self, vector: Vector, uses: float) -> None:
    if uses:
      self._vector("alu_narrow" if vector.bits < 32 else "alu", uses * vector.distinct())

  def start(self, key: object, transferred: float) -> None:
    """A copy of the pipeline around the body."""
    self._flush()
    self.counts.events.append(Transfer("start", key, transferred))

  def wait(self, key: object) -> None:
    self._flush()
    self.counts.events.append(Transfer("wait", key, 0.0))

  def _flush(self) -> None:
    pending = self.counts.pending
    if pending.dots or pending.vector:
      self.counts.events.append(pending)
      self.counts.pending = Work()

  # -- running

  def run(self, function: Function, arguments: list) -> list:
    self._begin(function)
    self.environment.update(zip(function.block.arguments, arguments))
    results = self._block(function.block)
    if self.clocked:
      self._finish()
    return results

  def run_step(self, function: Function, arguments: list) -> None:
    """One of several grid steps in order: scalar memory and copies under way carry over, the events add up."""
    self._begin(function)
    self.environment.update(zip(function.block.arguments, arguments))
    self._block(function.block)
    self._flush()

  def repeat(self, times: float) -> None:
    """Lets everything walked so far stand for `times` as much."""
    self.flags.add("loop_extrapolated")
    walked, self.counts = self.counts, Counts()
    self._join(walked, times)

  @property
  def exhausted(self) -> bool:
    return self.spent > _BUDGET

  def _begin(self, function: Function) -> None:
    if not self.environment:
      self.environment.update((op.results[0], constant_of(op)) for op in function.constants)

  def _finish(self) -> None:
    transfers = any(isinstance(event, Transfer) for event in self.counts.events)
    if transfers:
      self._flush()
      return
    merged = self.counts.pending
    for event in self.counts.events:
      for dot, times in event.dots.items():
        merged.add_dot(dot, times)
      for name, count in event.vector.items():
        merged.add_vector(name, count)
    self.counts.work, self.counts.pending, self.counts.events = merged, Work(), []

  def _block(self, block: Block, results: bool = True) -> list:
    environment = self.environment
    scalars = 0
    for op in block.operations:
      self.spent += 1
      name = op.name
      if op.result_types and op.result_types[0].kind == "scalar" and len(op.result_types) == 1 and not op.regions:
        scalars += 1
        environment[op.results[0]] = self._scalar(op)
        continue
      handler = _HANDLERS.get(name)
      if handler is not None:
        handler(self, op)
      else:
        self._other(op)
    if scalars:
      self._vector("scalar", scalars)
    return [environment[value] for value in block.results if value in environment]

  # -- scalars

  def _scalar(self, op: Operation):
    values = [self.environment.get(operand) for operand in op.operands]
    name = op.name
    if name == "memref.load":
      return self._load_scalar(values[0], values[1:])
    if name == "tpu.iteration_bound":
      return self.bounds[int(op.attributes.get("dim", 0))] if self.bounds else Unknown("data", name)
    if name == "tpu.core_id" or name == "tpu.subcore_id":
      return 0
    if name in ("vector.extract", "vector.extractelement", "vector.reduction"):
      source = values[0] if isinstance(values[0], Vector) else None
      if source is not None and product(source.shape) > 1:
        self._alu(source, 1.0)
        self._vector("cross_lane", 2.0)
      self._vector("scalar", 8.0)
      return Unknown("data", "a value computed by the kernel")
    unknown = first_unknown(*values)
    if name == "arith.select":
      if unknown is None:
        return plain(np.where(values[0], values[1], values[2]))
      if not isinstance(values[0], (Unknown, np.ndarray)):
        return values[1] if values[0] else values[2]
      return unknown
    if unknown is not None:
      return unknown
    if any(not isinstance(v, (int, float, bool, np.ndarray, np.generic)) for v in values):
      return Unknown("data", name)
    if name == "arith.cmpi":
      predicate = op.attributes.get("predicate", 0)
      number = predicate if isinstance(predicate, int) else COMPARE_NAMES[re.sub(r"\W", "", str(predicate))]
      return plain(COMPARE[number](values[0], values[1]))
    function = SCALAR_OPERATIONS.get(name)
    if function is None:
      if name not in ("tpu.device_id", "tpu.sem_read", "arith.cmpf", "arith.divf") and not name.startswith("math."):
        self.flags.add(f"unknown_op:{name}")
      return Unknown("data", name)
    try:
      return plain(function(*values))
    except (TypeError, ValueError, OverflowError):
      return Unknown("data", name)

  def _load_scalar(self, reference: Reference, indices: list):
    index = list(reference.offsets)
    for dimension, value in zip(reference.kept, indices):
      base = index[dimension]
      if isinstance(value, Unknown) or isinstance(base, Unknown):
        index[dimension] = first_unknown(value, base)
      else:
        index[dimension] = base + value
    unknown = first_unknown(*index)
    if unknown is not None:
      return unknown
    root = reference.root
    if root in self.known:
      values = self.known[root]
      place = tuple(np.clip(i, 0, size - 1) for i, size in zip(index, values.shape))
      return plain(values[place].astype(np.int64) if values.dtype.kind in "biu" else values[place])
    if root in self.missing:
      return Unknown("value", self.missing[root])
    key = (root, tuple(map(freeze, index)))
    if key not in self.scratch_scalars and root in self.initial:
      values = self.initial[root]
      return plain(values[tuple(np.clip(i, 0, size - 1) for i, size in zip(index, values.shape))])
    return self.scratch_scalars.get(key, Unknown("data", "scalar memory that the kernel writes"))

  def _store_scalar(self, op: Operation) -> None:
    value, reference = self.environment.get(op.operands[0]), self.environment[op.operands[1]]
    self._vector("scalar", 1.0)
    index = [self.environment.get(operand) for operand in op.operands[2:]]
    if first_unknown(*index, *reference.offsets) is not None:
      self.scratch_scalars = {k: v for k, v in self.scratch_scalars.items() if k[0] != reference.root}
      self.initial.pop(reference.root, None)
      return
    place = list(reference.offsets)
    for dimension, i in zip(reference.kept, index):
      place[dimension] = place[dimension] + i
    key = (reference.root, tuple(map(freeze, place)))
    if isinstance(self.weight, np.ndarray) and not isinstance(value, Unknown):
      old = self.scratch_scalars.get(key, Unknown("data", "scalar memory that the kernel writes"))
      value = old if isinstance(old, Unknown) else np.where(self.weight > 0, value, old)
    self.scratch_scalars[key] = value

  # -- control

  def _with_weight(self, factor, block: Block) -> list:
    saved = self.weight
    self.weight = saved * factor
    try:
      return self._block(block)
    finally:
      self.weight = saved

  def _if(self, op: Operation) -> None:
    condition = self.environment.get(op.operands[0])
    branches = [blocks[0] if blocks else None for blocks in op.regions]
    run = lambda block, factor: self._with_weight(factor, block) if block is not None and block.operations else []
    if isinstance(condition, Unknown) or condition is None:
      results = self._fork(condition or Unknown("data"), branches)
    elif isinstance(condition, np.ndarray):
      active = np.broadcast_to(np.asarray(self.weight) > 0, condition.shape)
      if np.all(condition[active]):
        results = run(branches[0], 1.0)
      elif not np.any(condition[active]):
        results = run(branches[1] if len(branches) > 1 else None, 1.0)
      else:
        first = run(branches[0], condition.astype(float))
        second = run(branches[1] if len(branches) > 1 else None, 1.0 - condition)
        results = [merge(condition, a, b) for a, b in zip(first, second)]
    else:
      results = run(branches[0] if condition else (branches[1] if len(branches) > 1 else None), 1.0)
    self.environment.update(zip(op.results, results))

  def _fork(self, condition: Unknown, branches: list[Block | None]) -> list:
    dearer = True
    if condition.kind == "value":
      self.missing_used = self.missing_used or condition.reason
      dearer = self.prefer == "high"
    else:
      self.flags.add("data_dependent_condition")
    base, outcomes = self.counts, []
    scratch = dict(self.scratch_scalars)
    for block in branches:
      self.counts = Counts()
      self.scratch_scalars = dict(scratch)
      results = self._block(block) if block is not None and block.operations else []
      if self.clocked:
        self._flush()
      outcomes.append((_cost_proxy(self.counts), self.counts, results))
    self.counts = base
    self.scratch_scalars = {k: v for k, v in scratch.items() if self.scratch_scalars.get(k) is v}
    self.initial = {}
    chosen = (max if dearer else min)(outcomes, key=lambda outcome: outcome[0])
    self._join(chosen[1])
    if len(outcomes) == 2 and outcomes[0][2] and outcomes[1][2]:
      return [a if isinstance(a, (Vector, Reference)) else (a if same(a, b) else condition)
              for a, b in zip(outcomes[0][2], outcomes[1][2])]
    return chosen[2]

  def _join(self, counts: Counts, times=1.0) -> None:
    mine = self.counts
    for dot, count in counts.work.dots.items():
      mine.work.add_dot(dot, count * times)
    for name, count in counts.work.vector.items():
      mine.work.add_vector(name, count * times)
    mine.chained = mine.chained + counts.chained * times
    mine.own_dma_bytes = mine.own_dma_bytes + counts.own_dma_bytes * times
    mine.exposed_dma_bytes = mine.exposed_dma_bytes + counts.exposed_dma_bytes * times
    if not self.clocked:
      return
    self._flush()
    times = float(np.max(times))
    whole_times, part = int(times), times - int(times)
    if len(counts.events) * times + len(mine.events) > _MAX_EVENTS:
      self.absent = self.absent or f"the kernel's own loop has more than {_MAX_EVENTS} events"
      whole_times, part = 0, 0.0
    mine.events.extend(counts.events * whole_times)
    mine.events.extend(counts.events[:round(len(counts.events) * part)])
    for dot, count in counts.pending.dots.items():
      mine.pending.add_dot(dot, count * times)
    for name, count in counts.pending.vector.items():
      mine.pending.add_vector(name, count * times)

  def _for(self, op: Operation) -> None:
    low, high, step = (self.environment.get(operand) for operand in op.operands[:3])
    carried = [self.environment.get(operand) for operand in op.operands[3:]]
    block = op.regions[0][0]
    unknown = first_unknown(low, high, step)
    if unknown is not None:
      trips = self._missing_trips(unknown)
      self._counted(op, block, trips, carried)
      return
    trips = plain(np.maximum(0, -(-(np.asarray(high) - low) // np.maximum(step, 1))))
    if not op.repeats:
      self._counted(op, block, trips, carried)
      return
    most = int(np.max(trips)) if isinstance(trips, np.ndarray) else int(trips)
    outer, self.counts = self.counts, Counts()
    if self.clocked:
      self.counts.pending, outer.pending = outer.pending, Work()
    done = 0
    for done in range(1, most + 1):
      i = done - 1
      active = (i < trips).astype(float) if isinstance(trips, np.ndarray) else 1.0
      self.environment[block.arguments[0]] = low + i * step
      self.environment.update(zip(block.arguments[1:], carried))
      results = self._with_weight(active, block)
      carried = [merge(i < trips, a, b) for a, b in zip(results, carried)] if isinstance(trips, np.ndarray) else results
      if self.spent > _BUDGET:
        break
    walked, self.counts = self.counts, outer
    self._join(walked, 1)
    if done < most:
      self.flags.add("loop_extrapolated")
      remaining = np.maximum(np.asarray(trips) - done, 0) / done
      self._join(walked, remaining if isinstance(trips, np.ndarray) else float(remaining))
      carried = [value if isinstance(value, (Vector, Reference)) else Unknown("loop") for value in carried]
    self.environment.update(zip(op.results, carried))

  def _missing_trips(self, unknown: Unknown) -> float:
    if unknown.kind == "value":
      self.missing_used = self.missing_used or unknown.reason
      self.absent = self.absent or f"a loop's length needs {unknown.reason}"
    elif unknown.kind == "data":
      self.absent = self.absent or "a loop's length depends on data that only the device knows"
    return 1.0

  def _counted(self, op: Operation, block: Block, trips, carried: list) -> None:
    """A body that costs the same in every iteration: walked once, multiplied."""
    self.environment[block.arguments[0]] = Unknown("loop", "a loop counter")
    start = [value if isinstance(value, (Vector, Reference)) else Unknown("loop", "carried by a loop") for value in carried]
    self.environment.update(zip(block.arguments[1:], start))
    results = self._with_weight(np.asarray(trips, float) if isinstance(trips, np.ndarray) else float(trips), block)
    results = [value if isinstance(value, (Vector, Reference)) else Unknown("loop", "carried by a loop") for value in results]
    self.environment.update(zip(op.results, results or carried))

  def _while(self, op: Operation) -> None:
    before, after = op.regions[0][0], op.regions[1][0]
    carried = [self.environment.get(operand) for operand in op.operands]
    saved = self.weight
    forwarded: list = []
    for _ in range(1_000_000):
      self.environment.update(zip(before.arguments, carried))
      self._block(before)
      condition = self.environment.get(before.results[0])
      values = [self.environment.get(value) for value in before.results[1:]]
      if isinstance(condition, np.ndarray):
        forwarded = [merge(np.asarray(self.weight) > 0, a, b) for a, b in zip(values, forwarded)] if forwarded else values
        self.weight = self.weight * condition
        if not np.any(self.weight):
          break
      else:
        forwarded = values
        if isinstance(condition, Unknown) or condition is None:
          self._missing_trips(condition if isinstance(condition, Unknown) else Unknown("data"))
        elif not condition:
          break
      self.environment.update(zip(after.arguments, values))
      carried = self._block(after)
      if isinstance(condition, Unknown) or condition is None:
        break
      if self.spent > 4 * _BUDGET:
        self.absent = self.absent or "a while loop is too long to be walked"
        break
    self.weight = saved
    self.environment.update(zip(op.results, forwarded))

  def _region(self, op: Operation) -> None:
    for blocks in op.regions:
      for block in blocks:
        self.environment.update(zip(op.results, self._block(block)))

  def _switch(self, op: Operation) -> None:
    branches = [blocks[0] for blocks in op.regions if blocks]
    results = self._fork(Unknown("data"), branches)
    self.environment.update(zip(op.results, results))

  # -- memory

  def _allocate(self, op: Operation) -> None:
    kind = op.result_types[0]
    reference = whole(-1 - op.results[0], kind)
    if kind.space == "vmem" and op.results[0] not in self.environment:
      self.allocated.append((kind.shape, kind.element))
    self.environment[op.results[0]] = reference

  def _slice(self, op: Operation) -> None:
    source: Reference = self.environment[op.operands[0]]
    offsets = list(source.offsets)
    for dimension, operand in zip(source.kept, op.operands[1:]):
      value = self.environment.get(operand)
      base = offsets[dimension]
      offsets[dimension] = first_unknown(value, base) if first_unknown(value, base) is not None else base + value
    kind = op.result_types[0]
    self.environment[op.results[0]] = Reference(source.root, kind.shape, kind.element, source.space, offsets, list(source.kept))

  def _squeeze(self, op: Operation) -> None:
    source: Reference = self.environment[op.operands[0]]
    kind = op.result_types[0]
    kept, remaining = [], list(kind.shape)
    for dimension, size in zip(source.kept, source.shape):
      if remaining and size == remaining[0] and not (size == 1 and len(source.shape) - len(kept) > len(remaining) + len(kept)):
        kept.append(dimension)
        remaining.pop(0)
    if remaining or op.name != "tpu.memref_squeeze":
      kept = source.kept[-len(kind.shape):] if kind.shape else []
    self.environment[op.results[0]] = Reference(source.root, kind.shape, kind.element, source.space, list(source.offsets), kept)

  def _load(self, op: Operation) -> None:
    kind = op.result_types[0]
    source = self.environment.get(op.operands[0])
    vector = Vector(kind.shape, kind.element)
    if isinstance(source, Reference):
      vector.from_dot = source.root in self.tainted
    factor = 2.0 if "strided" in op.name or "shuffled" in op.name else 1.0
    self._vector("load", registers(kind.shape, vector.bits) * factor)
    self.environment[op.results[0]] = vector

  def _store(self, op: Operation) -> None:
    value = next((v for v in map(self.environment.get, op.operands) if isinstance(v, Vector)), None)
    target = next((v for v in map(self.environment.get, op.operands) if isinstance(v, Reference)), None)
    if value is None:
      self._vector("scalar", 1.0)
      return
    self._vector("store", registers(value.shape, value.bits) * (2.0 if "strided" in op.name or "shuffled" in op.name else 1.0))
    if value.from_dot and target is not None:
      self.tainted.add(target.root)

  def _start(self, op: Operation) -> None:
    references = [self.environment.get(operand) for operand in op.operands]
    segments = op.attributes.get("operandSegmentSizes")
    memories = [r for r in references if isinstance(r, Reference) and "semaphore" not in r.element]
    semaphores = [r for r in references if isinstance(r, Reference) and "semaphore" in r.element]
    if segments and len(segments) >= 5 and any(segments[4:]):
      self.absent = self.absent or "the kernel copies to another device"
    if "indirect" in op.name:
      self.absent = self.absent or "the kernel uses indirect copies"
    transferred = _copied_bytes(memories)
    key = semaphores[-1].key() if semaphores else "none"
    self._vector("scalar", _START_OPERATIONS)
    self.flags.add("own_copies")
    if self.clocked:
      self._flush()
      if self.weight == 1.0:
        self.counts.events.append(Transfer("start", key, transferred))
      return
    self.transfer_started[key] = self.serial, self.weight
    self.counts.own_dma_bytes = self.counts.own_dma_bytes + transferred * self.weight

  def _wait(self, op: Operation) -> None:
    references = [self.environment.get(operand) for operand in op.operands]
    semaphore = next((r for r in references if isinstance(r, Reference) and "semaphore" in r.element), None)
    key = semaphore.key() if semaphore is not None else "none"
    before = self.serial
    if self.clocked:
      self._flush()
      self.counts.events.append(Transfer("wait", key, 0.0))
    elif key in self.transfer_started:
      started, where = self.transfer_started.pop(key)
      work_between = before - started
      memories = [r for r in references if isinstance(r, Reference) and "semaphore" not in r.element]
      if work_between <= 4:  # nothing but the bookkeeping of the copy itself
        moved = _copied_bytes(memories) * np.minimum(self.weight, where)
        self.counts.exposed_dma_bytes = self.counts.exposed_dma_bytes + moved
        self.counts.own_dma_bytes = self.counts.own_dma_bytes - moved
    self._vector("scalar", _WAIT_OPERATIONS)

  def _signal(self, op: Operation) -> None:
    self.flags.add("semaphores")
    self._vector("scalar", 20.0)
    if REMOTE.search(op.name):
      self.absent = self.absent or "the kernel synchronises with other devices"

  # -- vectors

  def _inputs(self, op: Operation) -> list[Vector]:
    return [v for v in map(self.environment.get, op.operands) if isinstance(v, Vector)]

  def _result(self, op: Operation, **changes) -> Vector:
    kind = op.result_types[0]
    inputs = self._inputs(op)
    vector = Vector(kind.shape, kind.element, rows=any(v.rows for v in inputs), lanes=any(v.lanes for v in inputs),
                    from_dot=any(v.from_dot for v in inputs))
    for name, value in changes.items():
      setattr(vector, name, value)
    self.environment[op.results[0]] = vector
    return vector

  def _elementwise(self, op: Operation) -> None:
    vector = self._result(op)
    widest = vector
    if op.name in ("arith.cmpf", "arith.cmpi"):
      source = self._inputs(op)[0]
      widest = Vector(source.shape, source.element, rows=vector.rows, lanes=vector.lanes)
    uses = ALU[op.name]
    if op.name == "tpu.reciprocal" and not op.attributes.get("approx", False):
      uses = 4.0
    self._alu(widest, uses)
    special = TRANSCENDENTAL.get(op.name)
    if special:
      suffix = "_narrow" if widest.bits < 32 else ""
      self._vector("transcendental" + suffix, special * widest.distinct())

  def _convert(self, op: Operation) -> None:
    vector = self._result(op)
    self._vector("alu", vector.distinct(32))

  def _free(self, op: Operation) -> None:
    for result, kind in zip(op.results, op.result_types):
      if kind.kind == "vector":
        self._result(op)
      elif kind.kind == "memref":
        self.environment[result] = self.environment.get(op.operands[0])
      else:
        self.environment[result] = Unknown("data", op.name)

  def _broadcast(self, op: Operation) -> None:
    kind = op.result_types[0]
    source = self.environment.get(op.operands[0])
    if not isinstance(source, Vector):
      self.environment[op.results[0]] = Vector(kind.shape, kind.element, rows=False, lanes=False)
      return
    lanes = source.lanes and bool(source.shape) and source.shape[-1] > 1
    rows = source.rows and len(source.shape) > 1 and source.shape[-2] > 1
    vector = self._result(op, rows=rows, lanes=lanes)
    if source.shape and source.shape[-1] == 1 and kind.shape[-1] > 1 and source.rows:
      self._vector("cross_lane", vector.distinct())
    elif rows != source.rows:
      self._alu(vector, 1.0)

  def _shape_cast(self, op: Operation) -> None:
    source, kind = self._inputs(op)[0], op.result_types[0]
    squeezed = [size for size in source.shape if size != 1]
    same = squeezed == [size for size in kind.shape if size != 1]
    minor = source.shape[-1:] == kind.shape[-1:]
    tile = 8 * max(1, 32 // source.bits)
    rows = lambda shape: shape[-2] if len(shape) > 1 else 1
    aligned = minor and rows(source.shape) % tile == 0 and rows(kind.shape) % tile == 0
    vector = self._result(op)
    if source.shape[-2:] != kind.shape[-2:]:
      vector.rows = vector.lanes = True
    if not (same or aligned) and product(source.shape) > 1:
      self.flags.add("relayout")
      self._vector("cross_lane", 2.0 * vector.distinct())

  def _reduce(self, op: Operation) -> None:
    source, kind = self._inputs(op)[0], op.result_types[0]
    dims = op.attributes.get("reduction_dims") or op.attributes.get("dims") or op.attributes.get("dim") or [len(source.shape) - 1]
    dims = [dims] if isinstance(dims, int) else [int(d) for d in (re.findall(r"-?\d+", dims) if isinstance(dims, str) else dims)]
    rank = len(source.shape)
    factor = 3.0 if "index" in op.name else 1.0
    self._alu(source, factor)
    folded = Vector(source.shape, source.element, rows=source.rows, lanes=source.lanes)
    if rank - 1 in dims:
      folded.lanes = False
    if rank - 2 in dims:
      folded.rows = False
    if rank - 1 in dims:
      self._vector("cross_lane", 2.0 * factor * folded.distinct(32))
    if rank - 2 in dims:
      self._vector("cross_lane", 3.0 * factor * folded.distinct(32))
      self._alu(folded, 3.0 * factor)
    self.environment[op.results[0]] = Vector(kind.shape, kind.element, from_dot=source.from_dot)

  def _iota(self, op: Operation) -> None:
    kind = op.result_types[0]
    dims = op.attributes.get("dimensions", op.attributes.get("dimension", [len(kind.shape) - 1]))
    dims = [dims] if isinstance(dims, int) else [int(d) for d in (re.findall(r"\d+", dims) if isinstance(dims, str) else dims)]
    rank = len(kind.shape)
    vector = Vector(kind.shape, kind.element, rows=rank - 2 in dims, lanes=rank - 1 in dims)
    self.environment[op.results[0]] = vector
    self._alu(vector, 1.0)

  def _transpose(self, op: Operation) -> None:
    vector = self._result(op)
    source = self._inputs(op)[0]
    vector.rows, vector.lanes = source.lanes, source.rows
    if source.shape[-1] != vector.shape[-1] or source.shape[-2:] != vector.shape[-2:] or len(source.shape) == 2:
      self._vector("cross_lane", TRANSPOSE_CYCLES * vector.distinct())

  def _concatenate(self, op: Operation) -> None:
    vector = self._result(op)
    dim = op.attributes.get("dimension", 0)
    rank = len(vector.shape)
    dim = dim if dim >= 0 else rank + dim
    tile = 128 if dim == rank - 1 else (8 * max(1, 32 // vector.bits) if dim == rank - 2 else 1)
    inputs = self._inputs(op)
    if any(v.shape[dim] % tile for v in inputs):
      self._vector("cross_lane", vector.distinct())
    if any(v is not inputs[0] for v in inputs) and dim == rank - 1:
      vector.lanes = True

  def _extract(self, op: Operation) -> None:
    vector = self._result(op)
    offsets = op.attributes.get("offsets") or op.attributes.get("static_position") or []
    if op.name == "vector.extract_strided_slice" and len(offsets) >= 1:
      tiles = [1] * (len(offsets) - 2) + [8 * max(1, 32 // vector.bits), 128]
      if any(int(o) % t for o, t in zip(offsets[-len(tiles):], tiles[-len(offsets):]) if isinstance(o, int)):
        self._vector("cross_lane", vector.distinct())

  def _cross(self, op: Operation) -> None:
    vector = self._result(op)
    self._vector("cross_lane", CROSS_LANE[op.name] * vector.distinct())

  def _matmul(self, op: Operation) -> None:
    lhs, rhs, accumulator = (self.environment[operand] for operand in op.operands[:3])
    kind = op.result_types[0]
    dot, turned = dot_of(op, lhs, rhs, kind)
    if passes_of(op, lhs, rhs)[1]:
      self.flags.add("f32_dot_passes")
    if turned:
      self._vector("cross_lane", TRANSPOSE_CYCLES * lhs.distinct())
    self.serial += 1
    target = self.counts.pending if self.clocked else self.counts.work
    target.add_dot(dot, self.weight)
    out = Vector(kind.shape, kind.element, from_dot=True)
    if isinstance(accumulator, Vector) and not accumulator.constant and (accumulator.rows or accumulator.lanes):
      self._alu(out, 1.0)
    chained = [v for v in (lhs, rhs) if v.from_dot]
    if chained:
      self.counts.chained = self.counts.chained + self.weight
      for operand in chained:
        self.temporaries = max(self.temporaries, product(operand.shape) * (4 + operand.bits // 8))
    self.environment[op.results[0]] = out

  def _other(self, op: Operation) -> None:
    name = op.name
    if name in ALU:
      self._elementwise(op)
    elif name in CONVERSIONS:
      self._convert(op)
    elif name in FREE:
      self._free(op)
    elif name in CROSS_LANE:
      self._cross(op)
    else:
      self._unknown(op)

  def _unknown(self, op: Operation) -> None:
    self.flags.add(f"unknown_op:{op.name}")
    for blocks in op.regions:
      for block in blocks:
        self.environment.update((argument, Unknown("data", op.name)) for argument in block.arguments)
        self._block(block)
    for result, kind in zip(op.results, op.result_types):
      if kind.kind == "vector":
        vector = Vector(kind.shape, kind.element, from_dot=any(v.from_dot for v in self._inputs(op)))
        self.environment[result] = vector
        self._vector("unknown", vector.distinct(32))
      elif kind.kind == "memref":
        self.environment[result] = Reference(-1 - result, kind.shape, kind.element, kind.space, [0] * len(kind.shape),
                                             list(range(len(kind.shape))))
      else:
        self.environment[result] = Unknown("data", op.name)
    if not op.results:
      for vector in self._inputs(op):
        self._vector("unknown", vector.distinct(32))


def _copied_bytes(memories: list[Reference]) -> float:
  """Bytes of a copy in whole lanes. Copies inside VMEM are charged like those from HBM, copies inside HBM read and write there."""
  sizes = []
  for memory in memories:
    if memory.shape and all(size > 0 for size in memory.shape):
      lanes = round_up(memory.shape[-1], 128)
      sizes.append(product(memory.shape[:-1]) * lanes * ITEM_BITS.get(memory.element, 32) / 8)
  if not sizes:
    return 0.0
  outside = sum(memory.space not in ("vmem", "smem") for memory in memories[:2])
  return float(min(sizes)) * (2.0 if outside == 2 else 1.0)


def _cost_proxy(counts: Counts) -> float:
  """Cycles, roughly, to tell the dearer of two branches. Never part of a time."""
  total = 0.0
  for work in (counts.work, counts.pending, *(event for event in counts.events if isinstance(event, Work))):
    for dot, times in work.dots.items():
      total += float(np.mean(times)) * dot.flops * dot.passes / 1.3e5
    for count in work.vector.values():
      total += float(np.mean(count)) / 2
  moved = float(np.mean(counts.own_dma_bytes)) + float(np.mean(counts.exposed_dma_bytes))
  moved += sum(event.transferred for event in counts.events if isinstance(event, Transfer))
  return total + moved / 600


_HANDLERS = {
    "scf.if": Walker._if, "scf.for": Walker._for, "scf.while": Walker._while, "scf.index_switch": Walker._switch,
    "tpu.region": Walker._region, "tpu.trace": Walker._region, "scf.execute_region": Walker._region,
    "tpu.memref_slice": Walker._slice, "tpu.memref_squeeze": Walker._squeeze, "tpu.memref_reshape": Walker._squeeze,
    "tpu.memref_bitcast": Walker._squeeze, "tpu.reinterpret_cast": Walker._squeeze, "memref.cast": Walker._squeeze,
    "memref.store": Walker._store_scalar, "memref.alloca": Walker._allocate, "memref.alloc": Walker._allocate,
    "tpu.sem_alloc": Walker._allocate,
    **dict.fromkeys(LOADS, Walker._load), **dict.fromkeys(STORES, Walker._store),
    "tpu.enqueue_dma": Walker._start, "tpu.enqueue_indirect_dma": Walker._start,
    "tpu.wait_dma": Walker._wait, "tpu.wait_dma2": Walker._wait, "tpu.wait_indirect_dma": Walker._wait,
    **dict.fromkeys(("tpu.sem_signal", "tpu.sem_wait", "tpu.sem_barrier", "tpu.barrier"), Walker._signal),
    "vector.broadcast": Walker._broadcast, "vector.shape_cast": Walker._shape_cast, "tpu.reshape": Walker._shape_cast,
    "vector.multi_reduction": Walker._reduce, "vector.reduction": Walker._reduce, "tpu.all_reduce": Walker._reduce,
    "tpu.reduce_index": Walker._reduce, "tpu.iota": Walker._iota, "tpu.transpose": Walker._transpose, "vector.transpose": Walker._transpose,
    "tpu.concatenate": Walker._concatenate, "vector.extract_strided_slice": Walker._extract, "vector.extract": Walker._extract,
    "tpu.matmul": Walker._matmul, "vector.contract": Walker._matmul,
}
