"""Modules from an author's process, checked before anything of them is compiled or run."""

import base64
import dataclasses
import hashlib
import json
import os
import re

import jax
import jax.export
from jax._src.interpreters import mlir
from jax._src.lib import tpu
from jax._src.lib.mlir import ir

from maxkernel_runner import arrays, signature

KERNEL_TARGET = "tpu_custom_call"
# Beside kernels: nothing that reads memory nobody wrote (AllocateBuffer), calls the host, or is foreign code.
_SAFE_TARGETS = frozenset({"Sharding", "annotate_device_placement", "mhlo.topk", "mhlo.erf", "ApproxTopK", "Eigh", "Qr",
                           "ProductOfElementaryHouseholderReflectors", "LuDecomposition"})
_SAFE_CPU_PREFIXES = ("lapack_",)
# More than any table that a kernel needs; answers computed beforehand do not fit, and inputs are not known beforehand anyway.
CONSTANT_BYTES_LIMIT = 4 << 20


# Operations that carry a task's mathematics, by kind. Index arithmetic, masks, copies and casts differ between shapes honestly.
_KINDS = {
    "product": ("stablehlo.dot_general", "stablehlo.dot", "stablehlo.convolution", "tpu.matmul", "vector.contract"),
    "exponential": ("stablehlo.exponential", "stablehlo.exponential_minus_one", "stablehlo.logistic", "stablehlo.tanh", "math.exp",
                    "math.exp2", "math.tanh", "math.erf", "stablehlo.erf"),
    "logarithm": ("stablehlo.log", "stablehlo.log_plus_one", "math.log", "math.log1p", "math.log2"),
    "root": ("stablehlo.sqrt", "stablehlo.rsqrt", "stablehlo.cbrt", "math.sqrt", "math.rsqrt"),
    "sum or maximum": ("stablehlo.reduce", "stablehlo.reduce_window", "vector.multi_reduction", "tpu.reduce_index", "vector.reduction",
                       "stablehlo.dot_general", "stablehlo.dot", "tpu.matmul", "vector.contract", "stablehlo.sort"),
}
_MOSAIC_NAME = re.compile(r'"(?:stable_mosaic\.)?((?:math|tpu|vector)\.[a-z0-9_]+)"')


class Rejection(Exception):
    """A module that is not what a candidate may hand in; `rule` in a word or two."""

    def __init__(self, rule, message):
        super().__init__(message)
        self.rule = rule


@dataclasses.dataclass
class Kernel:
    """One tpu_custom_call: its Mosaic program as text without locations, and its settings."""
    body: str
    settings: dict
    aliases: int


@dataclasses.dataclass
class Module:
    exported: jax.export.Exported
    platform: str
    kernels: list
    constant_bytes: int
    heavy_outside: int    # dots and convolutions that are not in a kernel
    fingerprint: str
    kinds: frozenset      # of _KINDS

    def call(self):
        return self.exported.call


def path(folder, case_name, platform):
    return os.path.join(folder, f"{case_name}.{platform}.module")


def load(folder, case_name, platform, entry, allow=(), size_limit=64 << 20):
    """Reads and checks a module. FileNotFoundError if the author made none; Rejection if it must not be used."""
    file = path(folder, case_name, platform)
    size = os.path.getsize(file)
    if size > size_limit:
        raise Rejection("module size", f"{os.path.basename(file)} has {size} bytes, the limit is {size_limit}")
    with open(file, "rb") as stream:
        data = stream.read()
    try:
        exported = jax.export.deserialize(bytearray(data))
        text = exported.mlir_module()
    except Exception as error:
        raise Rejection("not a module", f"{os.path.basename(file)}: {type(error).__name__}: {error}") from error
    _check_types(exported, platform, entry)
    module = _inspect(exported, platform, text)
    _check_permissions(module, allow)
    return module


def _check_types(exported, platform, entry):
    if tuple(exported.platforms) != (platform,):
        raise Rejection("platform", f"the module is for {exported.platforms}, expected {platform}")
    if exported.nr_devices != 1:
        raise Rejection("devices", f"the module is for {exported.nr_devices} devices")
    if exported.ordered_effects or exported.unordered_effects:
        raise Rejection("effects", "the module has side effects")
    for kind, avals, wanted in (("argument", exported.in_avals, entry["arguments"]), ("output", exported.out_avals, entry["outputs"])):
        got = [{"shape": list(a.shape), "dtype": a.dtype.name} for a in avals]
        want = [{"shape": e["shape"], "dtype": e["dtype"]} for e in wanted]
        if got != want:
            raise Rejection(f"{kind} types", f"the module has {[signature.describe(e) for e in got]}, "
                                             f"expected {[signature.describe(e) for e in want]}")


def _check_permissions(module, allow):
    if module.constant_bytes > CONSTANT_BYTES_LIMIT:
        raise Rejection("constants", f"the module holds {module.constant_bytes} bytes of constants, the limit is {CONSTANT_BYTES_LIMIT}: "
                                     "tables of this size belong into the arguments")
    for kernel in module.kernels:
        if kernel.aliases and "aliasing" not in allow:
            raise Rejection("aliasing", "a kernel writes into its inputs, which this task does not allow")
        for name in ("disable_bounds_checks", "disable_semaphore_checks"):
            if kernel.settings.get(name) and "unchecked_access" not in allow:
                raise Rejection("unchecked access", f"a kernel sets {name}, which this task does not allow")


def _inspect(exported, platform, text):
    context = mlir.make_ir_context()
    with context:
        parsed = ir.Module.parse(text)
        found = _Walk(platform)
        parsed.operation.walk(found.visit)
        if found.problem:
            raise found.problem
        stripped = found.stripped_text(parsed)
    return Module(exported, platform, found.kernels, found.constant_bytes, found.heavy,
                  hashlib.sha256(stripped.encode()).hexdigest(), found.kinds())


