"""Compiles the TPU modules with the chip's real compiler, ahead of time. Runs no candidate Python."""

import re
import time

from maxkernel_runner import chip_compiler, diagnostics, modules, signature
from maxkernel_runner.protocol import CaseResult, Diagnostic, Result, failed

# A location that the compiler gives: loc("name"("/path/file.py":12:3 to :40)) or a stack of them.
_LOCATION = re.compile(r'"([^"\s]+\.py)":(\d+)')


def run(job, progress):
    entries = signature.select(signature.read(job.need("reference_dir", str)), job.cases)
    target = chip_compiler.device(job.hardware)
    results, loaded = [], []
    for case, entry in entries:
        name = case["name"]
        progress("compiling ahead of time", name)
        result = CaseResult(name)
        results.append(result)
        try:
            module = modules.load(job.need("module_dir", str), name, "tpu", entry, job.allow, job.module_bytes_limit)
        except FileNotFoundError:
            return Result(status="infra_failed", reason=f"case {name} has no tpu module", cases=results)
        except modules.Rejection as rejection:
            reason = f"{rejection.rule}: {rejection}"
            result.status = "failed"
            return failed("rejected", reason, Diagnostic(message=reason, kind="module", case=name), cases=results)
        loaded.append((name, module))
        started = time.monotonic()
        try:
            compiled = chip_compiler.compile_module(module, entry, target)
        except Exception as error:
            result.status = "failed"
            return _refused(error, result, results, modules.identity(loaded))
        result.facts.update(chip_compiler.facts(compiled), compile_s=time.monotonic() - started,
                            products_outside_kernels=module.heavy_outside)
    facts = {"kernels": sum(len(m.kernels) for _, m in loaded), "device_kind": target.device_kind}
    return Result(cases=results, facts=facts, identity=modules.identity(loaded))


def _refused(error, result, results, identity):
    diagnostic = compile_diagnostic(error, result.name)
    shortage = chip_compiler.memory_shortage(str(error))
    first = diagnostics.error_text(error).splitlines()[0]
    if shortage:
        result.facts.update({f"{shortage['space']}_needed_bytes": shortage["needed"], f"{shortage['space']}_limit_bytes": shortage["limit"]})
        first = (f"{shortage['space'].upper()} is too small: {shortage['needed']} bytes needed, limit {shortage['limit']}, "
                 f"{shortage['needed'] - shortage['limit']} too many")
        diagnostic.message = f"{first}\n{diagnostic.message}"
    if diagnostic.fault == "infra":
        return Result(status="infra_failed", reason=f"case {result.name}: {first}", diagnostics=[diagnostic], cases=results)
    where = f"{diagnostic.file}:{diagnostic.line}: " if diagnostic.file else ""
    return failed("does_not_compile", f"case {result.name}: {where}{first}", diagnostic, cases=results, identity=identity)


def compile_diagnostic(error, case):
    """A compiler's error; the line comes from the location inside the kernel, if it names one."""
    diagnostic = diagnostics.from_exception(error, {}, case=case)
    location = _LOCATION.search(str(error)) or _LOCATION.search(getattr(error, "_mosaic_error_str", "") or "")
    if location:
        diagnostic.file, diagnostic.line = location[1].rsplit("/", 1)[-1], int(location[2])
    return diagnostic
