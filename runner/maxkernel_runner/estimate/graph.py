"""StableHLO as one flat list of nodes: calls inlined, loops and branches kept as nested programs with a number of runs."""

from __future__ import annotations

from dataclasses import dataclass, field

from jaxlib.mlir import ir

from maxkernel_runner.estimate.module import LoadedModule

# A composite is a call to its decomposition, which the compiler may replace by something faster.
_CALLS = {"func.call": "callee", "stablehlo.composite": "decomposition"}

_MAX_NODES = 200_000
_MAX_DEPTH = 64


@dataclass(frozen=True)
class Tensor:
  shape: tuple[int, ...]
  element: str


@dataclass
class Node:
  name: str
  operands: list[int]
  results: list[int]
  types: list[Tensor]  # of the results
  operand_types: list[Tensor]
  operation: ir.Operation
  bodies: list["Program"] = field(default_factory=list)
  trips: int | None = None  # of a loop; None when unknown
  outer: dict = field(default_factory=dict)  # of a loop or branch: numbers of the MLIR values that its bodies may capture


@dataclass
class Program:
  arguments: list[int]
  nodes: list[Node]
  results: list[int]


class GraphError(Exception):
  """The program cannot be represented; the message says why."""


def tensor_of(mlir_type: ir.Type) -> Tensor:
  if isinstance(mlir_type, ir.RankedTensorType):
    shape = tuple(mlir_type.shape)
    if any(size < 0 for size in shape):
      raise GraphError("the module has dynamic shapes")
    return Tensor(shape, str(mlir_type.element_type))
  return Tensor((), "token")


class Flattener:
  def __init__(self, loaded: LoadedModule):
    self._functions = {op.sym_name.value: op.operation for op in loaded.module.body.operations if op.operation.name == "func.func"}
    self._loaded = loaded
    self._next = 0
    self._nodes = 0
    self.types: dict[int, Tensor] = {}
    self.producers: dict[int, Node] = {}

  def flatten(self) -> Program:
    block = self._loaded.main.regions[0].blocks[0]
    return self._block(block, {}, 0)

  def _fresh(self, value: ir.Value, environment: dict) -> int:
    number = self._next
    self._next += 1
    self.types[number] = tensor_of(value.type)
    environment[value] = number
    return number

  def _block(self, block: ir.Block, outer: dict, depth: int, arguments: list[int] | None = None) -> Program:
    if depth > _MAX_DEPTH:
      raise GraphError("calls are nested too deeply")
    environment = dict(outer)
    if arguments is None:
      arguments = [self._fresh(argument, environment) for argument in block.arguments]
    else:
      environment.update(zip(block.arguments, arguments))
    nodes: list[Node] = []
    results: list[int] = []
    for view in block.operations:
      op = view.operation
      operands = [environment[operand] for operand in op.operands]
      if op.name in ("func.return", "stablehlo.return"):
        results = operands
      elif op.name in _CALLS:
        results_of_call = self._call(op, operands, nodes, depth)
        environment.update(zip(op.results, results_of_call))
      else:
        nodes.append(self._node(op, operands, environment, depth))
    return Program(list(arguments), nodes, results)

  def _call(self, op: ir.Operation, operands: list[int], nodes: list[Node], depth: int) -> list[int]:
    name = ir.FlatSymbolRefAttr(op.attributes[_CALLS[op.name]]).value
    callee = self._functions.get(name)
    if callee is None:
      raise GraphError(f"the module calls {name}, which it does not define")
    program = self._block(callee.regions[0].blocks[0], {}, depth + 1, operands)
    nodes.extend(program.nodes)
    return program.results

  def _node(self, op: ir.Operation, operands: list[int], environment: dict, depth: int) -> Node:
    self._nodes += 1
    if self._nodes > _MAX_NODES:
      raise GraphError(f"the module has more than {_MAX_NODES} operations")
    results = [self._fresh(result, environment) for result in op.results]
    node = Node(op.name, operands, results, [self.types[r] for r in results], [self.types[o] for o in operands], op)
    if op.name in ("stablehlo.while", "stablehlo.case", "stablehlo.if"):
      node.outer = dict(environment)
      for region in op.regions:
        node.bodies.append(self._block(region.blocks[0], environment, depth + 1))
      if op.name == "stablehlo.while":
        node.trips = self._trips(node)
    for result in results:
      self.producers[result] = node
    return node

  def constant(self, value: int) -> int | None:
    """The value of an integer scalar constant, through conversions."""
    node = self.producers.get(value)
    while node is not None and node.name in ("stablehlo.convert", "stablehlo.reshape", "stablehlo.broadcast_in_dim"):
      node = self.producers.get(node.operands[0])
    if node is None or node.name != "stablehlo.constant":
      return None
    attribute = node.operation.attributes["value"]
    if not isinstance(attribute, ir.DenseIntElementsAttr) or not attribute.is_splat:
      return None
    return int(ir.IntegerAttr(attribute.get_splat_value()).value)

  def _trips(self, node: Node) -> int | None:
    """Runs of the usual counted loop: compare(counter, bound), counter + step."""
    condition, body = node.bodies
    compare = next((n for n in condition.nodes if n.results and n.results[0] in condition.results), None)
    if compare is None or compare.name != "stablehlo.compare" or compare.operands[0] not in condition.arguments:
      return None
    position = condition.arguments.index(compare.operands[0])
    bound_value = compare.operands[1]
    if bound_value in condition.arguments:
      carried = condition.arguments.index(bound_value)
      if body.results[carried] != body.arguments[carried]:
        return None
      bound_value = node.operands[carried]
    update = next((n for n in body.nodes if n.results and n.results[0] == body.results[position]), None)
    if update is None or update.name not in ("stablehlo.add", "stablehlo.subtract"):
      return None
    counter = body.arguments[position]
    others = [o for o in update.operands if o != counter]
    if len(others) != 1:
      return None
    step, start, bound = self.constant(others[0]), self.constant(node.operands[position]), self.constant(bound_value)
    if step is None or start is None or bound is None or step == 0:
      return None
    step = -step if update.name == "stablehlo.subtract" else step
    direction = str(compare.operation.attributes["comparison_direction"])
    distance = bound - start if step > 0 else start - bound
    step = abs(step)
    if " LE" in direction or " GE" in direction:
      distance += 1
    elif not any(word in direction for word in (" LT", " GT", " NE")):
      return None
    return max(0, -(-distance // step))
