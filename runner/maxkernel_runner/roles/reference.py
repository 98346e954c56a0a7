"""Runs the task's reference on inputs of a hidden seed and leaves what the other roles compare with."""

import os

import jax
import jax.numpy as jnp
import numpy as np

from maxkernel_runner import arrays, signature, tolerance, trees, work
from maxkernel_runner.protocol import CaseResult, Result
from maxkernel_runner.task_files import TaskFiles, input_set

# Integer arguments up to this size may steer a kernel (scalar prefetch), so a time model needs their values.
SCALAR_ELEMENTS = 1 << 16
# Integers that a practice run without hidden inputs may use, small enough to sit in the signature.
PRACTICE_ELEMENTS = 1 << 12
PRACTICE_SEED = 0
# Fresh input sets for timed calls together take at most this much.
TIMED_BYTES = 2 << 30
DEFAULT_REPEATS = 5


def run(job, progress):
    task = TaskFiles(job)
    function = task.reference()
    out = job.need("out_dir", str)
    seed = job.need("seed", int)
    entries, results = {}, []
    for case in task.cases(job.cases):
        progress("running the reference", case["name"])
        one = _Case(job, task, function, case, seed, out)
        entries[case["name"]] = one.entry
        results.append(one.result)
        del one  # its arrays, before the next case makes its own
    signature.write(out, entries, task=job.need("task", dict).get("name", ""), compare=compare_order(job.config))
    return Result(cases=results)


def compare_order(config):
    return config.get("compare") or ("sorted_last_axis" if config.get("sort_before_compare") else "exact_order")


def timed_sets(job):
    """How many input sets a wall-clock measurement needs: one for warming up, then a fresh one per sample."""
    scored = (job.config.get("fidelity") or {}).get("score")
    return int(job.get("repeats", DEFAULT_REPEATS)) + 1 if scored == "cpu" else 0


class Program:
    """The reference on one case: its inputs under a seed, its types, its outputs."""

    def __init__(self, job, task, function, case, seed):
        self.job, self.task, self.function, self.case = job, task, function, case
        self.name = case["name"]
        self.file = job.config.get("reference") or "reference.py"
        dynamic, self.static = task.inputs(case, seed)
        self.argument_tree, leaves, paths = trees.flatten(dynamic)
        self.leaves = [np.asarray(leaf) for leaf in leaves]
        del dynamic, leaves
        self.entry = {
            "argument_tree": self.argument_tree,
            "arguments": [arrays.spec(leaf) for leaf in self.leaves],
            "argument_paths": paths,
            "static": self._encode_static(),
            "donate": self._donated(),
        }
        self._describe_outputs()
        self.entry["floor"] = work.floor(self.jaxpr, self.entry)

    def _encode_static(self):
        try:
            return [signature.encode_static(value) for value in self.static]
        except ValueError as error:
            raise self.task.fault(self.job.config.get("inputs") or "inputs.py", 0, f"case {self.name}: {error}") from error

    def _donated(self):
        """Flat positions of the leaves of donated arguments."""
        wanted = set(self.job.config.get("donate") or ())
        positions, first = [], 0
        for index, child in enumerate(self.argument_tree["children"]):
            count = _leaf_count(child)
            if index in wanted:
                positions.extend(range(first, first + count))
            first += count
        return positions

    def _flat(self, *leaves):
        dynamic = trees.unflatten(self.argument_tree, leaves)
        self.output_tree, outputs, self.output_paths = trees.flatten(self.function(*dynamic, *self.static))
        return tuple(jnp.asarray(output) for output in outputs)

    def _describe_outputs(self):
        shapes = signature.shapes(self.entry["arguments"])
        traced = self.task.call(self.file, f"computation for case {self.name}", lambda: jax.jit(self._flat).trace(*shapes))
        self.jaxpr = traced.jaxpr
        self.entry["output_tree"] = self.output_tree
        self.entry["output_paths"] = self.output_paths
        self.entry["outputs"] = [arrays.spec(aval) for aval in self.jaxpr.out_avals]
        if not self.entry["outputs"]:
            raise self.task.fault(self.file, 0, f"computation returns no array for case {self.name}")

    def run(self, leaves):
        outputs = self.task.call(self.file, f"computation for case {self.name}", lambda: jax.device_get(jax.jit(self._flat)(*leaves)))
        return [np.asarray(output) for output in outputs]

    def oracle(self):
        """The reference in float64, or None if it does not run there."""
        wide = [leaf.astype(np.float64) if tolerance.is_float(leaf.dtype) else leaf for leaf in self.leaves]
        try:
            with jax.enable_x64(True), jax.default_matmul_precision("highest"):
                outputs = [np.asarray(o) for o in jax.device_get(jax.jit(lambda *leaves: self._flat(*leaves))(*wide))]
        except Exception:
            return None
        shapes = [tuple(entry["shape"]) for entry in self.entry["outputs"]]
        return outputs if [o.shape for o in outputs] == shapes else None


