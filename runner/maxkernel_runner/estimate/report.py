"""Bytes of a module in, the result of an estimate out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Mapping, Sequence

import numpy as np
from jaxlib.mlir import ir

from maxkernel_runner.estimate import MODEL_VERSION, module as modules, mosaic, scalars, surroundings, trace
from maxkernel_runner.estimate.chip import Chip, from_hardware
from maxkernel_runner.estimate.description import ITEM_BITS, KernelDescription, ProgramDescription
from maxkernel_runner.estimate.graph import Flattener, GraphError, Tensor
from maxkernel_runner.estimate.model import Model, floor_seconds, kernel_time, program_seconds, xla_seconds

_GUESS_SHARE = 0.02  # of the time, from which guessed fusion is worth a flag

# Share of the VMEM limit from which the compiler's own temporaries may not fit: ahead-of-time compiles of plain matmuls needed exactly the
# blocks and scratch, or up to 21 % more.
_NEAR_LIMIT = 0.8

# Half widths of the interval, by what dominates. The first two follow the errors seen on published times, the others are set.
_MATMUL_INTERVAL, _OTHER_INTERVAL, _GUESS_INTERVAL, _BLIND_INTERVAL = 0.10, 0.20, 0.40, 0.50


@dataclass
class TracedProgram:
  high: ProgramDescription
  low: ProgramDescription | None  # with missing values at their best; None when nothing was missing
  missing: str = ""


def _absent(reason: str, flags: Sequence[str] = (), facts: Mapping[str, float] | None = None) -> dict[str, Any]:
  return {"time_s": None, "low_s": None, "high_s": None, "absent": reason, "flags": sorted(flags), "model_version": MODEL_VERSION,
          "kernels": [], "facts": dict(facts or {})}


def estimate_module(data: bytes, *, arguments: Sequence[Any], hardware: Mapping[str, Any]) -> dict[str, Any]:
  loaded = modules.load(data)
  try:
    chip = from_hardware(hardware)
  except KeyError as error:
    return _absent(str(error.args[0]))
  if arguments and len(arguments) != loaded.inputs:
    return _absent(f"arguments: expected {loaded.inputs} entries, one per input of the module, got {len(arguments)}")
  try:
    with loaded.context, ir.Location.unknown():
      traced = trace_program(loaded, list(arguments) or [None] * loaded.inputs, chip)
    return result_of(traced, Model(chip))
  except GraphError as error:
    return _absent(str(error))
  except Exception as error:  # a fault of ours must not look like one of the candidate
    return _absent(f"the estimator failed on this module: {type(error).__name__}: {str(error)[:300]}", ["internal_error"])


def _main_arguments(loaded: modules.LoadedModule, arguments: list) -> list:
  return [None if position is None else arguments[position] for position in loaded.argument_positions]


def trace_program(loaded: modules.LoadedModule, arguments: list, chip: Chip) -> TracedProgram:
  flattener = Flattener(loaded)
  program = flattener.flatten()
  found = surroundings.Surveyor(flattener.types, chip).survey(program)
  high = ProgramDescription(operations=found.operations, flags=set(found.flags), absent=found.absent)
  low = ProgramDescription(operations=found.operations, flags=high.flags)
  values = _main_arguments(loaded, arguments)
  missing = ""
  for site in found.kernels:
    pair, reason = _describe_site(site, loaded, program, flattener.types, values, chip, found)
    missing = missing or reason
    high.kernels.append(pair[0])
    low.kernels.append(pair[1])
  absent = next((k.absent for k in high.kernels if k.absent), "")
  high.absent = high.absent or absent
  high.floor_bytes = low.floor_bytes = _floor_bytes(program, flattener.types, found.reads)
  return TracedProgram(high, low if missing else None, missing)


def _plain_bytes(tensor: Tensor) -> float:
  return float(np.prod(tensor.shape, dtype=np.float64)) * ITEM_BITS.get(tensor.element, 0) / 8


def _floor_bytes(program, types: dict[int, Tensor], reads: dict[int, float]) -> float:
  read = sum(min(_plain_bytes(types[argument]), reads.get(argument, 0.0)) for argument in program.arguments)
  return read + sum(_plain_bytes(types[value]) for value in set(program.results))


def _operands(site, loaded, program, types, values, needed: list[int]) -> list[trace.Operand]:
  """Operands of a call; those at the needed positions with their values where these can be had."""
  node = site.node
  wanted = [node.operands[position] for position in needed if position < len(node.operands)]
  found: dict[int, np.ndarray] = {}
  reasons: dict[int, str] = {}
  if wanted:
    inside = site.program is not program
    arguments = [None] * len(site.program.arguments) if inside else values
    for group in (wanted, *([value] for value in wanted)):
      remaining = [value for value in group if value not in found]
      if not remaining:
        continue
      try:
        found.update(scalars.evaluate(loaded, site.program, types, remaining, arguments))
      except scalars.Unavailable as error:
        reason = "they change in a loop around the kernel" if inside and "argument" in str(error) else str(error)
        reasons.update(dict.fromkeys(remaining, reason))
  return [trace.Operand(types[o].shape, types[o].element, found.get(o), reasons.get(o, "its values are not given")) for o in node.operands]


def _describe_site(site, loaded, program, types, values, chip: Chip, found: surroundings.Surroundings):
  node = site.node
  attributes = node.operation.attributes
  name = ir.StringAttr(attributes["kernel_name"]).value if "kernel_name" in attributes else "kernel"
  try:
    call = modules.decode_kernel(ir.StringAttr(attributes["backend_config"]).value, loaded.context)
    kernel = mosaic.decode(call.module)
  except ValueError as error:
    broken = trace.absent_kernel(name, str(error))
    return (broken, broken), ""
  operands = _operands(site, loaded, program, types, values, trace.scalar_operands(kernel))
  results = [trace.Operand(t.shape, t.element) for t in node.types]
  describe = lambda prefer: trace.describe(kernel, name, operands, results, chip, prefer=prefer, vmem_limit=call.vmem_limit_bytes,
                                           internal_scratch=call.internal_scratch_bytes)
  high, missing = describe("high")
  low = describe("low")[0] if missing else high
  for description in (high, low):
    description.times = site.times
  offset = len(node.operands) - len(high.operand_bytes)
  for value, size in zip(node.operands[offset:], high.operand_bytes):
    found.note_read(value, size)
  _check_vmem(high, chip)
  return (high, low), missing


def _check_vmem(kernel: KernelDescription, chip: Chip) -> None:
  limit = chip.vmem_limit if kernel.vmem_limit is None else min(kernel.vmem_limit, chip.vmem_capacity)
  certain = kernel.vmem.windows + kernel.vmem.scratch
  if certain > limit and not kernel.absent:
    kernel.absent = (f"kernel {kernel.name} needs {certain / 2**20:.1f} MiB of VMEM for its blocks and scratch, "
                     f"the limit on {chip.name} is {limit / 2**20:.1f} MiB")
  elif kernel.vmem.total > _NEAR_LIMIT * limit:
    kernel.flags.add("vmem_near_limit")


def result_of(traced: TracedProgram, model: Model) -> dict[str, Any]:
  program = traced.high
  flags = set(program.flags).union(*(kernel.flags for kernel in program.kernels))
  if program.absent:
    return _absent(program.absent, flags, _static_facts(program, model))
  kernels, kernel_seconds, flops, moved = [], 0.0, 0.0, 0.0
  for kernel in program.kernels:
    timed = kernel_time(kernel, model)
    seconds = timed.seconds * kernel.times
    kernel_seconds += seconds
    flops += timed.flops * kernel.times
    moved += timed.bytes * kernel.times
    kernels.append({"name": kernel.name, "steps": kernel.steps * kernel.times, "time_s": seconds, "bytes": timed.bytes * kernel.times,
                    "flops": timed.flops * kernel.times, "vmem_bytes": kernel.vmem.total, "bound_by": timed.bound_by})
  guessed = exact = 0.0
  for operation in program.operations:
    seconds = (xla_seconds(operation, model) + model.constants.operation_s) * operation.times
    guessed, exact = (guessed + seconds, exact) if operation.guess else (guessed, exact + seconds)
    moved += (operation.read_bytes + operation.write_bytes) * operation.times
    flops += float(operation.work.flops()) * operation.times
  total = program_seconds(program, model)
  floor = floor_seconds(program, model)
  if guessed > _GUESS_SHARE * total or not program.kernels:
    flags.add("xla_guess")
  if total <= floor:
    flags.add("raised_to_floor")
  facts = {**_static_facts(program, model), "flops": flops, "hbm_bytes": moved, "kernel_s": kernel_seconds, "xla_s": guessed + exact,
           "xla_guessed_s": guessed, "floor_s": floor}
  width = _interval(flags, kernels, kernel_seconds, total)
  result = {"time_s": total, "low_s": max(floor, total * (1 - width)), "high_s": total * (1 + width), "absent": "", "flags": sorted(flags),
            "model_version": MODEL_VERSION, "kernels": kernels, "facts": facts}
  if traced.low is not None:
    best = program_seconds(traced.low, model)
    result.update(time_s=None, low_s=max(floor, min(best, total) * (1 - width)),
                  absent=f"the time depends on {traced.missing}")
  return result


def _static_facts(program: ProgramDescription, model: Model) -> dict[str, float]:
  return {"kernels": len(program.kernels), "steps": sum(k.steps * k.times for k in program.kernels),
          "xla_operations": sum(o.times for o in program.operations),
          "vmem_bytes": max((k.vmem.total for k in program.kernels), default=0), "vmem_limit_bytes": model.chip.vmem_limit,
          "cores": max((k.cores for k in program.kernels), default=model.chip.cores)}


def _interval(flags: set[str], kernels: list[dict], kernel_seconds: float, total: float) -> float:
  blind = any(f.startswith("unknown_op") or f in ("semaphores", "loop_extrapolated") for f in flags)
  if blind:
    return _BLIND_INTERVAL
  if "xla_guess" in flags or "own_copies" in flags or any(f.startswith("data_dependent") for f in flags):
    return _GUESS_INTERVAL
  matmul = sum(k["time_s"] for k in kernels if k["bound_by"] == "matrix")
  return _MATMUL_INTERVAL if kernel_seconds and matmul > 0.5 * total else _OTHER_INTERVAL