class _Walk:
    """Collects what matters from a StableHLO module. A callback of MLIR: keeps a problem instead of raising it."""

    def __init__(self, platform):
        self.platform = platform
        self.kernels = []
        self.constant_bytes = 0
        self.heavy = 0
        self.names = set()
        self.problem = None

    def visit(self, operation):
        try:
            self._visit(operation.operation)
        except Rejection as problem:
            self.problem = self.problem or problem
            return ir.WalkResult.INTERRUPT
        return ir.WalkResult.ADVANCE

    def kinds(self):
        names = self.names.union(*(_MOSAIC_NAME.findall(kernel.body) for kernel in self.kernels))
        return frozenset(kind for kind, members in _KINDS.items() if names.intersection(members))

    def _visit(self, operation):
        name = operation.name
        self.names.add(name)
        if name == "stablehlo.custom_call":
            self._custom_call(operation)
        elif name in ("stablehlo.dot_general", "stablehlo.dot", "stablehlo.convolution"):
            self.heavy += 1
        elif name == "stablehlo.constant":
            value = operation.attributes["value"]
            if isinstance(value, ir.DenseElementsAttr):
                dense = ir.DenseElementsAttr(value)
                if not dense.is_splat:
                    self.constant_bytes += _tensor_bytes(dense.type)
            else:
                self.constant_bytes += _tensor_bytes(operation.results[0].type)

    def _custom_call(self, operation):
        target = ir.StringAttr(operation.attributes["call_target_name"]).value
        if target == KERNEL_TARGET:
            if self.platform != "tpu":
                raise Rejection("custom call", f"a TPU kernel in a module for {self.platform}")
            self.kernels.append(_kernel(operation))
            return
        if target == "AllocateBuffer":
            raise Rejection("uninitialised memory", "the module uses a buffer that nothing has written")
        if target in _SAFE_TARGETS or (self.platform == "cpu" and target.startswith(_SAFE_CPU_PREFIXES)):
            return
        raise Rejection("custom call", f"the module calls {target!r}, which is neither a kernel nor known to be safe")

    def stripped_text(self, parsed):
        """The module without locations, names that its author chose, and the work that a kernel claims to do."""
        text = parsed.operation.get_asm(enable_debug_info=False, large_elements_limit=None)
        text = re.sub(r'backend_config = "(?:[^"\\]|\\.)*"', "backend_config", text)
        text = re.sub(r'(kernel_name = "[^"]*"|kernel_metadata = "[^"]*"|jax\.result_info = "[^"]*"|kernel_metadata = \{[^}]*\})', "", text)
        kernels = [json.dumps({k: v for k, v in kernel.settings.items() if k not in ("cost_estimate",)}, sort_keys=True) + kernel.body
                   for kernel in self.kernels]
        return "\n".join([text, *kernels])


def _tensor_bytes(type_):
    shaped = ir.ShapedType(type_)
    count = 1
    for size in shaped.shape:
        count *= size
    element = shaped.element_type
    width = getattr(element, "width", None)
    if width is None:
        match = re.search(r"\d+", str(element))
        width = int(match.group()) if match else 64
    return (count * width + 7) // 8


def _kernel(operation):
    attributes = operation.attributes
    try:
        config = json.loads(ir.StringAttr(attributes["backend_config"]).value)
        settings = dict(config["custom_call_config"])
        body = base64.b64decode(settings.pop("body"))
    except (KeyError, ValueError, TypeError) as error:
        raise Rejection("custom call", f"a kernel without a readable configuration: {error}") from error
    settings.update({k: v for k, v in config.items() if k != "custom_call_config"})
    aliases = len(ir.ArrayAttr(attributes["output_operand_aliases"])) if "output_operand_aliases" in attributes else 0
    return Kernel(_mosaic_text(body), settings, aliases)


def _mosaic_text(body):
    context = mlir.make_ir_context()
    tpu.register_dialect(context)
    context.allow_unregistered_dialects = True
    with context, ir.Location.unknown(context):
        try:
            module = ir.Module.parse(body)
        except Exception as error:
            raise Rejection("custom call", f"a kernel that is no Mosaic program: {error}") from error
        text = module.operation.get_asm(enable_debug_info=False)
    # The kernel function's name, chosen by its author.
    return re.sub(r'(sym_name|transform_indices) = "?@?[^",} ]*"?', r"\1", text)


def check_untested(module, tested):
    """Holds a case that is timed but not tested against the tested ones: its shape must not bring another program.

    Every kind of operation that all tested cases need must be there too, and a kernel if all of them have one. A program that
    does less for a shape that nobody checks is refused; one that does the same in another way is not.
    """
    if not tested:
        return
    missing = frozenset.intersection(*(m.kinds for m in tested)) - module.kinds
    if missing:
        raise Rejection("untested shape", f"for this shape the program has no {' and no '.join(sorted(missing))}, which it has for every "
                                          "shape that is tested")
    if all(m.kernels for m in tested) and not module.kernels:
        raise Rejection("untested shape", "for this shape the program has no kernel, while it has one for every shape that is tested")


def identity(modules):
    """The candidate's true identity: the hash over its modules, case by case. `modules`: (case name, Module) pairs."""
    digest = hashlib.sha256()
    for name, module in sorted(modules, key=lambda pair: pair[0]):
        digest.update(f"{name}\0{module.platform}\0{module.fingerprint}\n".encode())
    return digest.hexdigest()


def argument_bytes(entry):
    return sum(arrays.nbytes(e) for e in entry["arguments"]), sum(arrays.nbytes(e) for e in entry["outputs"])
