"""What the walker knows of a value in a kernel: numbers of scalars, shapes of vectors and memories."""

from __future__ import annotations

from dataclasses import dataclass, field
import math
import re

import numpy as np

from maxkernel_runner.estimate.description import ITEM_BITS, registers
from maxkernel_runner.estimate.mosaic import Operation, Type


@dataclass(frozen=True)
class Unknown:
  """A scalar without a value. kind: "value" if a caller could supply it, "data" if only the device knows, "loop" inside a counted loop."""

  kind: str
  reason: str = ""


@dataclass
class Vector:
  shape: tuple[int, ...]
  element: str
  rows: bool = True  # whether values differ along the second minor dimension
  lanes: bool = True  # and along the minor one
  from_dot: bool = False
  constant: bool = False

  @property
  def bits(self) -> int:
    return 32 if self.element == "i1" else ITEM_BITS.get(self.element, 32)

  def distinct(self, bits: int | None = None) -> float:
    """Registers that hold different values; the compiler computes equal ones once."""
    shape = list(self.shape)
    if shape and not self.lanes:
      shape[-1] = 1
    if len(shape) > 1 and not self.rows:
      shape[-2] = 1
    return registers(tuple(shape), self.bits if bits is None else bits)


@dataclass
class Reference:
  root: int
  shape: tuple[int, ...]
  element: str
  space: str
  offsets: list = field(default_factory=list)  # per dimension of the root
  kept: list[int] = field(default_factory=list)  # root dimensions that are left

  def key(self) -> object:
    return (self.root, tuple(tuple(o.tolist()) if isinstance(o, np.ndarray) else o for o in self.offsets))


def whole(root: int, kind: Type) -> Reference:
  return Reference(root, kind.shape, kind.element, kind.space, [0] * len(kind.shape), list(range(len(kind.shape))))


def product(shape) -> int:
  return math.prod(shape)


def divide(a, b):
  """Integer division that truncates, as the hardware does; lanes that divide by zero are not executed."""
  b = np.where(np.asarray(b) == 0, 1, b)
  quotient = np.abs(a) // np.abs(b)
  return quotient * np.sign(a) * np.sign(b)


SCALAR_OPERATIONS = {
    "arith.addi": lambda a, b: a + b, "arith.subi": lambda a, b: a - b, "arith.muli": lambda a, b: a * b,
    "arith.addf": lambda a, b: a + b, "arith.subf": lambda a, b: a - b, "arith.mulf": lambda a, b: a * b,
    "arith.divsi": divide, "arith.divui": divide,
    "arith.remsi": lambda a, b: a - divide(a, b) * b, "arith.remui": lambda a, b: a - divide(a, b) * b,
    "arith.floordivsi": lambda a, b: a // np.where(np.asarray(b) == 0, 1, b),
    "arith.ceildivsi": lambda a, b: -(-a // np.where(np.asarray(b) == 0, 1, b)),
    "arith.maxsi": np.maximum, "arith.minsi": np.minimum, "arith.maxui": np.maximum, "arith.minui": np.minimum,
    "arith.andi": lambda a, b: a & b, "arith.ori": lambda a, b: a | b, "arith.xori": lambda a, b: a ^ b,
    "arith.shli": lambda a, b: a << b, "arith.shrsi": lambda a, b: a >> b, "arith.shrui": lambda a, b: a >> b,
    "arith.maximumf": np.maximum, "arith.minimumf": np.minimum, "arith.negf": lambda a: -a,
    "arith.extui": lambda a: int(a) if isinstance(a, (bool, np.bool_)) else a + 0,
    "arith.extsi": lambda a: a, "arith.trunci": lambda a: a,
    "arith.index_cast": lambda a: a, "arith.index_castui": lambda a: a, "arith.extf": lambda a: a, "arith.truncf": lambda a: a,
    "arith.sitofp": lambda a: a, "arith.uitofp": lambda a: a, "arith.fptosi": lambda a: np.trunc(a),
    "arith.bitcast": lambda a: Unknown("data", "bit cast"), "tpu.assume_multiple": lambda a, *_: a,
    "math.absi": np.abs,
}
# arith.cmpi predicates by number: eq ne slt sle sgt sge ult ule ugt uge.
COMPARE = (np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal, np.less, np.less_equal, np.greater,
            np.greater_equal)
COMPARE_NAMES = {"eq": 0, "ne": 1, "slt": 2, "sle": 3, "sgt": 4, "sge": 5, "ult": 6, "ule": 7, "ugt": 8, "uge": 9}


def plain(value):
  """Scalars that do not differ between steps as Python numbers: an order of magnitude faster than numpy scalars."""
  if isinstance(value, np.ndarray) and value.ndim == 0 or isinstance(value, np.generic):
    return value.item()
  return value


def first_unknown(*values) -> Unknown | None:
  found = [v for v in values if isinstance(v, Unknown)]
  for kind in ("value", "data", "loop"):
    for value in found:
      if value.kind == kind:
        return value
  return found[0] if found else None


def freeze(value):
  return value.tobytes() if isinstance(value, np.ndarray) else value


def same(a, b) -> bool:
  if isinstance(a, Unknown) or isinstance(b, Unknown):
    return False
  return bool(np.array_equal(a, b))


def merge(condition, a, b):
  if isinstance(a, Vector) and isinstance(b, Vector):
    return Vector(a.shape, a.element, a.rows or b.rows, a.lanes or b.lanes, a.from_dot or b.from_dot)
  if isinstance(a, (Vector, Reference)):
    return a
  unknown = first_unknown(a, b)
  if unknown is not None:
    return unknown
  return np.where(condition, a, b)


def constant_of(op: Operation):
  kind = op.result_types[0]
  value = op.attributes.get("value")
  if kind.kind == "vector":
    splat = value == "splat"
    return Vector(kind.shape, kind.element, rows=not splat, lanes=not splat, constant=True)
  if isinstance(value, str):
    return {"true": True, "false": False}.get(value, Unknown("data", "constant"))
  return value
