"""Runs a trace in TPU interpret mode, which simulates memory, copies and semaphores: out-of-bounds accesses, reads of what nobody
wrote, races, unpaired semaphores.

Memory that nobody has written holds zeros here and NaN in the plain interpreter, and a copy moves its data only when it is
awaited. So a program whose results differ between the two depends on memory that it should not have read.

It uses practice inputs of no secret seed, because it runs in the author's process: callbacks cannot be exported. A run calls
back into Python for every access, so only small cases are worth it. A clean run is evidence, not proof.
"""

import contextlib
import dataclasses
import io
import math
import re
import time
import zlib

import jax
import numpy as np
from jax._src import dispatch
from jax.experimental.pallas import tpu as pltpu

from maxkernel_runner import arrays, compare, diagnostics, tracing
from maxkernel_runner.protocol import Diagnostic

# Block visits over all kernels of a case, each grid step counting once per block; about a millisecond each.
VISIT_LIMIT = 1000
# Of processor time, over all cases of a candidate: how busy the machine is does not decide what is checked.
SECONDS_LIMIT = 15.0

_PRINTED = (
    ("RACE DETECTED", "race", "two accesses to the same memory are not ordered"),
    ("has non-zero count", "dma_semaphore", "a semaphore is not back at zero when the kernel ends"),
)
# Faults that only this mode finds; any other error that it raises is taken as its own limit, since the kernel lowered for the TPU
# and ran in the plain interpreter.
_FAULTS = ("oob", "race", "revisit", "dma_semaphore", "memory_space")


# The exception of a callback inside the runtime's text about it.
_INNER_ERROR = re.compile(r"^\s*((?:\w+Error|Exception): .*)$", re.MULTILINE)


@dataclasses.dataclass
class Outcome:
    status: str
    verdict: str = ""
    reason: str = ""
    diagnostics: list = dataclasses.field(default_factory=list)


class Checker:
    """The checks of one candidate; keeps the time budget over its cases."""

    def __init__(self, files, cores=1):
        self._files = files
        self._left = SECONDS_LIMIT
        self._cores = cores

    def run(self, closed_jaxpr, entry, exported, name):
        """`exported`: the same trace for the CPU, with kernels in the plain interpreter."""
        visits = block_visits(closed_jaxpr)
        if visits is None:
            return Outcome("skipped: the grid is not static")
        if visits > VISIT_LIMIT:
            return Outcome(f"skipped: {visits} block visits")
        if self._left <= 0:
            return Outcome("skipped: the time for these checks is spent")
        inputs = practice_inputs(entry, name)
        if inputs is None:
            return Outcome("skipped: no practice values for its integers")
        started = time.process_time()
        try:
            return self._simulate(closed_jaxpr, inputs, exported, name)
        finally:
            self._left -= time.process_time() - started

    def _simulate(self, closed_jaxpr, inputs, exported, name):
        parameters = pltpu.InterpretParams(detect_races=True, uninitialized_memory="zero", out_of_bounds_reads="raise",
                                           dma_execution_mode="on_wait", random_seed=zlib.crc32(name.encode()),
                                           num_cores_or_threads=self._cores)
        program = jax.jit(tracing.with_interpreter(closed_jaxpr, parameters))
        outputs, printed, error = _captured(lambda: jax.device_get(program(*inputs)))
        pltpu.reset_tpu_interpret_mode_state()
        # A failed callback's token would raise its error again in the next run.
        dispatch.runtime_tokens.clear()
        if isinstance(error, tracing.KernelInControlFlow):
            return Outcome(f"skipped: a kernel inside {error}")
        found = self._printed_findings(printed)
        if error is not None:
            found[:0] = self._raised_finding(error, name)
        elif not found:
            found = _difference(jax.device_get(exported.call(*inputs)), outputs)
        faults = [d for d in found if d.severity == "error"]
        if faults:
            return Outcome("failed", "incorrect", f"{faults[0].kind}: {faults[0].message.splitlines()[0]}", found)
        return Outcome("passed" if not found else "stopped: a limit of the simulator", diagnostics=found)

    def _raised_finding(self, error, name):
        diagnostic = diagnostics.from_exception(error, self._files, case=name)
        inner = _INNER_ERROR.findall(diagnostic.message)
        if inner:
            # The rest is the simulator's own trace.
            diagnostic.message = inner[-1]
        if diagnostic.kind not in _FAULTS:
            diagnostic.kind, diagnostic.fault, diagnostic.severity = "interpreter_limit", "infra", "warning"
        return [diagnostic]

    def _printed_findings(self, printed):
        found = []
        for text, kind, meaning in _PRINTED:
            position = printed.find(text)
            if position >= 0:
                line = printed[printed.rfind("\n", 0, position) + 1:].split("\n\n")[0][:600]
                hint = next((p.hint for p in diagnostics.Patterns.load().patterns if p.kind == kind), "")
                found.append(Diagnostic(message=f"{meaning}: {line}", kind=kind, hint=hint))
        return found


def block_visits(closed_jaxpr):
    """Grid steps times blocks, summed over kernels; None where a grid is not static."""
    total = 0
    for equation in tracing.equations(closed_jaxpr.jaxpr):
        if equation.primitive.name == "pallas_call":
            mapping = equation.params["grid_mapping"]
            if not all(isinstance(size, int) for size in mapping.grid):
                return None
            total += math.prod(mapping.grid) * max(1, len(mapping.block_mappings))
    return total


def practice_inputs(entry, name):
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    practice = entry.get("practice")
    leaves = []
    for index, described in enumerate(entry["arguments"]):
        dtype = arrays.dtype(described["dtype"])
        if dtype.kind in "iub":
            if practice is None:
                return None
            leaves.append(np.asarray(practice[index], dtype).reshape(described["shape"]))
        else:
            leaves.append(rng.standard_normal(described["shape"], dtype=np.float32).astype(dtype))
    return leaves


def _captured(step):
    """(its value, what the simulator printed, the exception or None)."""
    printed = io.StringIO()
    value = error = None
    with contextlib.redirect_stdout(printed):
        try:
            value = step()
        except Exception as raised:
            error = raised
    return value, printed.getvalue(), error


# The same operations on the same machine: only roundings differ, which whole numbers may show as a few other choices among equals.
_SAME = 0.05
_OTHER_CHOICES = 0.02


def _difference(plain, simulated):
    """A finding where the two interpreters disagree on the same inputs."""
    for number, (one, other) in enumerate(zip(plain, simulated)):
        one, other = np.asarray(one), np.asarray(other)
        outcome = compare.compare(other, one, {"atol": _SAME * _scale(one), "rtol": _SAME}, f"output {number}")
        if not outcome.good and not (one.dtype.kind in "iub" and outcome.bad <= _OTHER_CHOICES * one.size):
            return [Diagnostic(message="results depend on memory that nothing has written, or on a copy that is not awaited: with zeros instead "
                                       f"of NaN in unwritten memory, {outcome.message}", kind="uninitialized_read",
                               hint="Wait for each copy before using its buffer, write the whole output, and mask what lies beyond the array.")]
    return []


def _scale(array):
    values = array.astype(np.float64)
    values = values[np.isfinite(values)]
    return float(np.sqrt(np.mean(values**2))) if values.size else 0.0
