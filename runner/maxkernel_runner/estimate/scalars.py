"""Values of small operands, computed on the CPU from the part of the module that feeds them.

Only StableHLO arithmetic runs: a custom call, a kernel or a collective in that part means that the values are not to be had.
"""

from __future__ import annotations

from typing import Sequence

import jax
from jax._src.lib import xla_client
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import func
from jaxlib.mlir.passmanager import PassManager
import numpy as np

from maxkernel_runner.estimate.graph import Node, Program, Tensor
from maxkernel_runner.estimate.module import LoadedModule

_MAX_ELEMENTS = 1 << 24
_FORBIDDEN = ("custom_call", "all_reduce", "all_gather", "all_to_all", "collective", "send", "recv", "infeed", "outfeed", "rng",
              "partition_id", "replica_id")
_NUMPY_TYPES = {"i1": np.bool_, "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64, "ui8": np.uint8, "ui16": np.uint16,
                "ui32": np.uint32, "ui64": np.uint64, "f16": np.float16, "f32": np.float32, "f64": np.float64}


class Unavailable(Exception):
  """The message says why the values cannot be had."""


def _names(operation: ir.Operation) -> set[str]:
  found = {operation.name}
  for region in operation.regions:
    for block in region.blocks:
      for inner in block.operations:
        found |= _names(inner.operation)
  return found


def _slice(program: Program, wanted: list[int]) -> tuple[list[Node], set[int]]:
  """Nodes that the wanted values need, in order, and the arguments among their leaves."""
  needed = set(wanted)
  chosen: list[Node] = []
  for node in reversed(program.nodes):
    if any(result in needed for result in node.results):
      chosen.append(node)
      needed.update(node.operands)
      needed.update(_captured(node))
  made = {result for node in chosen for result in node.results}
  return chosen[::-1], needed - made


def _captured(node: Node) -> set[int]:
  """Values of the enclosing program that a branch or loop body uses without taking them as operands."""
  used: set[int] = set()
  for body in node.bodies:
    inner = set(body.arguments)
    for child in body.nodes:
      used.update(operand for operand in child.operands if operand not in inner)
      used.update(value for value in _captured(child) if value not in inner)
      inner.update(child.results)
    used.update(value for value in body.results if value not in inner)
  return used


def _numpy_type(element: str):
  if element in _NUMPY_TYPES:
    return np.dtype(_NUMPY_TYPES[element])
  import jax.numpy as jnp

  if element == "bf16":
    return np.dtype(jnp.bfloat16)
  raise Unavailable(f"element type {element} is not supported for values")


def evaluate(loaded: LoadedModule, program: Program, types: dict[int, Tensor], wanted: list[int],
             arguments: Sequence[np.ndarray | None]) -> dict[int, np.ndarray]:
  """Raises Unavailable with the reason."""
  nodes, leaves = _slice(program, wanted)
  values = dict(zip(program.arguments, arguments))
  outside = leaves - set(program.arguments)
  if outside:
    raise Unavailable("they are carried by a loop around the kernel")
  for leaf in sorted(leaves):
    if values.get(leaf) is None:
      raise Unavailable(f"they depend on argument {program.arguments.index(leaf)}, whose values are not given")
  for node in nodes:
    names = _names(node.operation)
    bad = next((name for name in names if any(word in name for word in _FORBIDDEN)), None)
    if bad:
      raise Unavailable(f"they depend on {bad}")
    if any(int(np.prod(t.shape, dtype=np.int64)) > _MAX_ELEMENTS for t in node.types):
      raise Unavailable("they are computed through arrays that are too large")
    if node.name == "stablehlo.while" and node.trips is None and not _short(node):
      raise Unavailable("they depend on a loop whose length is not known")
  ordered = sorted(leaves)
  result = {value: np.asarray(values[value]) for value in wanted if value in leaves}
  computed = [value for value in wanted if value not in leaves]
  if computed:
    with loaded.context, ir.Location.unknown():
      module = _build(loaded, nodes, ordered, computed, types)
      computed_values = _run(module, [values[leaf] for leaf in ordered], [types[leaf] for leaf in ordered])
    result.update(zip(computed, computed_values))
  return result


def _short(node: Node) -> bool:
  return all(int(np.prod(t.shape, dtype=np.int64)) <= 1 << 16 for t in node.types)


def _build(loaded: LoadedModule, nodes: list[Node], inputs: list[int], outputs: list[int], types: dict[int, Tensor]) -> ir.Module:
  """A module of its own with the sliced operations, calls inlined."""
  module = ir.Module.create()
  module.operation.attributes["sym_name"] = ir.StringAttr.get("scalar_operands")
  element = lambda t: ir.RankedTensorType.get(t.shape, ir.Type.parse(t.element))
  kind = ir.FunctionType.get([element(types[i]) for i in inputs], [element(types[o]) for o in outputs])
  with ir.InsertionPoint(module.body):
    main = func.FuncOp("main", kind, visibility="public")
    block = main.add_entry_block()
  environment: dict[int, ir.Value] = dict(zip(inputs, block.arguments))
  with ir.InsertionPoint(block):
    for node in nodes:
      clone = node.operation.clone()
      for position, operand in enumerate(node.operands):
        clone.operands[position] = environment[operand]
      if node.bodies:
        _rewire(node.operation, clone, node.outer, environment)
      environment.update(zip(node.results, clone.results))
    func.ReturnOp([environment[o] for o in outputs])
  for operation in loaded.module.body.operations:
    if operation.operation.name == "func.func" and operation.sym_name.value != "main":
      module.body.append(operation.operation.clone())
  PassManager.parse("builtin.module(symbol-dce)").run(module.operation)
  return module


def _rewire(original: ir.Operation, clone: ir.Operation, outer: dict[ir.Value, int], environment: dict[int, ir.Value]) -> None:
  """Lets the cloned bodies use the clones of the values that they capture."""
  for region, copied_region in zip(original.regions, clone.regions):
    for block, copied_block in zip(region.blocks, copied_region.blocks):
      for inner, copied in zip(block.operations, copied_block.operations):
        for position, operand in enumerate(inner.operation.operands):
          number = outer.get(operand)
          if number is not None and number in environment:
            copied.operation.operands[position] = environment[number]
        _rewire(inner.operation, copied.operation, outer, environment)


def _run(module: ir.Module, values: list, inputs: list[Tensor]) -> list[np.ndarray]:
  device = jax.devices("cpu")[0]
  client = device.client
  options = xla_client.CompileOptions()
  options.env_option_overrides = [("xla_backend_optimization_level", 0)]  # runs once, on small arrays: compiling is what takes time
  compiled = client.compile_and_load(module, executable_devices=xla_client.DeviceList((device,)), compile_options=options)
  with jax.enable_x64(True):
    buffers = [jax.device_put(np.asarray(v).astype(_numpy_type(t.element)).reshape(t.shape), device) for v, t in zip(values, inputs)]
  return [np.asarray(shards[0]) for shards in compiled.execute_sharded(buffers).disassemble_into_single_device_arrays()]
