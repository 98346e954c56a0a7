"""Every candidate through the whole chain of roles, on the task that its first line names.

Slow: a few seconds for each. MAXKERNEL_SLOW_TESTS=1 turns it on; `pytest -k c18` picks some.
"""

import os
import pathlib
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
REPOSITORY = HERE.parents[1]
sys.path.insert(0, str(REPOSITORY / "runner" / "tools"))
import try_task  # noqa: E402

VERDICTS = {"rejected", "incorrect", "does_not_compile", "crashed", "timed_out", "honest_score"}
STAGE_DEADLINE_S = 120
ADDRESS_SPACE = 10 << 30

pytestmark = pytest.mark.skipif(not os.environ.get("MAXKERNEL_SLOW_TESTS"), reason="slow: set MAXKERNEL_SLOW_TESTS=1")


def header(path):
    """The `# key: value` lines at the top of a candidate."""
    fields = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        if not line.startswith("# ") or ": " not in line:
            break
        key, value = line[2:].split(": ", 1)
        fields[key] = value
    return fields


def verdict_of(results):
    last = results[-1]
    if last["status"] == "passed":
        return "honest_score"
    return last["verdict"] or last["status"]


@pytest.fixture(scope="session")
def evaluate(tmp_path_factory):
    references = {}

    def run(candidate, task):
        if task not in references:
            work = tmp_path_factory.mktemp(task)
            chain = try_task.Chain(REPOSITORY / "tasks" / task, str(work))
            result = chain.reference()
            assert result["status"] == "passed", result["reason"]
            references[task] = chain
        chain = references[task]
        chain.base["module_dir"] = str(tmp_path_factory.mktemp("modules"))
        results = []
        for role, fields in steps(chain, candidate):
            result = bounded_call({**chain.base, "role": role, **fields})
            results.append(result)
            if result["status"] != "passed":
                break
        return results

    return run


def steps(chain, candidate):
    yield "author", dict(
        out_dir=chain.base["module_dir"], targets=["tpu", "cpu"], fidelity="interpret",
        candidate={"dir": str(candidate.parent), "entry": candidate.name, "files": [candidate.name]},
    )
    yield "compile", dict(fidelity="aot")
    yield "test", dict(fidelity="interpret")
    yield "measure", {}


def bounded_call(job):
    import resource
    import time

    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, hard))
    try:
        started = time.monotonic()
        result = try_task.call(job, timeout=STAGE_DEADLINE_S)
        # What the daemon does when its deadline passes; without a result the tool can only say that there is none.
        if result["status"] == "crashed" and time.monotonic() - started >= STAGE_DEADLINE_S - 1:
            result["verdict"] = "timed_out"
        return result
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def candidates(folder):
    return sorted((HERE / folder).glob("*.py"))


@pytest.mark.parametrize("path", candidates("honest"), ids=lambda p: p.stem)
def test_honest_candidate_gets_a_score(path, evaluate):
    results = evaluate(path, header(path)["task"])
    last = results[-1]
    assert verdict_of(results) == "honest_score", f"{last['role']}: {last['verdict']}: {last['reason']}"
    times = [case["samples_s"] for case in last["cases"] if case["samples_s"]]
    assert times and all(sample > 0 for samples in times for sample in samples)


@pytest.mark.parametrize("path", candidates("hostile"), ids=lambda p: p.stem)
def test_hostile_candidate_gets_its_verdict(path, evaluate):
    fields = header(path)
    expected = fields["expect"].split(" or ")
    assert set(expected) <= VERDICTS, f"{path.name}: unknown verdict among {expected}"
    results = evaluate(path, fields["task"])
    last = results[-1]
    assert verdict_of(results) in expected, f"{last['role']}: {verdict_of(results)}: {last['reason']}"
