"""Whole runs with a runner that needs no JAX: what is printed, what is written, how a run is stopped and taken up again."""

import json
import pathlib
import re
import shutil
import signal
import time

import pytest

from conftest import DAEMON, journal_events, write_task

SWEEP = ("--expand", "autotune(method=exhaustive)", "--seed", "7")


def result_of(run):
    return json.loads((run / "result.json").read_text())


@pytest.fixture
def swept(maxkernel, task):
    outcome = maxkernel("optimize", task, "--run", "run", *SWEEP)
    assert outcome.code == 0, outcome
    return maxkernel.folder / "run", outcome


def wait_for_event(run, event, count=1, process=None):
    for _ in range(600):
        try:
            if sum(entry["event"] == event for entry in journal_events(run)) >= count:
                return
        except Exception:
            pass
        assert process is None or process.poll() is None, process.communicate()
        time.sleep(0.05)
    raise AssertionError(f"no {event} in {run}")


def test_a_sweep_finds_the_best_and_says_so(swept):
    run, outcome = swept
    assert re.search(r"best +n\d+ +6x \(estimate\)", outcome.out), outcome
    assert "+BLOCK_M = 64" in outcome.out and "next       maxkernel best run" in outcome.out
    result = result_of(run)
    assert result["status"]["ok"] and result["improved"] and result["best"]["score"]["value"] == pytest.approx(6)
    champions = [event for event in journal_events(run) if event["event"] == "new_champion"]
    assert champions[-1]["score"]["value"] == pytest.approx(6)


def test_the_inspecting_commands(maxkernel, swept):
    assert "6x (estimate)" in maxkernel("status", "run").out
    status = json.loads(maxkernel("status", "run", "--json").out)
    assert status["best"] == result_of(swept[0])["best"]
    shown = maxkernel("show", "run")
    assert "lineage" in shown.out and "verdict    correct" in shown.out and "BLOCK_M = 64" in shown.out, shown
    node = json.loads(maxkernel("show", "run", "n0", "--json").out)
    assert node["operator"] == "baseline" and node["evaluation"]["verdict"] == "correct" and node["files"][0]["text"].startswith("BLOCK_M = 8")
    assert maxkernel("show", "run", "best", "--only", "diff").out.startswith("--- a/")
    assert "BLOCK_N = 64" in maxkernel("best", "run").out
    for name, message in (("n99", "the run has 12 nodes, n0 to n11"), ("x", "expected n12, 12, best or root")):
        outcome = maxkernel("show", "run", name)
        assert outcome.code == 1 and message in outcome.err, outcome


def test_best_exports_the_winner_with_its_evidence(maxkernel, swept):
    assert maxkernel("best", "run", "--out", "winner").code == 0
    winner = maxkernel.folder / "winner"
    assert "BLOCK_M = 64" in next((winner / "source").iterdir()).read_text()
    evaluation = json.loads((winner / "evaluation.json").read_text())
    baseline = json.loads((winner / "baseline-evaluation.json").read_text())
    assert evaluation["verdict"] == "correct" and evaluation["cases"][0]["samples_seconds"][0] < baseline["cases"][0]["samples_seconds"][0]
    assert "+BLOCK_M = 64" in (winner / "change.diff").read_text()
    assert json.loads((winner / "result.json").read_text())["improved"]


def test_graph_formats(maxkernel, swept):
    assert maxkernel("graph", "run").out.count("\n") >= 12
    assert maxkernel("graph", "run", "--format", "dot").out.startswith("digraph")
    assert "<graphml" in maxkernel("graph", "run", "--format", "graphml").out
    assert len(json.loads(maxkernel("graph", "run", "--format", "json").out)["nodes"]) == 12
    svg = maxkernel("graph", "run", "--format", "svg", "--out", "graph.svg")
    if shutil.which("dot"):
        assert svg.code == 0 and "</svg>" in (maxkernel.folder / "graph.svg").read_text(), svg
    no_dot = maxkernel("graph", "run", "--format", "svg", environment={"PATH": "/nowhere"})
    assert no_dot.code == 2 and "install the package graphviz" in no_dot.err, no_dot


