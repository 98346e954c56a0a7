"""What the model knows of a program: counts without time. Written by `trace`, or by hand for kernels that were measured."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Mapping

import numpy as np

ITEM_BITS = {
    "f64": 64, "f32": 32, "bf16": 16, "f16": 16,
    "f8E4M3": 8, "f8E5M2": 8, "f8E4M3FN": 8, "f8E4M3FNUZ": 8, "f8E4M3B11FNUZ": 8, "f8E5M2FNUZ": 8, "f8E3M4": 8, "f8E8M0FNU": 8,
    "f4E2M1FN": 4, "i64": 64, "i32": 32, "i16": 16, "i8": 8, "i4": 4, "i2": 2, "i1": 8,
    "ui64": 64, "ui32": 32, "ui16": 16, "ui8": 8, "ui4": 4, "ui2": 2,
}


def round_up(value: int, multiple: int) -> int:
  return -(-value // multiple) * multiple


def registers(shape: tuple[int, ...], bits: int = 32) -> float:
  """Vector registers (8 x 128 words of 32 bits) that hold an array, its last two dimensions padded."""
  if not shape:
    return 1.0
  rows = shape[-2] if len(shape) > 1 else 1
  packing = max(1, 32 // bits)
  count = -(-rows // (8 * packing)) * -(-shape[-1] // 128) * max(1, bits // 32)
  for size in shape[:-2]:
    count *= size
  return float(count)


def padded_bytes(shape: tuple[int, ...], bits: int, sublane_tile: Mapping[int, int]) -> int:
  """Bytes of an array in memory tiled by (rows, 128)."""
  if not shape:
    return bits // 8 or 1
  elements = round_up(shape[-1], 128)
  if len(shape) > 1:
    elements *= round_up(shape[-2], sublane_tile.get(bits, 8))
    for size in shape[:-2]:
      elements *= size
  return elements * bits // 8


@dataclass(frozen=True)
class Dot:
  """A matmul on the matrix unit: rows m stream, k by n fill the array. `passes` multiplies for operands wider than bf16."""

  m: int
  k: int
  n: int
  lhs: str = "bf16"
  rhs: str = "bf16"
  passes: int = 1
  batch: int = 1

  @property
  def flops(self) -> float:
    return 2.0 * self.batch * self.m * self.k * self.n


@dataclass
class Work:
  """Work of each class of steps: for a dot its number, for a class of vector operations its registers. Values: (classes,) arrays."""

  dots: dict[Dot, np.ndarray] = field(default_factory=dict)
  vector: dict[str, np.ndarray] = field(default_factory=dict)

  def add_dot(self, dot: Dot, times) -> None:
    self.dots[dot] = self.dots.get(dot, 0.0) + times

  def add_vector(self, name: str, count) -> None:
    self.vector[name] = self.vector.get(name, 0.0) + count

  def flops(self):
    total = 0.0
    for dot, times in self.dots.items():
      total = total + dot.flops * times
    return total


@dataclass
class Transfer:
  """One event of a kernel that moves its own data: `kind` is "start" or "wait", `key` names the semaphore."""

  kind: str
  key: object
  transferred: float


@dataclass
class Timeline:
  """Ordered events of a kernel with its own loop. An entry is a Transfer or the Work between two of them.

  `steps` are grid steps, each with its fixed cost; in a kernel without a grid every piece of work between two events counts as one.
  """

  events: list = field(default_factory=list)
  steps: int | None = None


@dataclass
class VmemNeed:
  windows: int = 0
  scratch: int = 0
  temporaries: int = 0  # values too large for registers; an estimate, unlike the other two

  @property
  def total(self) -> int:
    return self.windows + self.scratch + self.temporaries


@dataclass
class KernelDescription:
  """A kernel as classes of grid steps that move and compute the same."""

  name: str
  count: np.ndarray  # steps of each class
  core: np.ndarray  # core that runs the class; all zero when one core does
  fetch_bytes: np.ndarray  # input blocks fetched during the step, clipped at the array's edge
  write_bytes: np.ndarray  # output blocks written back during the step
  every_bytes: np.ndarray  # the same if no block were ever reused
  work: Work
  cores: int = 1
  first_bytes: float = 0.0  # blocks fetched before the first step
  last_bytes: float = 0.0  # blocks written after the last
  buffers: int = 2  # of the deepest pipelined input
  chained: bool = False  # a matmul consumes what vector operations made of another matmul
  rounds: np.ndarray | float = 1.0  # such chains per step
  exposed: float | None = None  # share of one round that nothing overlaps; None: the model's constant
  own_dma_bytes: np.ndarray | float = 0.0  # bytes the kernel moves itself, hidden behind compute
  exposed_dma_bytes: np.ndarray | float = 0.0  # bytes it moves and waits for at once
  timeline: Timeline | None = None
  vmem: VmemNeed = field(default_factory=VmemNeed)
  vmem_limit: int | None = None
  operand_bytes: list[float] = field(default_factory=list)  # fetched of each operand after the grid bounds; 0 where the kernel copies
  times: float = 1.0  # runs of the kernel in one call of the function
  flags: set[str] = field(default_factory=set)
  absent: str = ""

  @property
  def steps(self) -> float:
    return float(np.sum(self.count))


@dataclass
class XlaOperation:
  """One operation, or one fused group, that XLA runs around the kernels."""

  name: str
  read_bytes: float
  write_bytes: float
  work: Work = field(default_factory=Work)  # scalar counts
  times: float = 1.0
  guess: bool = True  # whether fusion was guessed


@dataclass
class ProgramDescription:
  kernels: list[KernelDescription] = field(default_factory=list)
  operations: list[XlaOperation] = field(default_factory=list)
  floor_bytes: float = 0.0  # inputs read once, outputs written once
  flags: set[str] = field(default_factory=set)
  absent: str = ""
