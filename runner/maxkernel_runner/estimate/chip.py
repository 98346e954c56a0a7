"""Figures of one chip that the model needs, per core that a kernel can use."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Mapping

# Vector clock of a chip whose matrix unit edge is 256: peak / (units * edge^2 * 2) gives twice a plausible clock there, so the
# same formula is used with half the result. Only cycles / clock enters the model; see VECTOR_CYCLES in model.py.
_CLOCK_DIVISOR_EDGE_256 = 2.0

# Default scoped limits a kernel gets when it asks for none. 32 MiB on v6e is printed by the compiler's own out-of-memory text; 16 MiB
# for the generations before it agrees with the largest block sets published for them. Not capacities.
_SCOPED_LIMIT_MIB = {4: 16, 5: 16, 6: 32, 7: 32, 8: 32}


@dataclass(frozen=True)
class Chip:
  name: str
  generation: int
  cores: int  # cores that one jax device drives
  peak_flops: float  # bf16, per core
  int8_flops: float | None  # per core; None when the chip lists no integer matmul
  fp8_flops: float | None
  bandwidth: float  # HBM byte/s per core
  matrix_edge: int
  clock: float  # Hz, vector unit
  vmem_capacity: int
  vmem_limit: int
  sublane_tile: Mapping[int, int]  # bits of an element -> rows of a tile

  @property
  def peak_flops_of_device(self) -> float:
    return self.peak_flops * self.cores

  @property
  def bandwidth_of_device(self) -> float:
    return self.bandwidth * self.cores


def _number(entry: Mapping[str, Any], key: str, name: str) -> float:
  value = entry.get(key)
  if isinstance(value, bool) or not isinstance(value, (int, float)) or value <= 0:
    raise KeyError(f"hardware: chip {name}: field {key} must be a positive number, got {value!r}")
  return float(value)


def _tiles(common: Mapping[str, Any], generation: int) -> dict[int, int]:
  tables = common.get("sublane_tile_by_bits") or {}
  table = tables.get("gen_lt_7" if generation < 7 else "gen_7") or {32: 8, 16: 8, 8: 32, 4: 64}
  return {int(bits): int(rows) for bits, rows in table.items()}


def from_hardware(hardware: Mapping[str, Any]) -> Chip:
  """Raises KeyError with the missing field's name when the entry lacks a figure the model cannot do without."""
  entry, common = hardware.get("chip"), hardware.get("common") or {}
  if not isinstance(entry, Mapping):
    raise KeyError("hardware: field chip must be an entry of the hardware file")
  name = str(entry.get("name", "unnamed"))
  cores_per_chip = _number(entry, "tensorcores_per_chip", name)
  unfused = entry.get("megacore") is False  # then each core is a device of its own
  devices = cores_per_chip if unfused and "devices_per_chip" not in entry else _number(entry, "devices_per_chip", name)
  matrix = entry.get("mxu") or {}
  edge = int(_number(matrix, "size", name + " mxu"))
  units = _number(matrix, "count_per_core", name + " mxu")
  generation = int(_number(entry, "generation", name))
  peak = _number(entry, "bf16_tflops", name) * 1e12 / cores_per_chip
  clock = peak / (units * edge * edge * 2)
  if edge >= 256:
    clock /= _CLOCK_DIVISOR_EDGE_256

  def optional(key: str) -> float | None:
    return float(entry[key]) * 1e12 / cores_per_chip if entry.get(key) else None

  capacity = int(_number(entry, "vmem_mib_per_core", name) * 2**20)
  default_limit = entry.get("scoped_vmem_default_mib", _SCOPED_LIMIT_MIB.get(generation, 16))
  return Chip(
      name=name,
      generation=generation,
      cores=max(1, round(cores_per_chip / devices)),
      peak_flops=peak,
      int8_flops=optional("int8_tops"),
      fp8_flops=optional("fp8_tflops"),
      bandwidth=_number(entry, "hbm_gbps", name) * 1e9 / cores_per_chip,
      matrix_edge=edge,
      clock=clock,
      vmem_capacity=capacity,
      vmem_limit=min(capacity, int(default_limit * 2**20)),
      sublane_tile=_tiles(common, generation),
  )
