"""The command with the real runner: JAX, Pallas, the estimate."""

import json
import subprocess
import time

import pytest

from conftest import DAEMON, ROOT, journal_events, write_task
from test_run import result_of

pytestmark = [pytest.mark.jax, pytest.mark.slow]
HOSTILE = ROOT / "tests" / "candidates" / "hostile"

SMALL_YAML = """\
    name: row_scale
    description: Scale every row by a factor of its own.
    chip: v6e
    fidelity: {valid: [interpret, lower], score: estimate}
    tolerance: {atol: 1.0e-6, rtol: 1.0e-6}
    cases:
      - name: small
        params: {rows: 64, columns: 128}
        score: false
      - name: large
        params: {rows: 8192, columns: 1024}
        test: false
    """
SMALL_REFERENCE = "def computation(x, factors):\n    return x * factors\n"
SMALL_INPUTS = """\
import numpy as np


def get_inputs(rng, rows, columns):
    return (rng.standard_normal((rows, columns), dtype=np.float32), rng.standard_normal((rows, 1), dtype=np.float32)), ()
"""
SMALL_BASELINE = """\
import jax
from jax.experimental import pallas as pl

BLOCK_ROWS = 8  # tunable: 8, 64, 512


def _kernel(x_ref, factors_ref, out_ref):
    out_ref[...] = x_ref[...] * factors_ref[...]


def computation(x, factors):
    rows, columns = x.shape
    block_rows = min(BLOCK_ROWS, rows)
    return pl.pallas_call(
        _kernel,
        grid=(pl.cdiv(rows, block_rows),),
        in_specs=[pl.BlockSpec((block_rows, columns), lambda i: (i, 0)), pl.BlockSpec((block_rows, 1), lambda i: (i, 0))],
        out_specs=pl.BlockSpec((block_rows, columns), lambda i: (i, 0)),
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
    )(x, factors)
"""


def write_small_task(folder, **changes):
    parts = {"yaml": SMALL_YAML, "reference": SMALL_REFERENCE, "inputs": SMALL_INPUTS, "baseline": SMALL_BASELINE, **changes}
    return write_task(folder, "row_scale", **parts)


@pytest.fixture(scope="module")
def daemon(tmp_path_factory):
    """One for all candidates, with a deadline that endless loops do not make long."""
    folder = tmp_path_factory.mktemp("daemon")
    process = subprocess.Popen([DAEMON, "--listen", "127.0.0.1:0", "--port-file", folder / "port", "--state", folder / "state",
                                "--stage-deadline", "90", "--drain-timeout", "0"], stderr=subprocess.DEVNULL)
    for _ in range(1200):
        if (folder / "port").exists():
            break
        time.sleep(0.1)
    yield "127.0.0.1:" + (folder / "port").read_text().strip()
    process.terminate()
    process.wait()


def test_a_real_search_improves_and_the_journal_proves_it(real_maxkernel):
    task = write_small_task(real_maxkernel.folder)
    outcome = real_maxkernel("optimize", task, "--run", "run", "--seed", "1", timeout=600)
    assert outcome.code == 0, outcome
    events = journal_events(real_maxkernel.folder / "run")
    winner = [event for event in events if event["event"] == "new_champion"][-1]
    assert winner["score"]["value"] > 1 and winner["score"]["fidelity"] == "estimate"
    baseline, best = (next(event["evaluation"] for event in events if event["event"] == "evaluation_finished" and event["node"] == node)
                      for node in (0, winner["node"]))
    times = [next(case["samples_seconds"][0] for case in evaluation["cases"] if case["name"] == "large") for evaluation in (baseline, best)]
    assert times[0] / times[1] == pytest.approx(winner["score"]["value"])
    assert "(estimate)" in outcome.out and "+BLOCK_ROWS = " in outcome.out
    assert result_of(real_maxkernel.folder / "run")["improved"]


def test_a_task_in_the_layout_of_the_reference_system(real_maxkernel):
    folder = ROOT / "tests" / "data" / "reference_layout_task"
    before = {file.name: file.read_bytes() for file in folder.iterdir()}
    outcome = real_maxkernel("evaluate", folder, folder / "optimized.py", "--json", timeout=300)
    assert outcome.code == 0 and json.loads(outcome.out)["evaluation"]["verdict"] == "correct", outcome
    assert before == {file.name: file.read_bytes() for file in folder.iterdir()}


