"""Admission: proves that a task can tell a right kernel from a wrong one before anybody searches on it."""

import numpy as np

from maxkernel_runner import arrays, compare, tolerance, tracing, trees, work
from maxkernel_runner.protocol import CaseResult, Diagnostic, Result
from maxkernel_runner.roles import reference as reference_role
from maxkernel_runner.task_files import TaskFiles

# The output's standard deviation over what the tolerance allows at its mean magnitude.
SPREAD_ERROR, SPREAD_WARNING = 4.0, 20.0
# Seeds beside the first one.
OTHER_SEEDS = 2
# The share of an output that the last block of a forgetful grid covers.
BLOCK_SHARE = 8


def run(job, progress):
    task = TaskFiles(job)
    function = task.reference()
    seed = job.need("seed", int)
    findings, results = [], []
    cases = task.cases(job.cases)
    tested = [case for case in cases if case.get("test", True)]
    for case in cases:
        progress("checking", case["name"])
        one = _Case(job, task, function, case, seed, findings)
        results.append(one.result)
    if not tested:
        findings.append(_finding("tested cases", "", "error", "no case is tested, so any kernel would pass"))
    if not any(case.get("score", True) for case in cases):
        findings.append(_finding("scored cases", "", "error", "no case is scored, so no kernel is better than another"))
    errors = [f for f in findings if f.severity == "error"]
    if errors:
        return Result(status="task_failed", reason=f"{len(errors)} admission checks failed, first: {errors[0].kind}: {errors[0].message}",
                      diagnostics=_ordered(findings), cases=results)
    return Result(diagnostics=_ordered(findings), cases=results)


def _ordered(findings):
    """Errors first; what passed is one line per check, since a result holds only so many."""
    passed = {}
    for finding in findings:
        if finding.severity == "info":
            passed.setdefault(finding.kind, []).append(finding)
    merged = [group[0] if len(group) == 1 else
              _finding(kind, "", "info", "; ".join(f"{f.case}: {f.message}" for f in group)) for kind, group in passed.items()]
    return [f for severity in ("error", "warning") for f in findings if f.severity == severity] + merged


def _finding(check, case, severity, message):
    return Diagnostic(message=message, severity=severity, kind=check, fault="task", case=case)


class _Case:
    def __init__(self, job, task, function, case, seed, findings):
        self.job, self.task, self.case, self.name = job, task, case, case["name"]
        self.findings = findings
        self.result = CaseResult(self.name)
        self.file = job.config.get("reference") or "reference.py"
        self.program = reference_role.Program(job, task, function, case, seed)
        self._roofline()
        self._baseline()
        if case.get("test", True):
            self._same_inputs_again(seed)
            self._values(seed)

    def _say(self, check, good, message, severity="error"):
        self.findings.append(_finding(check, self.name, "info" if good else severity, message))

    def _roofline(self):
        entry = self.program.entry
        least, _ = work.seconds(entry["floor"], self.job.hardware, least=True)
        seconds, bound = work.seconds(entry["floor"], self.job.hardware)
        self.result.floor_s = least
        self.result.facts.update(flops=entry["floor"]["flops"], bytes=entry["floor"]["bytes"])
        if seconds is None:
            self._say("roofline", False, "the hardware file lacks peak or bandwidth of this chip: no floor", "warning")
            return
        self.result.facts.update(roofline_s=seconds, bound_by=bound)
        self._say("roofline", True, f"{entry['floor']['flops']:.4g} operations and {entry['floor']['bytes']:.4g} bytes: at best "
                                    f"{seconds * 1e6:.3g} us on {self.job.get('chip', 'the chip')}, bound by {bound}")

    def _baseline(self):
        baseline = self.task.baseline()
        if baseline is None:
            return
        try:
            self.task.call(self.job.config.get("baseline") or "baseline.py", f"computation for case {self.name}",
                           lambda: tracing.trace(baseline, self.program.entry, self.job.hardware))
        except Exception as error:
            self._say("baseline", False, str(error))
            return
        self._say("baseline", True, "takes and gives what the reference does")

    def _same_inputs_again(self, seed):
        again, _ = self.task.inputs(self.case, seed)
        leaves = [np.asarray(leaf) for leaf in trees.flatten(again)[1]]
        same = all(a.shape == b.shape and a.tobytes() == b.tobytes() for a, b in zip(leaves, self.program.leaves))
        self._say("inputs from the seed", same, "the same seed gives the same inputs" if same else
                  "the same seed gave other inputs: everything random must come from `rng`")

    # Values

    def _values(self, seed):
        self.expected = self.program.run(self.program.leaves)
        oracle = self.program.oracle()
        stated = reference_role.stated_tolerance(self.job, self.case, len(self.expected), self.task)
        self.tolerances = stated or [tolerance.derive(o, None if oracle is None else oracle[i]) for i, o in enumerate(self.expected)]
        self.order = reference_role.compare_order(self.job.config)
        self.result.facts["tolerance"] = "stated" if stated else "derived"
        self._reference_passes(oracle)
        self._finite()
        self._spread()
        others = self._other_seeds(seed)
        self._nulls(others)
        self._sensitivity(others)

    def _passes(self, outputs):
        return compare.compare_all(outputs, self.expected, self.tolerances, self.program.entry["output_paths"], self.order)

    def _reference_passes(self, oracle):
        again = self._passes(self.program.run(self.program.leaves))
        self._say("reference repeats", again.good, "two runs of the reference agree" if again.good else again.message)
        if oracle is None:
            self._say("tolerance possible", True, "the reference does not run in float64, so its own error is unknown")
            return
        # With the output's own rounding, which the most exact kernel has as well.
        rounded = [o.astype(e.dtype) for o, e in zip(oracle, self.expected)]
        outcome = self._passes(rounded)
        self._say("tolerance possible", outcome.good,
                  f"the reference's own error against float64 is at most {outcome.max_abs_error:.3g}" if outcome.good else
                  f"an exact kernel would fail: against float64, {outcome.message}")

    def _finite(self):
        for path, output in zip(self.program.entry["output_paths"], self.expected):
            if tolerance.is_float(output.dtype):
                share = float(np.mean(np.isfinite(output.astype(np.float64))))
                if share < 1.0:
                    self._say("finite results", False, f"output{path}: {1 - share:.2%} of the reference's results are not finite", "warning")

    def _spread(self):
        for path, output, allowed in zip(self.program.entry["output_paths"], self.expected, self.tolerances):
            ratio = tolerance.spread(allowed, output)
            if ratio == float("inf"):
                continue
            good = ratio >= SPREAD_WARNING
            self._say("tolerance not vacuous", good, f"output{path}: its standard deviation is {ratio:.3g} times what the tolerance allows",
                      "error" if ratio < SPREAD_ERROR else "warning")

    def _other_seeds(self, seed):
        if not self.task.is_random():
            return []
        found = []
        for number in range(1, OTHER_SEEDS + 1):
            dynamic, _ = self.task.inputs(self.case, seed, number)
            found.append([np.asarray(leaf) for leaf in trees.flatten(dynamic)[1]])
        return found

    def _nulls(self, others):
        for name, outputs in null_candidates(self.expected, self.program.leaves):
            outcome = self._passes(outputs)
            check = f"null candidate: {name}"
            severity = "warning" if name.startswith("swapped") or (name.startswith("lower") and not self.task.is_random()) else "error"
            self._say(check, not outcome.good, f"fails as it must: {outcome.bad} wrong elements" if not outcome.good else
                      f"passes: a kernel that returns this would count as right ({self._why()})", severity)
        if not self.task.is_random():
            self._say("null candidate: the first seed's output", False,
                      "the inputs do not depend on a seed, so a kernel that holds the answers cannot be told from one that computes them",
                      "warning")
            return
        for leaves in others[:1]:
            outcome = self._passes(self.program.run(leaves))
            self._say("null candidate: the first seed's output", not outcome.good,
                      f"fails as it must: {outcome.bad} wrong elements" if not outcome.good else
                      "another seed's output passes: results hardly depend on the inputs")

    def _why(self):
        return "tolerance " + ", ".join(f"{t['atol']:.3g} + {t['rtol']:.3g} * |expected|" for t in self.tolerances)

    def _sensitivity(self, others):
        for position, path in enumerate(self.program.entry["argument_paths"]):
            own = self.program.leaves[position]
            changed = [o[position] for o in others if o[position].shape == own.shape and not np.array_equal(o[position], own)]
            check = f"sensitivity: argument {path}"
            if not others:
                continue
            if not changed:
                self._say(check, False, "it is the same for every seed", "warning")
                continue
            effect = False
            for leaf in changed:
                leaves = list(self.program.leaves)
                leaves[position] = leaf
                if not self._passes(self.program.run(leaves)).good:
                    effect = True
                    break
            self._say(check, effect, "changing it changes the result" if effect else
                      f"changing it does not change the result beyond the tolerance: a kernel may ignore it ({self._why()})")


