"""Loads task directories and candidates, and runs them the way the fidelities `interpret`, `lower` and `aot` do."""

import ast
import contextlib
import dataclasses
import importlib.util
import itertools
import pathlib
import re
import sys

import jax
import jax.numpy as jnp
import numpy as np
import yaml
from jax.experimental import topologies
from jax.experimental.pallas import tpu as pltpu

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
TASKS = REPOSITORY / "tasks"

DEVICE_KIND = "TPU v6 lite"
TOPOLOGY = dict(topology_name="v6e:1x1", chip_config_name="default", chips_per_host_bounds=(1, 1, 1), num_slices=1)

_TUNABLE = re.compile(r"^(?P<name>[A-Z][A-Z0-9_]*) = (?P<value>\S+)  # tunable: (?P<choices>\S.*)$")
_module_numbers = itertools.count()


@dataclasses.dataclass(frozen=True)
class Case:
    name: str
    params: dict
    test: bool = True
    score: bool = True
    hidden: bool = False
    tolerance: dict | None = None


@dataclasses.dataclass(frozen=True)
class Tunable:
    name: str
    value: object
    choices: tuple
    line: int


class Task:
    def __init__(self, directory):
        self.directory = pathlib.Path(directory)
        self.config = yaml.safe_load((self.directory / "task.yaml").read_text())
        self.name = self.config["name"]
        self.cases = [Case(**case) for case in self.config["cases"]]

    def module(self, kind, overrides=()):
        default = {"reference": "reference.py", "inputs": "inputs.py", "baseline": "baseline.py"}[kind]
        return load_module(self.directory / self.config.get(kind, default), overrides)

    def inputs(self, case, seed=0):
        dynamic, static = self.module("inputs").get_inputs(np.random.default_rng(seed), **case.params)
        return tuple(jax.tree.map(jnp.asarray, dynamic)), tuple(static)

    def shapes(self, case):
        dynamic, static = self.module("inputs").get_inputs(np.random.default_rng(0), **case.params)
        return jax.tree.map(lambda x: jax.ShapeDtypeStruct(np.shape(x), x.dtype), tuple(dynamic)), tuple(static)

    def tolerances(self, case, leaves):
        tolerance = case.tolerance or self.config["tolerance"]
        pairs = tolerance if isinstance(tolerance, list) else [tolerance] * leaves
        assert len(pairs) == leaves, f"{self.name}: {len(pairs)} tolerances for {leaves} outputs"
        return pairs

    def tested_cases(self):
        return [case for case in self.cases if case.test]


def load_module(path, overrides=()):
    """Imports a file under a fresh name, after rewriting the tunables named in `overrides` as a sweep does."""
    path = pathlib.Path(path)
    source = path.read_text()
    for name, value in dict(overrides).items():
        source, count = re.subn(rf"(?m)^{name} = \S+(?=  # tunable:)", f"{name} = {value!r}", source)
        assert count == 1, f"{path}: no tunable {name}"
    name = f"_loaded_{next(_module_numbers)}_{path.stem}"
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader=None, origin=str(path)))
    module.__file__ = str(path)
    sys.modules[name] = module
    exec(compile(source, str(path), "exec"), module.__dict__)
    return module


def tunables(path):
    """The declarations of a source file; an ill-formed one raises ValueError with its line."""
    found = []
    for number, line in enumerate(pathlib.Path(path).read_text().splitlines(), 1):
        if "# tunable" not in line:
            continue
        match = _TUNABLE.match(line)
        if not match:
            raise ValueError(f"{path}:{number}: ill-formed tunable: {line!r}")
        value = ast.literal_eval(match["value"])
        choices = tuple(ast.literal_eval(choice.strip()) for choice in match["choices"].split(","))
        if value not in choices:
            raise ValueError(f"{path}:{number}: {value!r} is not among {choices}")
        found.append(Tunable(match["name"], value, choices, number))
    return found


def jitted(computation, dynamic, static):
    """The computation over dynamic arguments alone; static ones follow them and are compile-time constants."""
    return jax.jit(lambda *args: computation(*args, *static))


def run_plain(computation, dynamic, static):
    return jax.device_get(jitted(computation, dynamic, static)(*dynamic))


def run_interpreted(computation, dynamic, static):
    # The value True, in place of InterpretParams, selects the interpreter that is compiled as ordinary XLA code.
    # Kernels that ask for the chip while they are traced, as emit_pipeline does, need one here too.
    with pretended_device(), pltpu.force_tpu_interpret_mode(True):
        return jax.device_get(jitted(computation, dynamic, static)(*dynamic))


@contextlib.contextmanager
def pretended_device():
    device = jax.sharding.AbstractDevice(DEVICE_KIND, 1, "tpu")
    with jax.sharding.use_abstract_mesh(jax.sharding.AbstractMesh((), (), abstract_device=device)):
        yield


def export_for_tpu(computation, shapes, static):
    with pretended_device():
        return jax.export.export(jitted(computation, shapes, static), platforms=["tpu"])(*shapes)


def kernel_count(exported):
    return exported.mlir_module().count("@tpu_custom_call")


def compile_ahead_of_time(computation, shapes, static):
    device = topologies.get_topology_desc(platform="tpu", **TOPOLOGY).devices[0]
    sharding = jax.sharding.SingleDeviceSharding(device)
    shapes = jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=sharding), shapes)
    with pretended_device():
        return jitted(computation, shapes, static).trace(*shapes).lower(lowering_platforms=("tpu",)).compile()


def mismatch(actual, expected, tolerances, compare="exact_order"):
    """Says how `actual` differs from `expected`, or returns "" if it does not."""
    if jax.tree.structure(actual) != jax.tree.structure(expected):
        return f"output tree {jax.tree.structure(actual)} instead of {jax.tree.structure(expected)}"
    for index, (a, e) in enumerate(zip(jax.tree.leaves(actual), jax.tree.leaves(expected))):
        if a.shape != e.shape or a.dtype != e.dtype:
            return f"output {index} is {a.dtype}{list(a.shape)} instead of {e.dtype}{list(e.shape)}"
        a, e = np.asarray(a, np.float64), np.asarray(e, np.float64)
        if compare == "sorted_last_axis":
            a, e = np.sort(a, axis=-1), np.sort(e, axis=-1)
        good = np.abs(a - e) <= tolerances[index]["atol"] + tolerances[index]["rtol"] * np.abs(e)
        if not good.all():
            worst = np.nanmax(np.abs(a - e)) if not np.isnan(a - e).all() else float("nan")
            return f"output {index}: {good.size - good.sum()} of {good.size} elements differ, by up to {worst:.3g}"
    return ""
