"""What XLA does around the kernels, as bytes and operations, with a simple rule for fusion.

Elementwise chains are recomputed inside whatever consumes them, so a fused group is one value that must be stored (a root) and the stored
values that it reads (its leaves). Transposes belong to such chains, since the compiler composes them. Matmuls, gathers and the like stand
alone. Kernels fix the layout of what they read and write, so these arrays are padded to tiles; all others are taken as compact.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import math
import re

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

from maxkernel_runner.estimate.chip import Chip
from maxkernel_runner.estimate.description import Dot, ITEM_BITS, Work, XlaOperation, padded_bytes, registers
from maxkernel_runner.estimate.graph import Node, Program, Tensor
from maxkernel_runner.estimate.module import KERNEL_TARGET

_ELEMENTWISE = frozenset(
    ("abs add and atan2 cbrt ceil clamp compare complex convert cosine count_leading_zeros divide exponential exponential_minus_one floor"
     " imag is_finite log log_plus_one logistic maximum minimum multiply negate not or popcnt power real reduce_precision remainder"
     " round_nearest_afz round_nearest_even rsqrt select shift_left shift_right_arithmetic shift_right_logical sign sine sqrt subtract tan"
     " tanh xor bitcast_convert iota broadcast_in_dim broadcast reshape slice dynamic_slice pad concatenate reverse map transpose").split())
_SLICES = frozenset(("slice", "dynamic_slice"))
_PARTS = frozenset(("slice", "dynamic_slice", "pad", "concatenate"))
_FREE = frozenset(("optimization_barrier", "constant", "create_token", "after_all", "get_tuple_element", "tuple", "get_dimension_size"))
_FREE_CALLS = frozenset(("Sharding", "SPMDFullToShardShape", "SPMDShardToFullShape", "annotate_device_placement", "LayoutConstraint",
                         "xla.sdy.FuncResultSharding", "AllocateBuffer"))
_SORT_CALLS = frozenset(("TopK", "mhlo.topk", "ApproxTopK", "stablehlo.dynamic_approx_top_k", "PartialReduce"))
# Far more work than their bytes, done one part after the other.
_SEQUENTIAL = frozenset(("cholesky", "triangular_solve", "fft"))
_DEVICES = ("all_reduce", "all_gather", "all_to_all", "reduce_scatter", "collective_permute", "collective_broadcast", "send", "recv",
            "infeed", "outfeed")
_TRANSCENDENTAL = {"exponential": 1.0, "exponential_minus_one": 1.0, "log": 1.0, "log_plus_one": 1.0, "logistic": 2.0, "tanh": 1.0,
                   "rsqrt": 1.0, "sqrt": 1.0, "power": 2.0, "divide": 1.0, "cbrt": 1.0}
_ALU = {"divide": 4.0, "power": 4.0, "sine": 25.0, "cosine": 25.0, "tan": 25.0, "remainder": 10.0, "exponential_minus_one": 6.0,
        "log_plus_one": 5.0, "logistic": 4.0, "atan2": 30.0, "cbrt": 10.0, "erf": 20.0, "erf_inv": 20.0,
        **dict.fromkeys(("broadcast_in_dim", "broadcast", "reshape", "slice", "dynamic_slice", "iota", "transpose"), 0.0)}
_RANDOM_ALU = 40.0  # per element; a counter-based generator is some tens of integer operations


@dataclass
class KernelSite:
  """A kernel call, how often it runs, and the program (main, or a loop's body) that holds it."""

  node: Node
  times: float
  program: Program


@dataclass
class Surroundings:
  operations: list[XlaOperation] = field(default_factory=list)
  kernels: list[KernelSite] = field(default_factory=list)
  reads: dict[int, float] = field(default_factory=dict)  # value -> bytes that XLA's operations read of it, once
  origins: dict[int, int] = field(default_factory=dict)  # value -> the value whose bytes it is, under another shape
  flags: set[str] = field(default_factory=set)
  absent: str = ""

  def note_read(self, value: int, size: float) -> None:
    value = self.origins.get(value, value)
    self.reads[value] = max(self.reads.get(value, 0.0), size)


def short_name(node: Node) -> str:
  return node.name.split(".", 1)[-1]


def call_target(node: Node) -> str:
  attributes = node.operation.attributes
  return ir.StringAttr(attributes["call_target_name"]).value if "call_target_name" in attributes else ""


def _fusible(node: Node) -> bool:
  name = short_name(node)
  return name in _ELEMENTWISE or (node.name.startswith("chlo.") and name != "top_k")


def _computes(node: Node) -> bool:
  name = short_name(node)
  return _ALU.get(name, 1.0) > 0 and name not in _PARTS


def _taken_apart(users: list[Node]) -> bool:
  """Several users, some of which take only a part or make a larger array of it: the compiler stores such a value rather than repeat it."""
  return len(users) > 1 and any(short_name(user) in _PARTS for user in users)


def _passes_through(node: Node) -> bool:
  """Operations that leave the bytes where they are."""
  name = short_name(node)
  if name in ("pad", "slice", "convert", "broadcast_in_dim") and node.operand_types[0] == node.types[0]:
    return True
  if name in ("optimization_barrier",):
    return True
  if name == "custom_call":
    return call_target(node) in _FREE_CALLS
  if name == "reshape":
    return _same_layout(node.operand_types[0].shape, node.types[0].shape)
  if name == "transpose":
    order = [int(d) for d in ir.DenseI64ArrayAttr(node.operation.attributes["permutation"])]
    moved = [d for d in order if node.operand_types[0].shape[d] != 1]
    return moved == sorted(moved)
  return name == "bitcast_convert"


def _undone(node: Node, producers: dict[int, Node]) -> bool:
  """Whether a transpose of transposes ends where it began."""
  permutation = list(range(len(node.types[0].shape)))
  while node is not None and short_name(node) == "transpose":
    own = [int(d) for d in ir.DenseI64ArrayAttr(node.operation.attributes["permutation"])]
    permutation = [own[d] for d in permutation]
    if permutation == sorted(permutation):
      return True
    node = producers.get(node.operands[0])
  return False


def _same_layout(before: tuple[int, ...], after: tuple[int, ...]) -> bool:
  if [s for s in before if s != 1] == [s for s in after if s != 1]:
    return True
  if not before or not after or before[-1] != after[-1]:
    return False
  rows = lambda shape: shape[-2] if len(shape) > 1 else 1
  return rows(before) % 8 == 0 and rows(after) % 8 == 0


class Surveyor:
  def __init__(self, types: dict[int, Tensor], chip: Chip):
    self._types = types
    self._chip = chip
    self._tiled: set[int] = set()  # operands and results of kernels
    self.found = Surroundings()

  def survey(self, program: Program, times: float = 1.0) -> Surroundings:
    self._program(program, times)
    return self.found

  def _bytes(self, value: int) -> float:
    tensor = self._types[value]
    if tensor.element == "token":
      return 0.0
    bits = ITEM_BITS.get(tensor.element, 32)
    if value not in self._tiled:
      return math.prod(tensor.shape) * bits / 8
    return float(padded_bytes(tensor.shape, bits, self._chip.sublane_tile))

  def _whole_tiles(self, tensor: Tensor) -> float:
    """What reading a part of an array touches: narrow slices of lanes cost whole tiles."""
    return float(padded_bytes(tensor.shape, ITEM_BITS.get(tensor.element, 32), self._chip.sublane_tile))

  def _note_kernels(self, program: Program) -> None:
    for node in program.nodes:
      if short_name(node) == "custom_call" and call_target(node) == KERNEL_TARGET:
        self._tiled.update(node.operands)
        self._tiled.update(node.results)

  def _program(self, program: Program, times: float) -> None:
    self._note_kernels(program)
    producers = {result: node for node in program.nodes for result in node.results}
    users: dict[int, list[Node]] = {}
    for node in program.nodes:
      for operand in node.operands:
        users.setdefault(operand, []).append(node)
    stored = set(program.results)
    for node in program.nodes:
      name = short_name(node)
      if _passes_through(node):
        self.found.origins[node.results[0]] = self.found.origins.get(node.operands[0], node.operands[0])
      if name in ("reduce", "reduce_window"):
        stored.update(node.results)
      elif not _fusible(node) and not _passes_through(node):
        stored.update(node.operands)
        stored.update(self._captures(node, producers))
      elif _computes(node) and _taken_apart(users.get(node.results[0], [])):
        stored.update(node.results)
    absorbed = self._epilogues(program, producers, users, stored)
    for node in program.nodes:
      if self.found.absent:
        return
      self._node(node, program, producers, stored, absorbed, times)
    copied = [r for r in program.results if r in program.arguments and times == 1.0]
    for value in copied:
      self._add("copy", {value: self._bytes(value)}, self._bytes(value), Work(), times)

  def _captures(self, node: Node, producers: dict[int, Node]) -> set[int]:
    used: set[int] = set()
    for body in node.bodies:
      for child in body.nodes:
        used.update(o for o in child.operands if o in producers)
        used |= self._captures(child, producers)
      used.update(v for v in body.results if v in producers)
    return used

  def _epilogues(self, program: Program, producers, users, stored) -> dict[int, int]:
    """Matmul result -> the only stored value made of it: XLA fuses such a chain into the matmul."""
    absorbed: dict[int, int] = {}
    for node in program.nodes:
      if short_name(node) not in ("dot_general", "convolution") or node.results[0] in program.results:
        continue
      value, frontier, root = node.results[0], [node.results[0]], None
      seen: set[int] = set()
      single = True
      while frontier and single:
        current = frontier.pop()
        for user in users.get(current, []):
          if not _fusible(user) or self._types[user.results[0]].shape != node.types[0].shape:
            single = False
            break
          result = user.results[0]
          if result in stored:
            single = root in (None, result)
            root = result
          elif result not in seen:
            seen.add(result)
            frontier.append(result)
      if single and root is not None:
        absorbed[value] = root
    return absorbed

  def _add(self, name: str, reads: dict[int, float], written: float, work: Work, times: float, guess: bool = True) -> None:
    self.found.operations.append(XlaOperation(name, sum(reads.values()), written, work, times, guess))
    for value, size in reads.items():
      self.found.note_read(value, size)

  def _node(self, node: Node, program: Program, producers, stored, absorbed, times: float) -> None:
    name = short_name(node)
    if name in _FREE or (_passes_through(node) and not _fusible(node)):
      return
    if name in ("while", "case", "if"):
      self._control(node, times)
    elif name == "custom_call":
      self._call(node, program, times)
    elif any(name.startswith(word) for word in _DEVICES):
      self.found.absent = f"the program communicates ({node.name}), which has no model"
    elif _fusible(node):
      if node.results[0] in stored:
        self._group(node, producers, absorbed, times)
    elif name in ("reduce", "reduce_window"):
      self._group(node, producers, absorbed, times)
    elif name == "dot_general":
      self._matmul(node, absorbed, times, _dot(node))
    elif name == "convolution":
      self._matmul(node, absorbed, times, _convolution(node))
    elif name in _SEQUENTIAL:
      self.found.absent = f"the program uses {node.name}, which has no model"
    elif name == "dynamic_update_slice":
      update = self._bytes(node.operands[1])
      whole = self._bytes(node.operands[0]) if node.operands[0] in program.arguments and times == 1.0 else 0.0
      self._add(name, {node.operands[1]: update, node.operands[0]: whole}, update + whole, Work(), times)
    else:
      self._alone(node, name, times)

  def _control(self, node: Node, times: float) -> None:
    if short_name(node) == "while":
      if node.trips is None:
        self.found.absent = "a loop around the kernels has a length that is not a constant"
        return
      self._program(node.bodies[1], times * node.trips)
      return
    outcomes = []
    for body in node.bodies:
      inner = Surveyor(self._types, self._chip)
      inner._tiled = self._tiled
      inner._program(body, times)
      cost = sum((o.read_bytes + o.write_bytes) * o.times for o in inner.found.operations) + 1e12 * len(inner.found.kernels)
      outcomes.append((cost, inner.found))
    self.found.flags.add("data_dependent_branch")
    chosen = max(outcomes, key=lambda outcome: outcome[0])[1]
    self.found.operations += chosen.operations
    self.found.kernels += chosen.kernels
    self.found.flags |= chosen.flags
    self.found.absent = self.found.absent or chosen.absent

  def _call(self, node: Node, program: Program, times: float) -> None:
    target = call_target(node)
    if target == KERNEL_TARGET:
      self.found.kernels.append(KernelSite(node, times, program))
    elif target in _SORT_CALLS:
      self._alone(node, "sort", times)
    elif target not in _FREE_CALLS:
      self.found.absent = f"the program calls {target}, which has no model"

  def _group(self, root: Node, producers, absorbed, times: float) -> None:
    """A stored value and everything elementwise that is recomputed for it."""
    if short_name(root) == "transpose" and _undone(root, producers):
      return
    work = Work()
    reads: dict[int, float] = {}
    moved_only, copies_only = True, True
    seen: set[int] = set()
    frontier = [root]
    while frontier:
      node = frontier.pop()
      name = short_name(node)
      if not _passes_through(node):
        moved_only = False
        copies_only &= name == "transpose"
        _count(node, name, work)
      for operand in node.operands[:1] if _passes_through(node) else node.operands:
        if operand in seen:
          continue
        seen.add(operand)
        producer = producers.get(operand)
        if producer is not None and short_name(producer) in _FREE:
          continue
        if producer is not None and (_fusible(producer) or _passes_through(producer)):
          frontier.append(producer)
          continue
        size = self._bytes(operand)
        if name in _SLICES:
          size = min(size, self._whole_tiles(node.types[0]))
        reads[operand] = max(reads.get(operand, 0.0), size)
    if moved_only and short_name(root) != "reduce":
      return
    if all(not tensor.shape for tensor in root.types):
      return  # loop counters and other single numbers
    written = sum(self._bytes(result) for result in root.results)
    for value in [v for v in reads if absorbed.get(v) == root.results[0]]:
      reads.pop(value)  # the matmul writes this value itself
      written = 0.0
    if reads or written:
      self._add("fusion:" + short_name(root), reads, written, work, times, guess=not copies_only)

  def _matmul(self, node: Node, absorbed, times: float, dot: Dot) -> None:
    work = Work()
    work.add_dot(dot, 1.0)
    written = self._bytes(absorbed.get(node.results[0], node.results[0]))
    self._add(short_name(node), {o: self._bytes(o) for o in node.operands}, written, work, times)

  def _alone(self, node: Node, name: str, times: float) -> None:
    work = Work()
    reads = {o: self._bytes(o) for o in node.operands}
    written = sum(self._bytes(r) for r in node.results)
    if name in ("gather", "dynamic_gather"):
      reads[node.operands[0]] = min(reads[node.operands[0]], written)
    elif name == "scatter":
      reads = {o: self._bytes(o) for o in node.operands}
    elif name in ("sort", "top_k"):
      length = max((t.shape[-1] for t in node.operand_types if t.shape), default=1)
      rounds = max(1, math.ceil(math.log2(max(2, length))))
      work.add_vector("alu", sum(registers(t.shape) for t in node.operand_types) * 4.0 * rounds * (rounds + 1) / 2)
    elif name == "rng_bit_generator":
      work.add_vector("alu", _RANDOM_ALU * sum(registers(t.shape) for t in node.types))
    else:
      self.found.flags.add(f"unknown_op:{node.name}")
      work.add_vector("unknown", sum(registers(t.shape) for t in (*node.types, *node.operand_types)))
    self._add(name, reads, written, work, times)


def _count(node: Node, name: str, work: Work) -> None:
  tensor = (node.operand_types if name in ("reduce", "reduce_window") and node.operand_types else node.types)[0]
  size = math.prod(tensor.shape) / 1024
  if name == "reduce_window":
    window = math.prod(int(d) for d in ir.DenseI64ArrayAttr(node.operation.attributes["window_dimensions"]))
    size *= max(1.0, 2 * math.log2(max(2, window)))
  work.add_vector("alu", _ALU.get(name, 1.0) * size)
  if name in _TRANSCENDENTAL:
    work.add_vector("transcendental", _TRANSCENDENTAL[name] * size)


def _passes(node: Node, lhs: str, rhs: str) -> int:
  if "f32" not in (lhs, rhs):
    return 1
  text = str(node.operation.attributes["precision_config"]) if "precision_config" in node.operation.attributes else ""
  return 6 if "HIGHEST" in text else 3 if re.search(r"\bHIGH\b", text) else 1


def _dot(node: Node) -> Dot:
  lhs, rhs = node.operand_types[:2]
  numbers = stablehlo.DotDimensionNumbers(node.operation.attributes["dot_dimension_numbers"])
  k = math.prod(lhs.shape[d] for d in numbers.lhs_contracting_dimensions)
  batch = math.prod(lhs.shape[d] for d in numbers.lhs_batching_dimensions)
  each = max(1, k * batch)
  passes = _passes(node, lhs.element, rhs.element)
  return Dot(math.prod(lhs.shape) // each, k, math.prod(rhs.shape) // each, lhs.element, rhs.element, passes, batch)


def _convolution(node: Node) -> Dot:
  lhs, rhs = node.operand_types[:2]
  out = node.types[0]
  numbers = stablehlo.ConvDimensionNumbers(node.operation.attributes["dimension_numbers"])
  features = rhs.shape[numbers.kernel_output_feature_dimension]
  k = math.prod(rhs.shape) // max(1, features)
  return Dot(math.prod(out.shape) // max(1, features), k, features, lhs.element, rhs.element, _passes(node, lhs.element, rhs.element))