_LOWER = {"float64": "float32", "float32": "bfloat16", "bfloat16": "float8_e4m3fn", "float16": "float8_e4m3fn"}


def null_candidates(expected, inputs):
    """(name, outputs) of kernels that do no work, or not the work; each must fail."""
    yield "zeros", [np.zeros_like(o) for o in expected]
    yield "ones", [np.ones_like(o) for o in expected]
    if any(tolerance.is_float(o.dtype) for o in expected):
        yield "NaN", [np.full_like(o, np.nan) if tolerance.is_float(o.dtype) else o for o in expected]
    for position, leaf in enumerate(inputs):
        if any(leaf.shape == o.shape and leaf.dtype == o.dtype for o in expected):
            yield f"argument {position} passed through", [leaf if (leaf.shape, leaf.dtype) == (o.shape, o.dtype) else o for o in expected]
    # A single element is its own mean.
    if any(tolerance.is_float(o.dtype) and o.size > 1 for o in expected):
        yield "mean everywhere", [_mean(o) for o in expected]
    if any(o.size > 1 for o in expected):
        yield "last block left out", [_without_last_block(o) for o in expected]
    lower = [_lowered(o) for o in expected]
    if any(o is not None for o in lower):
        yield "lower precision", [e if o is None else o for o, e in zip(lower, expected)]
    swapped = [_swapped(o) for o in expected]
    if any(o is not None for o in swapped):
        yield "swapped axes", [e if o is None else o for o, e in zip(swapped, expected)]


def _mean(output):
    if not tolerance.is_float(output.dtype) or output.size < 2:
        return output
    return np.full_like(output, np.mean(output.astype(np.float64)))


def _without_last_block(output):
    flat = output.reshape(-1).copy()
    flat[flat.size - max(1, flat.size // BLOCK_SHARE):] = 0
    return flat.reshape(output.shape)


def _lowered(output):
    name = _LOWER.get(output.dtype.name)
    return None if name is None else output.astype(arrays.dtype(name)).astype(output.dtype)


def _swapped(output):
    for first in range(output.ndim):
        for second in range(first + 1, output.ndim):
            if output.shape[first] == output.shape[second] > 1:
                return np.ascontiguousarray(np.swapaxes(output, first, second))
    return None