def test_the_new_task_is_admitted(real_maxkernel):
    assert real_maxkernel("task", "new", "fresh").code == 0
    outcome = real_maxkernel("task", "check", "tasks/fresh", timeout=600)
    assert outcome.code == 0 and "fresh is admitted" in outcome.out, outcome


def test_doctor(real_maxkernel):
    outcome = real_maxkernel("doctor", timeout=300)
    assert outcome.code == 0 and "works    fidelity estimate" in outcome.out and "jax 0." in outcome.out, outcome


@pytest.mark.parametrize("part, text, message", [
    ("reference", "def computation(x, factors):\n    return x / undefined_name\n", "reference.py:2"),
    ("reference", "def computation(x, factors)\n    return x\n", "reference.py:1"),
    ("inputs", "def get_inputs(rng, rows, columns):\n    return 3\n", "get_inputs"),
    ("inputs", "def get_inputs(rng, rows, columns):\n    raise ValueError('no inputs today')\n", "no inputs today"),
    ("inputs", "def get_inputs(rng, height):\n    return (), ()\n", "get_inputs"),
])
def test_task_that_fails_when_it_runs(real_maxkernel, part, text, message):
    task = write_small_task(real_maxkernel.folder, **{part: text})
    outcome = real_maxkernel("optimize", task, "--run", "run", timeout=300)
    assert outcome.code in (1, 2), outcome
    assert message in outcome.err, outcome
    assert not result_of(real_maxkernel.folder / "run")["status"]["ok"]


CANDIDATES = {
    "does_not_parse": ("def computation(x, factors:\n    return x\n", {"does_not_compile", "rejected"}, ":1"),
    "no_computation": ("def compute(x, factors):\n    return x\n", {"does_not_compile", "rejected"}, "computation"),
    "loops_at_import": ("while True:\n    pass\n\n\ndef computation(x, factors):\n    return x\n", {"timed_out", "rejected"}, ""),
    "allocates": ("KEPT = []\nwhile True:\n    KEPT.append(bytearray(1 << 28))\n\n\ndef computation(x, factors):\n    return x\n",
                  {"crashed", "does_not_compile", "rejected", "timed_out"}, ""),
    "prints": ("for _ in range(20000):\n    print('x' * 100000)\n\n\ndef computation(x, factors):\n    return x * factors\n",
               {"correct", "rejected", "crashed", "timed_out"}, ""),
    "exits": ("raise SystemExit(0)\n\n\ndef computation(x, factors):\n    return x\n", {"crashed", "does_not_compile", "rejected"}, ""),
    "wrong": ("def computation(x, factors):\n    return x + factors\n", {"incorrect"}, ""),
}


@pytest.mark.parametrize("name", CANDIDATES)
def test_candidate_that_misbehaves(real_maxkernel, daemon, name):
    text, verdicts, message = CANDIDATES[name]
    task = write_small_task(real_maxkernel.folder)
    file = real_maxkernel.folder / "candidate.py"
    file.write_text(text)
    outcome = real_maxkernel("evaluate", task, file, "--json", "--evaluator", daemon, timeout=600)
    evaluation = json.loads(outcome.out)["evaluation"]
    assert evaluation["verdict"] in verdicts, outcome
    assert outcome.code == (0 if evaluation["verdict"] == "correct" else 3)
    assert evaluation["verdict"] == "correct" or evaluation["reason"], outcome
    assert message in outcome.out
    # The machine and the daemon are none the worse.
    good = real_maxkernel("evaluate", task, task / "baseline.py", "--fidelity", "interpret", "--evaluator", daemon, timeout=300)
    assert good.code == 0, good


@pytest.mark.parametrize("file", ["r06_fork_bomb.py", "r07_segfault.py"])
def test_hostile_candidate(real_maxkernel, daemon, file):
    outcome = real_maxkernel("evaluate", ROOT / "tasks" / "softmax", HOSTILE / file, "--json", "--fidelity", "interpret", "--evaluator",
                             daemon, timeout=600)
    assert outcome.code == 3, outcome
    assert json.loads(outcome.out)["evaluation"]["verdict"] != "correct"
