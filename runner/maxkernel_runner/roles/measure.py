"""Times the modules: by model for the chip (estimate) or by the clock on the CPU (cpu). Runs no candidate Python."""

import os
import statistics
import time

import jax
import numpy as np

from maxkernel_runner import arrays, compare, diagnostics, modules, signature, work
from maxkernel_runner.protocol import CaseResult, Diagnostic, Result, failed


def run(job, progress):
    fidelity = job.need("fidelity", str)
    measure = {"estimate": _Estimate, "cpu": _WallClock}.get(fidelity)
    if measure is None:
        return Result(status="infra_failed", reason=f"this machine cannot measure at fidelity {fidelity!r}: known are estimate and cpu")
    reference = job.need("reference_dir", str)
    described = signature.read(reference)
    results, loaded, notes = [], [], []
    cases = signature.select(described, job.cases)
    tested = None
    for case, entry in cases:
        if not case.get("score", True):
            continue
        progress("measuring", case["name"])
        try:
            module = _load(job, case, entry, measure.platform)
            if not case.get("test", True):
                if tested is None:
                    tested = [_load(job, c, e, measure.platform) for c, e in cases if c.get("test", True)]
                modules.check_untested(module, tested)
        except FileNotFoundError:
            return Result(status="infra_failed", reason=f"case {case['name']} has no {measure.platform} module", cases=results)
        except modules.Rejection as rejection:
            reason = f"{rejection.rule}: case {case['name']}: {rejection}"
            return failed("rejected", reason, Diagnostic(message=reason, kind="module", case=case["name"]), cases=results)
        loaded.append((case["name"], module))
        outcome = measure(job, reference, described, case, entry, module)
        results.append(outcome.result)
        notes.extend(outcome.diagnostics)
        if outcome.failure:
            return failed(*outcome.failure, *notes, cases=results, identity=modules.identity(loaded))
    if not results:
        return Result(status="infra_failed", reason="none of the job's cases is scored")
    facts = {"kernels": sum(len(m.kernels) for _, m in loaded), "products_outside_kernels": sum(m.heavy_outside for _, m in loaded)}
    return Result(cases=results, diagnostics=notes, facts=facts, identity=modules.identity(loaded))


def _load(job, case, entry, platform):
    return modules.load(job.need("module_dir", str), case["name"], platform, entry, job.allow, job.module_bytes_limit)


class _Measure:
    def __init__(self, job, reference, described, case, entry, module):
        self.job, self.reference, self.described = job, reference, described
        self.name, self.entry, self.module = case["name"], entry, module
        self.result = CaseResult(self.name)
        self.diagnostics = []
        self.failure = None
        self.hardware = job.hardware
        self.result.facts["kernels"] = len(module.kernels)
        self._measure()

    def _note(self, message, kind, severity="warning", fault="infra"):
        self.diagnostics.append(Diagnostic(message=message, kind=kind, severity=severity, fault=fault, case=self.name))

    def _absent(self, why, kind):
        self.result.absent = why
        self._note(why, kind)


class _Estimate(_Measure):
    platform = "tpu"

    def _measure(self):
        from maxkernel_runner import estimate

        # Without the file no value is known, which widens an estimate that depends on one.
        file = os.path.join(self.reference, f"{self.name}.scalars.npz")
        scalars = arrays.load(file) if os.path.exists(file) else [None] * len(self.entry["arguments"])
        answer = estimate.estimate(self.module.exported.serialize(), arguments=scalars,
                                   hardware={"chip": self.hardware, "common": self.job.hardware_common})
        self.result.facts.update(_estimate_facts(answer))
        seconds = answer["time_s"]
        floor, _ = work.seconds(self.entry["floor"], self.hardware, least=True)
        self.result.floor_s = floor
        if seconds is None:
            self._absent(answer["absent"] or "the time model cannot judge this program", "estimate_limit")
        elif floor is not None and seconds < floor:
            # A modelled time is computed from the program's own work, so this is where the model ends, not a fast kernel.
            self._absent(f"the modelled {seconds:.3g} s is below the {floor:.3g} s that the chip needs for "
                         f"{self.entry['floor']['least_flops']:.4g} operations and {self.entry['floor']['least_bytes']:.4g} bytes: "
                         "the model does not hold for this program", "below_floor")
        else:
            self.result.samples_s = [seconds]


def _estimate_facts(answer):
    facts = {key: answer[key] for key in ("low_s", "high_s", "model_version") if answer.get(key) is not None}
    facts.update(answer["facts"])
    if answer["flags"]:
        facts["flags"] = " ".join(answer["flags"])
    for number, kernel in enumerate(answer["kernels"][:8]):
        facts.update({f"kernel{number}_{key}": value for key, value in kernel.items() if isinstance(value, (int, float, str))})
    return facts


class _WallClock(_Measure):
    platform = "cpu"
    # Shorter calls drown in dispatch; they are repeated inside a sample, each with inputs that it has not seen.
    _SHORT_S = 1e-3

    def _measure(self):
        sets = self._sets()
        program = jax.jit(self.module.call()).lower(*[jax.ShapeDtypeStruct(x.shape, x.dtype) for x in sets[0][0]]).compile()
        graded = {0, len(sets) - 1}
        try:
            for index, (inputs, expected) in enumerate(sets):
                placed = jax.block_until_ready([jax.device_put(x) for x in inputs])
                started = time.perf_counter()
                outputs = jax.block_until_ready(program(*placed))
                elapsed = time.perf_counter() - started
                if index:
                    self.result.samples_s.append(elapsed)
                if index in graded and not self._grade(outputs, expected):
                    return
        except Exception as error:
            self.diagnostics.append(diagnostics.from_exception(error, {}, case=self.name))
            self.failure = ("crashed", f"case {self.name}: {diagnostics.error_text(error)}")
            return
        self.result.facts.update(minimum_s=min(self.result.samples_s), median_s=statistics.median(self.result.samples_s))
        if self.result.facts["median_s"] < self._SHORT_S:
            self._note(f"calls take {self.result.facts['median_s'] * 1e6:.0f} us, of which dispatch is a good part", "short_calls")

    def _sets(self):
        """(inputs, outputs) per call; the first is for warming up."""
        sets = [self._set("")]
        number = 1
        while os.path.exists(os.path.join(self.reference, f"{self.name}.{number}.inputs.npz")):
            sets.append(self._set(f".{number}"))
            number += 1
        repeats = int(self.job.get("repeats", 5))
        fresh = len(sets) - 1
        if fresh < repeats:
            self._note(f"{fresh} fresh input sets for {repeats} samples: sets are used again", "reused_inputs")
        while len(sets) < repeats + 1:
            sets.append(sets[len(sets) % max(1, fresh + 1)])
        return sets[: repeats + 1]

    def _set(self, suffix):
        return tuple(arrays.load(os.path.join(self.reference, f"{self.name}{suffix}.{kind}.npz")) for kind in ("inputs", "outputs"))

    def _grade(self, outputs, expected):
        tolerance = self.entry.get("tolerance")
        if tolerance is None:
            return True
        outcome = compare.compare_all([np.asarray(x) for x in jax.device_get(outputs)], expected, tolerance,
                                      self.entry["output_paths"], self.described.get("compare", "exact_order"))
        if not outcome.good:
            self.failure = ("incorrect", f"case {self.name}, a timed call: {outcome.message}")
            self.diagnostics.append(Diagnostic(message=self.failure[1], kind="numerics", case=self.name))
            self.result.status, self.result.samples_s = "failed", []
        return outcome.good
