"""How much work a task's reference declares: the floor under any time, from its jaxpr.

Two figures each. `flops` and `bytes` count the reference as written: its matrix products, convolutions, elementwise
operations and reductions; every argument read once and every result written once. `least_*` is what no right kernel can do
without: where the reference masks or selects anywhere (a causal mask, a ragged product, a gather) a kernel may skip what does
not show, so only results count there.
"""

import math

from maxkernel_runner import arrays, tracing

_FREE = frozenset({
    "broadcast_in_dim", "reshape", "squeeze", "expand_dims", "transpose", "slice", "dynamic_slice", "concatenate", "pad", "copy",
    "convert_element_type", "bitcast_convert_type", "iota", "rev", "gather", "stop_gradient", "split", "copy_p", "dynamic_update_slice",
})
_MASKING = frozenset({"select_n", "ragged_dot_general", "ragged_dot", "gather", "dynamic_slice", "while", "cond", "sort", "top_k",
                      "approx_top_k", "argmax", "argmin", "cumsum"})


def floor(closed_jaxpr, entry):
    flops, products, masked = _count(closed_jaxpr.jaxpr)
    read, written = (sum(arrays.nbytes(e) for e in entry[key]) for key in ("arguments", "outputs"))
    used = {v for e in closed_jaxpr.jaxpr.eqns for v in e.invars if not hasattr(v, "val")} | {
        v for v in closed_jaxpr.jaxpr.outvars if not hasattr(v, "val")}
    needed = 0 if masked else sum(arrays.nbytes(e) for e, v in zip(entry["arguments"], closed_jaxpr.jaxpr.invars) if v in used)
    return {"flops": flops, "bytes": read + written, "least_flops": 0 if masked else products, "least_bytes": needed + written}


def seconds(floor_entry, hardware, least=False):
    """(seconds, what bounds it) of one device of the chip; None where the hardware file lacks the figures."""
    per_chip = max(1, int(hardware.get("devices_per_chip", 1)))
    peak = max((float(hardware.get(k, 0) or 0) for k in ("bf16_tflops", "bf16_tflops_alt", "fp8_tflops", "int8_tops", "int4_tops")), default=0)
    if not least:
        peak = float(hardware.get("bf16_tflops", 0) or 0)
    bandwidth = max(float(hardware.get(k, 0) or 0) for k in ("hbm_gbps", "hbm_gbps_alt"))
    if not peak or not bandwidth:
        return None, ""
    prefix = "least_" if least else ""
    compute = floor_entry[prefix + "flops"] / (peak * 1e12 / per_chip)
    memory = floor_entry[prefix + "bytes"] / (bandwidth * 1e9 / per_chip)
    return max(compute, memory), "compute" if compute >= memory else "memory"


def _count(jaxpr):
    """(all operations, those of products alone, whether anything selects by position or value)."""
    flops = products = 0
    masked = False
    for equation in jaxpr.eqns:
        name = equation.primitive.name
        masked |= name in _MASKING
        inner = list(tracing.inner_jaxprs(equation))
        if name in ("dot_general", "ragged_dot_general", "ragged_dot"):
            count = _dot(equation)
            flops += count
            products += count
        elif name == "conv_general_dilated":
            count = _convolution(equation)
            flops += count
            products += count
        elif inner and not name.startswith("reduce") and name not in ("scatter", "scatter-add", "sort"):
            counts = [_count(j) for j in inner]
            times = equation.params.get("length", 1) if name == "scan" else 1
            if name == "cond":
                counts = [min(counts)]
            flops += times * sum(c[0] for c in counts)
            products += times * sum(c[1] for c in counts)
            masked |= any(c[2] for c in counts)
        elif name.startswith(("reduce", "arg", "cum")):
            flops += _size(equation.invars[0])
        elif name not in _FREE:
            flops += sum(_size(v) for v in equation.outvars)
    return flops, products, masked


def _size(variable):
    return math.prod(getattr(variable.aval, "shape", ()))


def _dot(equation):
    lhs = equation.invars[0].aval.shape
    numbers = equation.params.get("dimension_numbers") or equation.params.get("ragged_dot_dimension_numbers")
    numbers = getattr(numbers, "dot_dimension_numbers", numbers)
    contracted = math.prod(lhs[d] for d in numbers[0][0])
    return 2 * _size(equation.outvars[0]) * contracted


def _convolution(equation):
    kernel = equation.invars[1].aval.shape
    spec = equation.params["dimension_numbers"].rhs_spec
    return 2 * _size(equation.outvars[0]) * math.prod(kernel) // kernel[spec[0]]