def test_json_output_is_the_journal_and_the_result(maxkernel, task):
    outcome = maxkernel("optimize", task, "--run", "run", *SWEEP, "--json")
    assert outcome.code == 0 and outcome.err == "", outcome
    lines = [json.loads(line) for line in outcome.out.splitlines()]
    assert lines[:-1] == journal_events(maxkernel.folder / "run")
    assert lines[-1] == {"event": "result", "result": result_of(maxkernel.folder / "run")}


def test_a_search_that_finds_nothing_better_exits_with_3(maxkernel):
    task = write_task(maxkernel.folder, baseline="BLOCK = 64  # tunable: 32, 64\n\n\ndef computation(x):\n    return x\n")
    outcome = maxkernel("optimize", task, "--run", "run")
    assert outcome.code == 3 and "nothing better than the baseline was found" in outcome.out, outcome
    assert maxkernel("best", "run").code == 3


def test_budget_ends_a_run_exactly(maxkernel, task):
    outcome = maxkernel("optimize", task, "--run", "run", *SWEEP, "--budget", "evaluations=5")
    assert result_of(maxkernel.folder / "run")["cost"]["evaluations"] == 5, outcome
    assert "budget: evaluations" in outcome.out


def test_flags_win_over_the_configuration_file_and_that_over_defaults(maxkernel, task):
    (maxkernel.folder / "search.yaml").write_text(
        "seed: 11\nbudget: {evaluations: 3}\nrepeats: 2\nexpand: ['autotune(method=random)']\nstop: ['target(score=100)', 'patience(orders=50)']\n")
    outcome = maxkernel("optimize", task, "--run", "run", "--config", "search.yaml", "--budget", "evaluations=2")
    assert outcome.code in (0, 3), outcome
    started = journal_events(maxkernel.folder / "run")[0]
    settings = json.loads(started["specification"])["settings"]
    assert started["seed"] == 11 and started["budget"]["evaluations"] == 2
    assert settings["expand"] == ["autotune(method=random)"] and settings["repeats"] == ["2"] and settings["select"] == ["best_first"]


def test_several_expansions_are_a_portfolio(maxkernel, task):
    script = maxkernel.folder / "propose.py"
    script.write_text("import json, sys\nrequest = json.load(sys.stdin)\nfiles = request['parents'][0]['files']\n"
                      "files[0]['text'] += '# %d\\n' % request['seed']\nprint(json.dumps({'files': files}))\n")
    outcome = maxkernel("optimize", task, "--run", "run", "--seed", "3", "--budget", "evaluations=10", "--expand", "autotune", "--expand",
                        f"script(command=\"/usr/bin/python3 {script}\")")
    operators = {event["operator_name"] for event in journal_events(maxkernel.folder / "run") if event["event"] == "proposal_dispatched"}
    assert operators == {"autotune", "script"}, outcome


def test_an_interrupt_finishes_what_is_in_flight(maxkernel):
    task = write_task(maxkernel.folder, baseline="# author: sleep 1\nBLOCK = 8  # tunable: 8, 16, 32, 64, 128, 256\n\n\ndef computation(x):\n    return x\n")
    process = maxkernel.start("optimize", task, "--run", "run")
    run = maxkernel.folder / "run"
    wait_for_event(run, "evaluation_dispatched", 2, process)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert "finishing what is in flight" in err
    events = journal_events(run)
    assert events[-1]["event"] == "run_ended" and "interrupted" in events[-1]["reason"]
    finished = [event["settle"] for event in events if event["event"] == "evaluation_finished"]
    assert finished and set(finished) == {"ok"}
    assert result_of(run)["end_reason"] == events[-1]["reason"]


