"""Traces a computation once and lowers that one trace for the TPU and for the CPU."""

import functools

import jax
import jax.export  # noqa: F401  not loaded by jax itself
import jax.extend
from jax._src.interpreters import mlir
from jax._src.pallas import pallas_call as pallas_call_module
from jax.experimental import pallas as pl  # noqa: F401
from jax.experimental.pallas import tpu as pltpu  # noqa: F401

from maxkernel_runner import signature, trees

_FUNCTION_NAME = "computation"


class SignatureMismatch(Exception):
    """The computation gives another tree, shape or dtype than the reference."""


class TraceFinding(Exception):
    """The traced program holds something that is refused; `rule` in a word or two."""

    def __init__(self, rule, message):
        super().__init__(message)
        self.rule = rule


def abstract_device(hardware):
    """The context in which code that asks for its device sees the task's chip."""
    kind = (hardware.get("device_kinds") or ["TPU v6 lite"])[0]
    cores = int(hardware.get("cores_per_device", 1))
    device = jax.sharding.AbstractDevice(kind, cores, "tpu")
    return jax.sharding.use_abstract_mesh(jax.sharding.AbstractMesh((), (), abstract_device=device))


def trace(function, entry, hardware):
    """A closed jaxpr over the flat dynamic arguments of a case, with flat results. Checks the results against `entry`."""
    static = tuple(signature.decode_static(value) for value in entry["static"])

    def flat(*leaves):
        dynamic = trees.unflatten(entry["argument_tree"], leaves)
        return check_outputs(function(*dynamic, *static), entry)

    with abstract_device(hardware):
        traced = jax.jit(flat).trace(*signature.shapes(entry["arguments"]))
    return traced.jaxpr


def check_outputs(value, entry):
    """The leaves of a result if tree, shapes and dtypes are as they must be; raises SignatureMismatch."""
    try:
        tree, leaves, paths = trees.flatten(value)
    except trees.UnsupportedTree as error:
        raise SignatureMismatch(f"the result cannot be compared: {error}") from error
    expected = entry["outputs"]
    if tree != entry["output_tree"]:
        raise SignatureMismatch(f"the result has the structure {trees.describe(tree)}, expected {trees.describe(entry['output_tree'])}")
    for leaf, path, want in zip(leaves, paths, expected):
        name = f"output{path}"
        if not isinstance(leaf, jax.Array) and type(leaf).__module__ != "numpy":
            raise SignatureMismatch(f"{name} is a {type(leaf).__name__}, expected an array {signature.describe(want)}")
        got = {"shape": list(leaf.shape), "dtype": leaf.dtype.name}
        if got != {"shape": want["shape"], "dtype": want["dtype"]}:
            raise SignatureMismatch(f"{name} is {signature.describe(got)}, expected {signature.describe(want)}")
    return tuple(leaves)


def export(closed_jaxpr, entry, platform, hardware):
    """jax.export of one trace. On the CPU, Pallas calls are interpreted."""
    flat = jax.extend.core.jaxpr_as_fun(closed_jaxpr)

    def computation(*leaves):
        return tuple(flat(*leaves))

    computation.__name__ = computation.__qualname__ = _FUNCTION_NAME
    shapes = signature.shapes(entry["arguments"])
    if platform == "cpu":
        interpret_on_cpu()
        return jax.export.export(jax.jit(computation), platforms=["cpu"])(*shapes)
    with abstract_device(hardware):
        return jax.export.export(jax.jit(computation), platforms=["tpu"])(*shapes)


@functools.cache
def interpret_on_cpu():
    """From now on a Pallas call lowers for the CPU as its interpretation, as if its author had asked for that."""
    def lower(context, *nodes, interpret, **parameters):
        return pallas_call_module._pallas_call_lowering(context, *nodes, interpret=interpret or True, **parameters)

    mlir.register_lowering(pallas_call_module.pallas_call_p, lower, platform="cpu")


class KernelInControlFlow(Exception):
    pass


def with_interpreter(closed_jaxpr, parameters):
    """A function over the flat arguments in which each Pallas call is bound with `interpret=parameters`.

    TPU interpret mode adds effects to a call, so it has to be set where the call is bound; a lowering rule comes too late.
    """
    def function(*arguments):
        return _evaluate(closed_jaxpr.jaxpr, closed_jaxpr.consts, arguments, parameters)

    return function


