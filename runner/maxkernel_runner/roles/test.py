"""Runs the CPU modules on hidden inputs and compares with the reference. Runs no candidate Python."""

import os

import jax
import numpy as np

from maxkernel_runner import arrays, compare, diagnostics, modules, signature
from maxkernel_runner.protocol import CaseResult, Diagnostic, Result, failed


def run(job, progress):
    reference = job.need("reference_dir", str)
    described = signature.read(reference)
    results, loaded, notes = [], [], []
    verdict = None
    for case, entry in signature.select(described, job.cases):
        if not case.get("test", True):
            continue
        progress("comparing", case["name"])
        outcome = _Case(job, reference, described, case, entry)
        results.append(outcome.result)
        if outcome.module:
            loaded.append((case["name"], outcome.module))
        if outcome.failure and (verdict is None or verdict[0] != "rejected"):
            verdict = outcome.failure
        notes.extend(outcome.diagnostics)
    if not results:
        return Result(status="infra_failed", reason="none of the job's cases is tested")
    identity = modules.identity(loaded)
    if verdict:
        return failed(*verdict, *notes, cases=results, identity=identity)
    if any(r.absent for r in results):
        return Result(status="infra_failed", reason=next(r.absent for r in results if r.absent), diagnostics=notes, cases=results)
    return Result(cases=results, diagnostics=notes, identity=identity)


class _Case:
    def __init__(self, job, reference, described, case, entry):
        self.name, self.entry = case["name"], entry
        self.result = CaseResult(self.name)
        self.diagnostics = []
        self.failure = None
        self.module = None
        try:
            self.module = modules.load(job.need("module_dir", str), self.name, "cpu", entry, job.allow, job.module_bytes_limit)
        except FileNotFoundError:
            self._absent("the author's process made no module for the CPU: the interpreter cannot run this kernel")
            return
        except modules.Rejection as rejection:
            self._fail("rejected", f"{rejection.rule}: {rejection}", "module")
            return
        inputs = arrays.load(os.path.join(reference, f"{self.name}.inputs.npz"))
        expected = arrays.load(os.path.join(reference, f"{self.name}.outputs.npz"))
        order = described.get("compare", "exact_order")
        try:
            got = self._execute(inputs)
        except Exception as error:
            self._execution_error(error)
            return
        self._judge(got, expected, order)

    def _execute(self, inputs):
        program = jax.jit(self.module.call())
        first = [np.asarray(x) for x in jax.device_get(program(*inputs))]
        second = [np.asarray(x) for x in jax.device_get(program(*inputs))]
        self.deterministic = all(a.tobytes() == b.tobytes() for a, b in zip(first, second))
        return first

    def _judge(self, got, expected, order):
        outcome = compare.compare_all(got, expected, self.entry["tolerance"], self.entry["output_paths"], order)
        self.result.max_abs_error, self.result.max_rel_error = outcome.max_abs_error, outcome.max_rel_error
        self.result.facts["deterministic"] = self.deterministic
        if not outcome.good:
            self._fail("incorrect", f"case {self.name}: {outcome.message}", "numerics")
        elif not self.deterministic:
            self._fail("incorrect", f"case {self.name}: two runs on the same input differ", "numerics")

    def _execution_error(self, error):
        diagnostic = diagnostics.from_exception(error, {}, case=self.name)
        self.diagnostics.append(diagnostic)
        self.result.status = "failed"
        self.failure = ("crashed", f"case {self.name}: {diagnostics.error_text(error)}")

    def _absent(self, why):
        self.result.status, self.result.absent = "failed", why
        self.diagnostics.append(Diagnostic(message=why, kind="interpreter_limit", fault="infra", severity="warning", case=self.name))

    def _fail(self, verdict, reason, kind):
        self.result.status = "failed"
        self.failure = (verdict, reason)
        self.diagnostics.append(Diagnostic(message=reason, kind=kind, case=self.name))