def test_a_second_interrupt_cancels(maxkernel):
    task = write_task(maxkernel.folder, baseline="# author: sleep 300\nBLOCK = 8  # tunable: 8, 16\n\n\ndef computation(x):\n    return x\n")
    process = maxkernel.start("optimize", task, "--run", "run")
    wait_for_event(maxkernel.folder / "run", "evaluation_dispatched", 1, process)
    process.send_signal(signal.SIGINT)
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    started = time.monotonic()
    process.communicate(timeout=60)
    assert time.monotonic() - started < 30
    assert "interrupted" in result_of(maxkernel.folder / "run")["end_reason"]


def test_resume_needs_no_task_folder_and_refuses_an_ended_run(maxkernel, task):
    process = maxkernel.start("optimize", task, "--run", "run", *SWEEP)
    run = maxkernel.folder / "run"
    wait_for_event(run, "evaluation_finished", 3, process)
    process.kill()
    process.communicate()
    shutil.rmtree(task)
    assert "the run can be resumed" in maxkernel("status", "run").out
    resumed = maxkernel("resume", "run")
    assert resumed.code == 0 and "6x (estimate)" in resumed.out, resumed
    again = maxkernel("resume", "run")
    assert again.code == 2 and "the run has ended (exhausted" in again.err, again


def test_resume_can_change_the_budget(maxkernel, task):
    process = maxkernel.start("optimize", task, "--run", "run", *SWEEP)
    run = maxkernel.folder / "run"
    wait_for_event(run, "evaluation_finished", 2, process)
    process.kill()
    process.communicate()
    resumed = maxkernel("resume", "run", "--budget", "evaluations=6")
    assert "budget: evaluations" in resumed.out, resumed
    assert result_of(run)["cost"]["evaluations"] == 6


def test_a_daemon_that_runs_elsewhere(maxkernel, task):
    import subprocess
    port_file = maxkernel.folder / "port"
    daemon = subprocess.Popen([DAEMON, "--listen", "127.0.0.1:0", "--port-file", port_file, "--state", maxkernel.folder / "state", "--python",
                               "/usr/bin/python3", "--runner", maxkernel.runner], stderr=subprocess.DEVNULL)
    try:
        for _ in range(200):
            if port_file.exists():
                break
            time.sleep(0.05)
        address = "127.0.0.1:" + port_file.read_text().strip()
        outcome = maxkernel("optimize", task, "--run", "run", *SWEEP, "--evaluator", address)
        assert outcome.code == 0 and f"the evaluation daemon at {address}" in outcome.err, outcome
        assert not (maxkernel.folder / "run" / "evald").exists()
        named = maxkernel("evaluate", task, task / "baseline.py", environment={"MAXKERNEL_EVALUATOR": address})
        assert named.code == 0 and "score    1x (estimate)" in named.out, named
    finally:
        daemon.terminate()
        daemon.wait()


def test_task_check_and_doctor(maxkernel, task):
    check = maxkernel("task", "check", task)
    assert check.code == 0 and "tuned is admitted" in check.out, check
    refused = write_task(maxkernel.folder, "refused", reference="# admit: task_failed\ndef computation(x):\n    return x\n")
    check = maxkernel("task", "check", refused, "--json")
    report = json.loads(check.out)
    assert check.code == 3 and not report["admitted"] and "reference.py:7" in report["findings"][0]["message"], check
    doctor = maxkernel("doctor", "--json")
    findings = {finding["what"]: finding for finding in json.loads(doctor.out)["findings"]}
    assert findings["fidelity estimate"]["works"] and not findings["fidelity device"]["works"], doctor
    assert "works" in maxkernel("doctor").out


def test_repeating_a_seed_repeats_the_search(maxkernel, task):
    def proposals(run):
        maxkernel("optimize", task, "--run", run, "--expand", "autotune(method=random)", "--seed", "5", "--budget", "evaluations=6",
                  "--expand-workers", "1", "--evaluate-workers", "1")
        return [event["parameters"] for event in journal_events(maxkernel.folder / run) if event["event"] == "proposal_dispatched"]

    first = proposals("one")
    assert first and first == proposals("two")