def _evaluate(jaxpr, consts, arguments, parameters):
    values = dict(zip(jaxpr.constvars, consts)) | dict(zip(jaxpr.invars, arguments))

    def read(variable):
        return variable.val if hasattr(variable, "val") else values[variable]

    for equation in jaxpr.eqns:
        inputs = [read(v) for v in equation.invars]
        name = equation.primitive.name
        inner = list(inner_jaxprs(equation))
        if name == "pallas_call":
            outputs = equation.primitive.bind(*inputs, **{**equation.params, "interpret": parameters})
        elif any(e.primitive.name == "pallas_call" for j in inner for e in equations(j)):
            # Calls of one inner jaxpr, whose arguments are the equation's own.
            if len(inner) != 1 or name in ("scan", "while", "cond") or len(inner[0].invars) != len(inputs):
                raise KernelInControlFlow(name)
            closed = next(v for v in equation.params.values() if getattr(v, "jaxpr", v) is inner[0])
            outputs = _evaluate(inner[0], getattr(closed, "consts", ()), inputs, parameters)
        else:
            outputs = equation.primitive.bind(*inputs, **equation.primitive.get_bind_params(equation.params))
            outputs = outputs if equation.primitive.multiple_results else [outputs]
        values.update(zip(equation.outvars, outputs))
    return tuple(read(v) for v in jaxpr.outvars)


# What a trace may not hold. Modules are checked again by processes that no candidate has touched; here the equations still
# say more.

_CALLBACKS = ("pure_callback", "io_callback", "debug_callback", "debug_print")


def equations(jaxpr):
    """All equations, those of inner jaxprs included."""
    for equation in jaxpr.eqns:
        yield equation
        for inner in inner_jaxprs(equation):
            yield from equations(inner)


def locate(jaxpr, primitive, files, outer=None):
    """(name, line) of the first equation of a primitive, in `files` (path -> name), or of what surrounds it there; else None."""
    for equation in jaxpr.eqns:
        here = _own_frame(equation, files) or outer
        if equation.primitive.name == primitive:
            return here
        for inner in inner_jaxprs(equation):
            found = locate(inner, primitive, files, here)
            if found:
                return found
    return None


def _own_frame(equation, files):
    traceback = equation.source_info.traceback
    for frame in traceback.frames if traceback else ():
        if frame.file_name in files:
            return files[frame.file_name], frame.line_num
    return None


def inner_jaxprs(equation):
    for value in equation.params.values():
        for item in value if isinstance(value, (tuple, list)) else (value,):
            if hasattr(item, "eqns"):
                yield item
            elif hasattr(item, "jaxpr") and hasattr(item.jaxpr, "eqns"):
                yield item.jaxpr


def check_trace(closed_jaxpr, allow):
    """Raises TraceFinding. Returns the number of kernels."""
    kernels = 0
    for equation in equations(closed_jaxpr.jaxpr):
        name = equation.primitive.name
        if name == "platform_index":
            raise TraceFinding("different code per platform",
                               "the computation picks its code by platform, so what is tested is not what is timed")
        if name in _CALLBACKS:
            raise TraceFinding("host callback", f"{name}: all work must be done in device code")
        if name == "empty":
            raise TraceFinding("uninitialised memory", "a buffer is returned or read that nothing has written")
        if name == "pallas_call":
            kernels += 1
            _check_kernel(equation, allow)
    return kernels


def _check_kernel(equation, allow):
    parameters = equation.params
    if parameters["interpret"]:
        raise TraceFinding("self-interpreted", "a Pallas call asks for interpret mode: no kernel would run on the chip; "
                                               "leave `interpret` out, the evaluator sets it where it is wanted")
    if parameters["input_output_aliases"] and "aliasing" not in allow:
        raise TraceFinding("aliasing", "a Pallas call has input_output_aliases, which this task does not allow")
    options = parameters["compiler_params"]
    for name in ("disable_bounds_checks", "disable_semaphore_checks"):
        if getattr(options, name, False) and "unchecked_access" not in allow:
            raise TraceFinding("unchecked access", f"a Pallas call sets {name}, which this task does not allow")