class _Case:
    """What a case leaves on disk and in the signature."""

    def __init__(self, job, task, function, case, seed, out):
        self.job, self.task, self.case, self.seed, self.out = job, task, case, seed, out
        self.name = case["name"]
        self.program = Program(job, task, function, case, seed)
        self.entry = self.program.entry
        self.result = CaseResult(self.name)
        self._save("scalars", [_scalar(leaf) for leaf in self.program.leaves])
        self._practice()
        self._describe_floor()
        self._tolerances_and_values()

    def _save(self, kind, leaves, number=0):
        suffix = f".{number}" if number else ""
        arrays.save(os.path.join(self.out, f"{self.name}{suffix}.{kind}.npz"), leaves)

    def _practice(self):
        """Integers of a seed that is no secret, for runs that look for faults and not for values."""
        small = [leaf for leaf in self.program.leaves if leaf.dtype.kind in "iub"]
        if not small or any(leaf.size > PRACTICE_ELEMENTS for leaf in small):
            return
        dynamic, _ = self.task.inputs(self.case, PRACTICE_SEED)
        leaves = [np.asarray(leaf) for leaf in trees.flatten(dynamic)[1]]
        self.entry["practice"] = [leaf.reshape(-1).tolist() if leaf.dtype.kind in "iub" else None for leaf in leaves]

    def _describe_floor(self):
        floor = self.entry["floor"]
        self.result.floor_s, _ = work.seconds(floor, self.job.hardware, least=True)
        roofline, bound = work.seconds(floor, self.job.hardware)
        self.result.facts.update(flops=floor["flops"], bytes=floor["bytes"])
        if roofline is not None:
            self.result.facts.update(roofline_s=roofline, bound_by=bound)

    def _tolerances_and_values(self):
        tested = self.case.get("test", True)
        timed = self.case.get("score", True) and timed_sets(self.job) > 0
        stated = stated_tolerance(self.job, self.case, len(self.entry["outputs"]), self.task)
        if tested or timed:
            outputs = self.program.run(self.program.leaves)
            self._save("inputs", self.program.leaves)
            self._save("outputs", outputs)
        if stated:
            self.entry["tolerance"] = stated
        elif tested or timed:
            oracle = self.program.oracle()
            self.entry["tolerance"] = [tolerance.derive(o, None if oracle is None else oracle[i]) for i, o in enumerate(outputs)]
            self.result.facts["oracle"] = "none" if oracle is None else "float64"
        self.result.facts["tolerance"] = "stated" if stated else "derived"
        if timed:
            self._timed_sets()

    def _timed_sets(self):
        each = sum(leaf.nbytes for leaf in self.program.leaves)
        for number in range(1, timed_sets(self.job)):
            if number * each > TIMED_BYTES or not self.task.is_random():
                break
            dynamic, _ = self.task.inputs(self.case, self.seed, number)
            leaves = [np.asarray(leaf) for leaf in trees.flatten(dynamic)[1]]
            self._save("inputs", leaves, number)
            self._save("outputs", self.program.run(leaves), number)


def _scalar(leaf):
    return leaf if leaf.dtype.kind in "iub" and leaf.size <= SCALAR_ELEMENTS else None


def _leaf_count(node):
    return 1 if node["kind"] == "leaf" else sum(_leaf_count(child) for child in node.get("children", ()))


def stated_tolerance(job, case, outputs, task):
    """One {atol, rtol} per output from the case or the task, or None."""
    stated = case.get("tolerance")
    if stated is None:
        stated = job.config.get("tolerance")
    if stated is None:
        stated = _tolerance_of_other_layout(job, case)
    if stated is None:
        return None
    pairs = stated if isinstance(stated, list) else [stated] * outputs
    if len(pairs) != outputs:
        raise task.fault("task.yaml", 0, f"{len(pairs)} tolerances for the {outputs} outputs of case {case['name']}")
    for pair in pairs:
        if not isinstance(pair, dict) or not all(isinstance(pair.get(k), (int, float)) and pair[k] >= 0 for k in ("atol", "rtol")):
            raise task.fault("task.yaml", 0, f"tolerance {pair!r} of case {case['name']}: expected {{atol: number, rtol: number}}, "
                                              "neither negative")
    return [{"atol": float(pair["atol"]), "rtol": float(pair["rtol"])} for pair in pairs]


def _tolerance_of_other_layout(job, case):
    atol, rtol = job.config.get("atol"), job.config.get("rtol")
    if atol is None and rtol is None:
        return None
    index = input_set(case)

    def pick(value):
        if value is None:
            return 0.0
        return value[min(index, len(value) - 1)] if isinstance(value, list) else value

    return {"atol": pick(atol), "rtol": pick(rtol)}
