"""Runs the candidate's Python once and leaves portable modules. The only role that runs it."""

import json
import os
import re

from maxkernel_runner import candidate, diagnostics, interpret_checks, signature, tracing
from maxkernel_runner.protocol import CaseResult, Diagnostic, Result, failed


def run(job, progress):
    described = job.need("candidate", dict)
    out = job.need("out_dir", str)
    targets = job.need("targets", list)
    entries = signature.select(signature.read(job.need("reference_dir", str)), job.cases)
    try:
        sources = candidate.Sources(described["dir"], described["entry"], described.get("files") or [],
                                    job.need("task", dict).get("dir", ""), job.config.get("files") or ())
        candidate.check_source(sources)
        progress("running the source")
        function = candidate.load(sources)
        return _Author(job, sources, function, targets, out, progress).run(entries)
    except candidate.Refusal as refusal:
        return refusal.result


_NAMED_PRIMITIVE = re.compile(r"Unimplemented primitive in Pallas TPU lowering for \w+: (\w+)|rule for primitive '(\w+)'")


class _Author:
    def __init__(self, job, sources, function, targets, out, progress):
        self.job = job
        self.sources = sources
        self.function = function
        self.targets = targets
        self.out = out
        self.progress = progress
        self.hardware = job.hardware
        self.notes = []
        self.checker = interpret_checks.Checker(sources.shown, int(self.hardware.get("cores_per_device", 1)))

    def run(self, entries):
        results = []
        for case, entry in entries:
            self.progress("tracing and lowering", case["name"])
            results.append(self._case(case, entry))
        with open(os.path.join(self.out, "author.json"), "w", encoding="utf-8") as file:
            json.dump({"cases": [r.name for r in results], "targets": self.targets}, file)
        if "cpu" in self.targets and "tpu" not in self.targets and any(r.absent for r in results):
            # Nothing was made that could be judged.
            return Result(status="infra_failed", reason=next(r.absent for r in results if r.absent), diagnostics=self.notes,
                          cases=results)
        return Result(diagnostics=self.notes, cases=results, facts={"kernels": max((r.facts["kernels"] for r in results), default=0)})

    def _case(self, case, entry):
        name = case["name"]
        jaxpr = self._guard(name, lambda: tracing.trace(self.function, entry, self.hardware))
        try:
            kernels = tracing.check_trace(jaxpr, self.job.allow)
        except tracing.TraceFinding as finding:
            raise candidate.Refusal(failed("rejected", f"{finding.rule}: {finding}", Diagnostic(
                message=str(finding), kind="screen", case=name, file=self.sources.entry))) from finding
        result = CaseResult(name, facts={"kernels": kernels})
        if "tpu" in self.targets:
            self._write(name, "tpu", self._guard(name, lambda: tracing.export(jaxpr, entry, "tpu", self.hardware), jaxpr))
        on_clock = self.job.get("fidelity", "") == "cpu"
        if on_clock and kernels:
            reason = "fidelity cpu times plain JAX: this candidate has a Pallas kernel, which a CPU can only interpret"
            raise candidate.Refusal(failed("does_not_compile", f"case {name}: {reason}", Diagnostic(
                message=reason, kind="wrong_fidelity", case=name, file=self.sources.entry,
                hint="Write the computation without Pallas, or evaluate it at fidelity estimate.")))
        if "cpu" in self.targets and (case.get("test", True) or (on_clock and case.get("score", True))):
            self._cpu(name, jaxpr, entry, result)
        return result

    def _cpu(self, name, jaxpr, entry, result):
        try:
            exported = tracing.export(jaxpr, entry, "cpu", self.hardware)
            self._write(name, "cpu", exported)
        except Exception as error:
            diagnostic = self._diagnose(error, name, jaxpr)
            if diagnostic.fault == "candidate" and not result.facts["kernels"]:
                raise candidate.Refusal(failed("does_not_compile", _reason(diagnostic, error), diagnostic)) from error
            # It lowers for the TPU, so that the interpreter stops is the interpreter's limit.
            diagnostic.kind, diagnostic.fault, diagnostic.severity = "interpreter_limit", "infra", "warning"
            result.absent = f"the interpreter cannot run this kernel: {diagnostics.error_text(error)}"
            self.notes.append(diagnostic)
            return
        if result.facts["kernels"]:
            self._deep_checks(name, jaxpr, entry, exported, result)

    def _deep_checks(self, name, jaxpr, entry, exported, result):
        outcome = self.checker.run(jaxpr, entry, exported, name)
        result.facts["tpu_interpret"] = outcome.status
        for diagnostic in outcome.diagnostics:
            diagnostic.case = name
            diagnostic.file = diagnostic.file or self.sources.entry
        if outcome.verdict:
            raise candidate.Refusal(failed(outcome.verdict, f"case {name}: {outcome.reason}", *outcome.diagnostics))
        self.notes.extend(outcome.diagnostics)

    def _diagnose(self, error, name, jaxpr=None):
        """A diagnostic with the best place that can be told: the error's own frames, the operation it names, the function."""
        diagnostic = diagnostics.from_exception(error, self.sources.shown, case=name)
        if not diagnostic.line and jaxpr is not None:
            named = _NAMED_PRIMITIVE.search(diagnostic.message)
            place = named and tracing.locate(jaxpr.jaxpr, named[1] or named[2], self.sources.shown)
            if place:
                diagnostic.file, diagnostic.line = place
        if not diagnostic.file:
            code = getattr(self.function, "__code__", None)
            diagnostic.file = self.sources.shown.get(code.co_filename, self.sources.entry) if code else self.sources.entry
            diagnostic.line = code.co_firstlineno if code and isinstance(error, TypeError) else 0
        return diagnostic

    def _guard(self, name, step, jaxpr=None):
        try:
            return step()
        except tracing.SignatureMismatch as error:
            raise candidate.Refusal(failed("incorrect", f"case {name}: {error}", Diagnostic(
                message=str(error), kind="output_contract", case=name, file=self.sources.entry,
                hint="Return the same tree, shapes and dtypes as the reference."))) from error
        except (SystemExit, KeyboardInterrupt) as error:
            raise candidate.Refusal(failed("rejected", f"early exit: {error!r} while tracing", Diagnostic(
                message=repr(error), kind="early_exit", case=name, file=self.sources.entry))) from error
        except Exception as error:
            diagnostic = self._diagnose(error, name, jaxpr)
            if diagnostic.kind == "host_callback":
                raise candidate.Refusal(failed("rejected", f"host callback: {error}", diagnostic)) from error
            if diagnostic.fault == "infra" and diagnostic.kind != "interpreter_limit":
                raise diagnostics.InfraFault(f"case {name}: {diagnostics.error_text(error)}", [diagnostic]) from error
            raise candidate.Refusal(failed("does_not_compile", _reason(diagnostic, error), diagnostic)) from error

    def _write(self, name, platform, exported):
        with open(os.path.join(self.out, f"{name}.{platform}.module"), "wb") as file:
            file.write(exported.serialize())


def _reason(diagnostic, error):
    where = f"{diagnostic.file}:{diagnostic.line}: " if diagnostic.file else ""
    first = (diagnostics.error_text(error).splitlines() or [""])[0]
    return f"case {diagnostic.case}: {where}{first}"
