"""A task on disk and the roles over it, inside the test's own process unless a test asks for processes."""

import copy
import os

import try_task

from maxkernel_runner import diagnostics, protocol
from maxkernel_runner.roles import author, compile as compile_role, measure, reference, test as test_role

ROLES = {"reference": reference, "author": author, "test": test_role, "compile": compile_role, "measure": measure}

SOFTMAX_FILES = {
    "reference.py": """
import jax

def computation(x):
    return jax.nn.softmax(x, axis=-1)
""",
    "inputs.py": """
import numpy as np

def get_inputs(rng, rows, columns, scale=1.0):
    return (scale * rng.standard_normal((rows, columns), dtype=np.float32),), ()
""",
}

HONEST = """
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl

BLOCK_ROWS = 8  # tunable: 8, 16

def kernel(x_ref, out_ref):
    x = x_ref[...]
    e = jnp.exp(x - jnp.max(x, axis=-1, keepdims=True))
    out_ref[...] = e / jnp.sum(e, axis=-1, keepdims=True)

def computation(x):
    block = (min(BLOCK_ROWS, x.shape[0]), x.shape[1])
    return pl.pallas_call(
        kernel,
        grid=(pl.cdiv(x.shape[0], block[0]),),
        in_specs=[pl.BlockSpec(block, lambda i: (i, 0))],
        out_specs=pl.BlockSpec(block, lambda i: (i, 0)),
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
    )(x)
"""


def case(name, hidden=False, test=True, score=True, tolerance=None, **params):
    return {"name": name, "params": params, "hidden": hidden, "test": test, "score": score, "tolerance": tolerance}


def softmax_config():
    return config([case("small", rows=16, columns=128), case("ragged", hidden=True, score=False, rows=13, columns=100),
                   case("large", score=False, rows=8, columns=128, scale=80.0)])


def config(cases, **more):
    value = {"name": "task", "reference": "reference.py", "inputs": "inputs.py", "baseline": "baseline.py", "files": [], "chip": "v6e",
             "fidelity": {"valid": ["interpret", "lower"], "score": "estimate"}, "cases": cases, "compare": "exact_order",
             "donate": [], "allow": []}
    value.update(more)
    return value


class Workshop:
    def __init__(self, folder, files, settings, seed=7):
        self.folder = str(folder)
        self.task = os.path.join(self.folder, "task")
        self.reference_dir = os.path.join(self.folder, "reference")
        for path in (self.task, self.reference_dir):
            os.makedirs(path, exist_ok=True)
        write(self.task, files)
        self.config = settings
        self.seed = seed
        self.count = 0
        self._prepared = None

    def job(self, role, **fields):
        value = {
            "protocol": 1, "role": role, "task": {"name": "task", "config": self.config, "dir": self.task}, "cases": self.config["cases"],
            "seed": self.seed, "reference_dir": self.reference_dir, "chip": self.config["chip"],
            "hardware": try_task.load_hardware(self.config["chip"]), "fidelity": self.config["fidelity"]["score"], "repeats": 3,
            "limits": {"module_bytes": 64 << 20},
        }
        return {**value, **fields}

    def run(self, role, **fields):
        """A role's result as JSON, run in this process."""
        try:
            result = ROLES[role].run(protocol.Job(self.job(role, **fields)), lambda *_: None)
        except diagnostics.TaskFault as fault:
            result = protocol.Result(status="task_failed", reason=str(fault), diagnostics=[fault.diagnostic])
        except diagnostics.InfraFault as fault:
            result = protocol.Result(status="infra_failed", reason=str(fault), diagnostics=fault.diagnostics)
        return result.as_json(role)

    def process(self, role, **fields):
        """The same in processes of its own, over the real descriptors."""
        return try_task.call(self.job(role, **fields), timeout=120)

    def reference(self):
        if self._prepared is None:
            self._prepared = self.run("reference", out_dir=self.reference_dir)
        return self._prepared

    def candidate(self, source, files=None):
        """A fresh folder for one candidate's source and modules."""
        assert self.reference()["status"] == "passed", self.reference()
        self.count += 1
        folder = os.path.join(self.folder, f"candidate{self.count}")
        os.makedirs(os.path.join(folder, "modules"))
        write(folder, {"candidate.py": source, **(files or {})})
        return Candidate(self, folder, ["candidate.py", *(files or {})])


class Candidate:
    def __init__(self, shop, folder, files):
        self.shop, self.folder, self.files = shop, folder, files
        self.modules = os.path.join(folder, "modules")

    def _author_fields(self, targets, **fields):
        return {"out_dir": self.modules, "targets": list(targets),
                "candidate": {"dir": self.folder, "entry": "candidate.py", "files": self.files}, **fields}

    def author(self, targets=("tpu", "cpu"), **fields):
        return self.shop.run("author", **self._author_fields(targets, **fields))

    def author_process(self, targets=("tpu", "cpu"), **fields):
        return self.shop.process("author", **self._author_fields(targets, **fields))

    def test(self, **fields):
        return self.shop.run("test", module_dir=self.modules, **fields)

    def compile(self, **fields):
        return self.shop.run("compile", module_dir=self.modules, **fields)

    def measure(self, **fields):
        return self.shop.run("measure", module_dir=self.modules, **fields)

    def judge(self):
        """Author, then test: the first that does not pass."""
        result = self.author()
        return result if result["status"] != "passed" else self.test()


def write(folder, files):
    for name, text in files.items():
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(text)


def changed(base, **settings):
    value = copy.deepcopy(base)
    value.update(settings)
    return value
