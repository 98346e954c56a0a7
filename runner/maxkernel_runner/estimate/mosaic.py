"""Kernel bodies as plain Python records, so that walking them costs no calls into MLIR."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import numpy as np
from jaxlib.mlir import ir

DYNAMIC = -(2**63)


@dataclass(frozen=True)
class Type:
  kind: str  # "vector", "memref", "scalar" or "other"
  shape: tuple[int, ...] = ()
  element: str = ""
  space: str = ""


@dataclass
class Block:
  arguments: list[int]
  operations: list["Operation"]
  results: list[int]  # operands of the terminator


@dataclass
class Operation:
  name: str
  operands: list[int]
  results: list[int]
  operand_types: list[Type]
  result_types: list[Type]
  attributes: dict[str, object]
  regions: list[list[Block]] = field(default_factory=list)
  live: bool = True
  repeats: bool = False  # of a loop: whether its body must be walked once per iteration


@dataclass
class Function:
  name: str
  block: Block
  argument_types: list[Type]
  constants: list[Operation] = field(default_factory=list)  # of all its blocks, taken out of them
  size: int = 0  # live operations, each counted once


@dataclass
class Window:
  transform: str | None
  bounds: tuple[int, ...]
  element_indexed: bool
  buffers: int


@dataclass
class Kernel:
  body: Function
  transforms: dict[str, Function]
  grid: tuple[int, ...]
  semantics: tuple[str, ...]
  scalar_prefetch: int
  scratch: int
  windows: list[Window]
  stored_arguments: set[int]  # positions among the body's arguments that the kernel writes scalars to
  keeps_state: bool  # copies or scalars of one grid step may matter to the next


_TYPES: dict[str, Type] = {}


def _parse_type(mlir_type: ir.Type) -> Type:
  text = str(mlir_type)
  known = _TYPES.get(text)
  if known is not None:
    return known
  if text.startswith("vector<"):
    vector = ir.VectorType(mlir_type)
    parsed = Type("vector", tuple(vector.shape), str(vector.element_type))
  elif text.startswith("memref<"):
    memref = ir.MemRefType(mlir_type)
    space = re.search(r"#tpu\.memory_space<(\w+)>", text)
    parsed = Type("memref", tuple(memref.shape), str(memref.element_type), space.group(1) if space else "")
  elif re.fullmatch(r"index|[su]?i\d+|bf16|f\d+\w*", text):
    parsed = Type("scalar", (), text)
  else:
    parsed = Type("other", (), text)
  if len(_TYPES) > 4096:
    _TYPES.clear()
  _TYPES[text] = parsed
  return parsed


def _attribute(attribute: ir.Attribute) -> object:
  for kind in (ir.BoolAttr, ir.IntegerAttr, ir.FloatAttr, ir.StringAttr):
    if isinstance(attribute, kind):
      return attribute.value
  for kind in (ir.DenseI64ArrayAttr, ir.DenseI32ArrayAttr):
    if isinstance(attribute, kind):
      return list(attribute)
  if isinstance(attribute, ir.ArrayAttr):
    return [_attribute(item) for item in attribute]
  if isinstance(attribute, ir.DenseElementsAttr):
    return "splat" if attribute.is_splat else "dense"
  return str(attribute)


_IGNORED_ATTRIBUTES = frozenset(("strides", "fastmath", "overflowFlags", "sym_visibility"))
_SIDE_EFFECTS = re.compile(
    r"store|dma|sem_|barrier|yield|return|condition|trace|delay|log|prng|assert|assume|region|sort|scan|fetch_and_add|for|while|if|switch")


class _Decoder:
  def __init__(self):
    self.ids: dict[ir.Value, int] = {}

  def value(self, value: ir.Value) -> int:
    number = self.ids.get(value)
    if number is None:
      number = self.ids[value] = len(self.ids)
    return number

  def block(self, block: ir.Block) -> Block:
    arguments = [self.value(argument) for argument in block.arguments]
    operations = [self.operation(op.operation) for op in block.operations]
    results = operations[-1].operands if operations else []
    return Block(arguments, operations, results)

  def operation(self, op: ir.Operation) -> Operation:
    attributes = {}
    for name in op.attributes:
      if name not in _IGNORED_ATTRIBUTES:
        attributes[name] = _attribute(op.attributes[name])
    return Operation(
        op.name,
        [self.value(operand) for operand in op.operands],
        [self.value(result) for result in op.results],
        [_parse_type(operand.type) for operand in op.operands],
        [_parse_type(result.type) for result in op.results],
        attributes,
        [[self.block(block) for block in region.blocks] for region in op.regions],
    )


def _mark_live(block: Block, used: set[int]) -> None:
  for op in reversed(block.operations):
    last = op is block.operations[-1]
    op.live = last or bool(op.regions) or bool(_SIDE_EFFECTS.search(op.name)) or any(r in used for r in op.results)
    if op.live:
      used.update(op.operands)
      for region in op.regions:
        for inner in region:
          _mark_live(inner, used)


_VARYING = ("scf.if", "scf.while", "scf.index_switch", "tpu.enqueue_dma", "tpu.wait_dma", "tpu.wait_dma2", "memref.store", "scf.for")


def _constant_loop(op: Operation, constants: dict[int, object]) -> bool:
  return op.name == "scf.for" and all(operand in constants for operand in op.operands[:3])


def _mark_loops(block: Block, constants: dict[int, object]) -> bool:
  """Whether anything in the block may differ from one iteration of a loop around it to the next."""
  varies = False
  for op in block.operations:
    if op.name == "arith.constant":
      constants[op.results[0]] = op.attributes.get("value")
    inner = False
    for region in op.regions:
      for nested in region:
        inner |= _mark_loops(nested, constants)
    if op.name in ("scf.for", "scf.while"):
      op.repeats = inner or op.name == "scf.while"
    if op.name in _VARYING and not (_constant_loop(op, constants) and not inner):
      varies = True
    varies |= inner
  return varies


def _function(op: ir.Operation) -> Function:
  decoder = _Decoder()
  block = decoder.block(op.regions[0].blocks[0])
  types = [_parse_type(argument.type) for argument in op.regions[0].blocks[0].arguments]
  _mark_live(block, set())
  _mark_loops(block, {})
  constants: list[Operation] = []
  size = _hoist(block, constants)
  return Function(ir.StringAttr(op.attributes["sym_name"]).value, block, types, constants, size)


def _hoist(block: Block, constants: list[Operation]) -> int:
  constants += [op for op in block.operations if op.name == "arith.constant" and op.live]
  block.operations = [op for op in block.operations if op.live and op.name != "arith.constant"]
  size = len(block.operations)
  for op in block.operations:
    for region in op.regions:
      for nested in region:
        size += _hoist(nested, constants)
  return size


def _stored(block: Block, roots: dict[int, int], found: set[int]) -> None:
  for op in block.operations:
    if op.name in ("tpu.memref_slice", "tpu.memref_squeeze", "tpu.memref_reshape", "tpu.memref_bitcast", "tpu.reinterpret_cast",
                   "memref.cast") and op.operands[0] in roots:
      roots[op.results[0]] = roots[op.operands[0]]
    if op.name == "memref.store" and op.operands[1] in roots:
      found.add(roots[op.operands[1]])
    if op.name.startswith("tpu.enqueue_dma"):
      found.update(roots[operand] for operand in op.operands if operand in roots)
    for region in op.regions:
      for nested in region:
        _stored(nested, roots, found)


def _window(attribute: ir.Attribute) -> Window:
  fields = ir.DictAttr(attribute)
  names = {named.name if hasattr(named, "name") else named for named in fields}
  bounds = tuple(ir.DenseI64ArrayAttr(fields["window_bounds"])) if "window_bounds" in names else ()
  transform = str(fields["transform_indices"]).lstrip("@").strip('"') if "transform_indices" in names else None
  mode = str(fields["pipeline_mode"]) if "pipeline_mode" in names else ""
  kind = str(fields["window_kind"]) if "window_kind" in names else ""
  return Window(transform, bounds, "element" in kind, 1 if "synchronous" in mode else 2)


def decode(module: ir.Module) -> Kernel:
  """Raises ValueError for a module without a kernel function."""
  functions = [op.operation for op in module.body.operations if op.operation.name == "func.func"]
  entry = next((op for op in functions if "iteration_bounds" in op.attributes or "scalar_prefetch" in op.attributes), None)
  if entry is None:
    entry = functions[0] if len(functions) == 1 else None
  if entry is None:
    raise ValueError("the Mosaic module has no kernel function")
  attributes = entry.attributes
  read = lambda name: attributes[name] if name in attributes else None
  grid = tuple(ir.DenseI64ArrayAttr(read("iteration_bounds"))) if read("iteration_bounds") is not None else ()
  semantics = ()
  if read("dimension_semantics") is not None:
    semantics = tuple(re.sub(r".*<(\w+)>.*", r"\1", str(item)) for item in ir.ArrayAttr(read("dimension_semantics")))
  windows = [_window(item) for item in ir.ArrayAttr(read("window_params"))] if read("window_params") is not None else []
  body = _function(entry)
  stored: set[int] = set()
  _stored(body.block, {value: position for position, value in enumerate(body.block.arguments)}, stored)
  count = lambda name: int(ir.IntegerAttr(read(name)).value) if read(name) is not None else 0
  return Kernel(
      body=body,
      transforms={f.name: f for f in (_function(op) for op in functions if op is not entry)},
      grid=grid,
      semantics=semantics,
      scalar_prefetch=count("scalar_prefetch"),
      scratch=count("scratch_operands"),
      windows=windows,
      stored_arguments=stored,
      keeps_state=_mentions(body.block, ("tpu.enqueue_dma", "memref.store")),
  )


def _mentions(block: Block, names: tuple[str, ...]) -> bool:
  return any(op.name in names or any(_mentions(nested, names) for region in op.regions for nested in region) for op in block.operations)


def lanes_of(grid: tuple[int, ...]) -> list[np.ndarray]:
  """Grid coordinates of every step in the order of execution, the last dimension fastest."""
  total = int(np.prod(grid)) if grid else 1
  return list(np.unravel_index(np.arange(total), grid)) if grid else []
