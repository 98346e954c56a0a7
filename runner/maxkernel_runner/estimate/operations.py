"""What operations of a kernel body cost, in uses of the vector unit's slots per register."""

from __future__ import annotations

import math
import re

from maxkernel_runner.estimate.description import Dot
from maxkernel_runner.estimate.mosaic import Operation, Type
from maxkernel_runner.estimate.values import Vector, product

# Uses per register of result. Divisions and roots: an approximation from the transcendental unit, then refinement on the ALUs.
ALU = {
    **dict.fromkeys(
        ("arith.addf arith.subf arith.mulf arith.maximumf arith.minimumf arith.maxnumf arith.minnumf arith.negf arith.addi arith.subi"
         " arith.andi arith.ori arith.xori arith.shli arith.shrsi arith.shrui arith.cmpf arith.cmpi arith.select arith.maxsi arith.minsi"
         " arith.maxui arith.minui math.absf math.absi math.floor math.ceil math.fma tpu.create_mask tpu.mask_cast"
         " tpu.broadcast_in_sublanes").split(), 1.0),
    **dict.fromkeys("arith.muli math.round math.roundeven math.trunc math.copysign math.ctpop math.ctlz".split(), 3.0),
    "arith.divf": 4.0, "arith.remf": 10.0,
    **dict.fromkeys("arith.divsi arith.divui arith.remsi arith.remui arith.floordivsi arith.ceildivsi".split(), 20.0),
    "math.exp": 1.0, "math.exp2": 0.0, "math.expm1": 6.0, "math.log": 1.0, "math.log2": 1.0, "math.log1p": 5.0, "math.tanh": 1.0,
    "math.rsqrt": 0.0, "math.sqrt": 3.0, "math.powf": 4.0, "math.erf": 20.0, "math.cbrt": 10.0, "math.atan": 25.0, "math.atan2": 30.0,
    **dict.fromkeys("math.sin math.cos math.tan math.sinh math.cosh math.asin math.acos".split(), 25.0),
    "tpu.prng_random_bits": 20.0, "tpu.stochastic_convert": 6.0, "tpu.stochastic_convert_elementwise": 6.0,
    "tpu.reciprocal": 0.0,
}
TRANSCENDENTAL = {
    **dict.fromkeys("arith.divf math.exp math.exp2 math.expm1 math.log math.log2 math.log1p math.tanh math.rsqrt math.sqrt"
                    " math.cbrt tpu.reciprocal".split(), 1.0),
    "math.powf": 2.0,
}
CONVERSIONS = frozenset(
    "arith.extf arith.truncf arith.sitofp arith.uitofp arith.fptosi arith.fptoui arith.extsi arith.extui arith.trunci arith.scaling_truncf"
    " tpu.extf tpu.truncf tpu.sitofp tpu.uitofp tpu.fptosi tpu.fptoui tpu.pack_elementwise tpu.unpack_elementwise tpu.pack_subelements"
    " tpu.unpack_subelements".split())
FREE = frozenset(
    "tpu.bitcast arith.bitcast vector.bitcast arith.index_cast arith.index_castui tpu.bitcast_vreg tpu.repeat tpu.assume_layout"
    " tpu.erase_memref_layout tpu.trace_start tpu.trace_stop tpu.trace_value tpu.log tpu.log_buffer cf.assert tpu.prng_set_seed_32"
    " tpu.roll_vectors tpu.unroll_vectors tpu.assume_multiple scf.yield tpu.yield func.return scf.condition scf.reduce".split())
LOADS = frozenset("vector.load vector.transfer_read tpu.load tpu.vector_load tpu.strided_load tpu.shuffled_load vector.maskedload".split())
STORES = frozenset(
    "vector.store vector.transfer_write tpu.store tpu.vector_store tpu.strided_store tpu.shuffled_store vector.maskedstore".split())
CROSS_LANE = {"tpu.rotate": 1.0, "tpu.dynamic_rotate": 1.0, "tpu.dynamic_gather": 2.0, "tpu.gather": 2.0, "tpu.sublane_shuffle": 1.0,
               "tpu.relayout": 2.0, "tpu.pack_vmsk": 1.0, "vector.shuffle": 2.0, "vector.interleave": 2.0}
TRANSPOSE_CYCLES = 1.22  # per register; the same figure as the model's fitted class
REMOTE = re.compile(r"tpu\.(sem_barrier|barrier)$")


def _axes(text: str) -> list[list[int]]:
  return [[int(d) for d in re.findall(r"\d+", group)] for group in re.findall(r"\[([^\]]*)\]", text)]


def passes_of(op: Operation, lhs: Vector, rhs: Vector) -> tuple[int, bool]:
  """Passes of the matrix unit, and whether that is an assumption."""
  precision = str(op.attributes.get("precision", ""))
  if "f32" not in (lhs.element, rhs.element):
    return 1, False
  if "fp32" in precision:
    return 6, False
  return 1, "bf16" not in precision and lhs.element == rhs.element


def dot_of(op: Operation, lhs: Vector, rhs: Vector, out: Type) -> tuple[Dot, bool]:
  """The matmul, and whether its left operand must be transposed first."""
  passes, _ = passes_of(op, lhs, rhs)
  groups = _axes(str(op.attributes.get("dimension_numbers", "")))
  if op.name == "tpu.matmul" and len(groups) >= 7:
    contracting, batches = groups[0], groups[5]
    k = product(lhs.shape[d] for d in contracting)
    batch = product(lhs.shape[d] for d in batches)
    m = product(lhs.shape) // (k * batch)
    n = product(rhs.shape) // (k * batch)
    turned = bool(contracting) and contracting[0] != len(lhs.shape) - 1
    return Dot(m, k, n, lhs.element, rhs.element, passes, batch), turned
  a, b, c = product(lhs.shape), product(rhs.shape), product(out.shape)
  side = lambda value: max(1, round(math.sqrt(value)))
  return Dot(side(a * c / b), side(a * b / c), side(b * c / a), lhs.element, rhs.element, passes), False
