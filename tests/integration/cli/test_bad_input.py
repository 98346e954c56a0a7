"""Everything that can be wrong with what a run is given: each has an error that names it, and nothing is lost."""

import json
import os
import pathlib
import shutil
import socket
import sqlite3
import subprocess
import threading

import pytest

from conftest import journal_events, write_task
from test_run import SWEEP, result_of, wait_for_event


def check_failure(maxkernel, outcome, message, code=1, run="run"):
    assert outcome.code == code, outcome
    assert message in outcome.err, outcome
    result = result_of(maxkernel.folder / run)
    assert not result["status"]["ok"] and result["status"]["message"], result


YAML = "name: tuned\nchip: v6e\nfidelity: {valid: [interpret], score: estimate}\ncases:\n  - name: only\n    params: {}\n"


@pytest.mark.parametrize("yaml, message", [
    ("name: [\n", "task.yaml:"),
    ("- a list\n", "task.yaml"),
    (YAML.replace("cases:", "casess:"), "did you mean 'cases'?"),
    (YAML.replace("v6e", "v9z"), "v9z"),
    (YAML.replace("estimate", "guess"), "guess"),
    (YAML.replace("name: tuned", "name: 'Not A Name'"), "name"),
    (YAML + "reference: nowhere.py\n", "nowhere.py"),
    (YAML + "tolerance: {atol: -1, rtol: 0}\n", "tolerance"),
    ("", "task.yaml"),
])
def test_malformed_task(maxkernel, yaml, message):
    task = write_task(maxkernel.folder, yaml=yaml)
    check_failure(maxkernel, maxkernel("optimize", task, "--run", "run"), message)


def test_missing_task(maxkernel):
    check_failure(maxkernel, maxkernel("optimize", "no/such/task", "--run", "run"), "no/such/task")
    assert not (maxkernel.folder / "runs").exists()
    assert maxkernel("optimize", "no/such/task").code == 1
    assert not (maxkernel.folder / "runs").exists()


def test_unreadable_file_of_a_task(maxkernel, task):
    (task / "reference.py").unlink()
    (task / "reference.py").symlink_to("reference.py")
    check_failure(maxkernel, maxkernel("optimize", task, "--run", "run"), "reference.py")


def test_file_of_a_task_that_is_no_text(maxkernel, task):
    (task / "baseline.py").write_bytes(b"BLOCK = 8\n\xff\xfe\n")
    check_failure(maxkernel, maxkernel("optimize", task, "--run", "run"), "baseline.py")


def test_malformed_tunable(maxkernel):
    task = write_task(maxkernel.folder, baseline="import jax\nBLOCK = 8  # tunable: 16, 32\n\n\ndef computation(x):\n    return x\n")
    outcome = maxkernel("optimize", task, "--run", "run")
    failures = [event["detail"] for event in journal_events(maxkernel.folder / "run") if event["event"] == "proposal_finished"]
    assert outcome.code == 3 and any(".py:2" in failure for failure in failures), (outcome, failures)


def test_reference_that_fails(maxkernel):
    task = write_task(maxkernel.folder, reference="# reference: task_failed\ndef computation(x):\n    return x\n")
    outcome = maxkernel("optimize", task, "--run", "run")
    assert outcome.code != 0, outcome
    assert "reference.py:7: the reference fails" in outcome.err, outcome
    assert not result_of(maxkernel.folder / "run")["status"]["ok"]


def test_baseline_that_is_not_correct(maxkernel):
    task = write_task(maxkernel.folder, baseline="# author: does_not_compile\n\n\ndef computation(x):\n    return x\n")
    outcome = maxkernel("optimize", task, "--run", "run")
    assert outcome.code not in (0, 3), outcome
    assert "baseline" in outcome.err and "kernel.py:3" in outcome.out + outcome.err, outcome
    result = result_of(maxkernel.folder / "run")
    assert not result["status"]["ok"] and result["best"] is None


def test_candidates_that_fail_do_not_end_the_run(maxkernel):
    task = write_task(maxkernel.folder)
    script = maxkernel.folder / "propose.py"
    script.write_text("import json, sys\nrequest = json.load(sys.stdin)\nfiles = request['parents'][0]['files']\n"
                      "verdict = ('incorrect', 'does_not_compile', 'crashed', 'timed_out', 'rejected')[request['seed'] % 5]\n"
                      "files[0]['text'] = '# author: %s %d\\n' % (verdict, request['seed']) + files[0]['text']\nprint(json.dumps({'files': files}))\n")
    outcome = maxkernel("optimize", task, "--run", "run", "--budget", "evaluations=12", "--expand", f"script(command=\"/usr/bin/python3 {script}\")")
    verdicts = {event["evaluation"]["verdict"] for event in journal_events(maxkernel.folder / "run") if event["event"] == "evaluation_finished"}
    assert outcome.code == 3 and "correct" in verdicts and len(verdicts) > 2, (outcome, verdicts)


def test_dead_server(maxkernel, task):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        address = "127.0.0.1:%d" % unused.getsockname()[1]
    outcome = maxkernel("optimize", task, "--run", "run", "--evaluator", address)
    check_failure(maxkernel, outcome, address, code=2)
    assert "maxkernel-evald" in outcome.err, outcome
    # The world can be mended: the run goes on.
    resumed = maxkernel("resume", "run", "--evaluator", "")
    assert resumed.code == 0, resumed


@pytest.mark.parametrize("greeting", [b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", b"SSH-2.0-other\r\n"])
def test_foreign_server(maxkernel, task, greeting):
    server = socket.create_server(("127.0.0.1", 0))
    address = "127.0.0.1:%d" % server.getsockname()[1]

    def answer():
        while True:
            try:
                connection, _ = server.accept()
            except OSError:
                return
            with connection:
                connection.sendall(greeting)

    threading.Thread(target=answer, daemon=True).start()
    try:
        outcome = maxkernel("optimize", task, "--run", "run", "--evaluator", address)
        check_failure(maxkernel, outcome, address, code=2)
    finally:
        server.close()


def test_address_that_is_none(maxkernel, task):
    outcome = maxkernel("optimize", task, "--run", "run", "--evaluator", "not an address")
    assert outcome.code in (1, 2) and "not an address" in outcome.err, outcome


def test_run_folder_that_is_a_file(maxkernel, task):
    (maxkernel.folder / "run").write_text("")
    outcome = maxkernel("optimize", task, "--run", "run")
    assert outcome.code in (1, 2) and "run folder run" in outcome.err or "make the run folder" in outcome.err, outcome
    below = maxkernel("optimize", task, "--run", "run/below")
    assert below.code in (1, 2) and "run/below" in below.err, below


def test_run_folder_that_cannot_be_written(maxkernel, task, read_only_disk):
    outcome = maxkernel("optimize", task, "--run", read_only_disk / "run")
    assert outcome.code == 2 and "Read-only file system" in outcome.err, outcome
    outcome = maxkernel("optimize", task, "--run", read_only_disk)
    assert outcome.code == 2 and "it cannot be written" in outcome.err, outcome


def test_run_folder_that_holds_a_run(maxkernel, task):
    assert maxkernel("optimize", task, "--run", "run", *SWEEP).code == 0
    before = (maxkernel.folder / "run" / "result.json").read_bytes()
    outcome = maxkernel("optimize", task, "--run", "run", *SWEEP)
    assert outcome.code == 1 and "it holds a run already" in outcome.err, outcome
    assert (maxkernel.folder / "run" / "result.json").read_bytes() == before


def test_run_folder_in_use_by_another_process(maxkernel):
    task = write_task(maxkernel.folder, baseline="# author: sleep 300\nBLOCK = 8  # tunable: 8, 16\n\n\ndef computation(x):\n    return x\n")
    process = maxkernel.start("optimize", task, "--run", "run")
    try:
        wait_for_event(maxkernel.folder / "run", "evaluation_dispatched", 1, process)
        outcome = maxkernel("resume", "run")
        assert outcome.code == 2 and "in use" in outcome.err and str(process.pid) in outcome.err, outcome
        assert not (maxkernel.folder / "run" / "result.json").exists()
        # Reading is allowed.
        assert "the run can be resumed" in maxkernel("status", "run").out
    finally:
        process.kill()
        process.communicate()


def test_no_run(maxkernel):
    (maxkernel.folder / "empty").mkdir()
    for command in ("resume", "status", "show", "best", "graph"):
        for folder in ("nowhere", "empty"):
            outcome = maxkernel(command, folder)
            assert outcome.code == 1 and f"run folder {folder}: there is no run in it" in outcome.err, outcome


@pytest.fixture
def ended_run(maxkernel, task):
    assert maxkernel("optimize", task, "--run", "run", *SWEEP, "--budget", "evaluations=2").code in (0, 3)
    return maxkernel.folder / "run"


@pytest.mark.parametrize("command", ["resume", "status", "show", "best", "graph"])
def test_foreign_journal(maxkernel, ended_run, command):
    for file in ended_run.glob("run.db*"):
        file.unlink()
    (ended_run / "run.db").write_text("this is a diary\n" * 100)
    outcome = maxkernel(command, "run")
    assert outcome.code == 1 and "run.db" in outcome.err and "journal" in outcome.err, outcome
    (ended_run / "run.db").unlink()
    with sqlite3.connect(ended_run / "run.db") as other:
        other.execute("CREATE TABLE recipes(name TEXT)")
    outcome = maxkernel(command, "run")
    assert outcome.code == 1 and "run.db" in outcome.err, outcome


@pytest.mark.parametrize("command", ["resume", "status"])
def test_journal_of_a_newer_version(maxkernel, ended_run, command):
    with sqlite3.connect(ended_run / "run.db") as connection:
        connection.execute("PRAGMA user_version = 1000")
    outcome = maxkernel(command, "run")
    assert outcome.code == 2 and "newer" in outcome.err, outcome


def test_damaged_journal(maxkernel, ended_run):
    with sqlite3.connect(ended_run / "run.db") as connection:
        connection.execute("UPDATE event SET json = replace(json, 'baseline', 'basement') WHERE sequence = 2")
    outcome = maxkernel("status", "run")
    assert outcome.code == 2 and "2" in outcome.err, outcome


def test_full_disk_keeps_what_was_acknowledged(maxkernel, small_disk):
    task = write_task(maxkernel.folder)
    script = maxkernel.folder / "propose.py"
    # Candidates of 100 kB each fill three megabytes soon.
    script.write_text("import json, sys\nrequest = json.load(sys.stdin)\nfiles = request['parents'][0]['files']\n"
                      "files[0]['text'] = 'BLOCK = 8\\n# %d %s\\n' % (request['seed'], 'x' * 100000)\nprint(json.dumps({'files': files}))\n")
    outcome = maxkernel("optimize", task, "--run", small_disk / "run", "--budget", "evaluations=200", "--expand",
                        f"script(command=\"/usr/bin/python3 {script}\")")
    assert outcome.code == 2, outcome
    assert "full" in outcome.err or "No space" in outcome.err, outcome
    result = json.loads((small_disk / "run" / "result.json").read_text())
    assert not result["status"]["ok"] and result["status"]["code"] == "RESOURCE_EXHAUSTED" and result["counts"]["nodes"] > 3
    assert str(result["counts"]["nodes"]) in maxkernel("status", small_disk / "run").out


def test_candidate_file_that_cannot_be_read(maxkernel, task):
    for name, message in (("missing.py", "missing.py: No such file"), (".", "it is a folder")):
        outcome = maxkernel("evaluate", task, name)
        assert outcome.code == 1 and message in outcome.err, outcome
    (maxkernel.folder / "empty.py").write_text("")
    outcome = maxkernel("evaluate", task, "empty.py")
    assert outcome.code == 1 and "empty.py" in outcome.err, outcome


def test_runner_that_is_none(maxkernel, task):
    (maxkernel.folder / "nothing").mkdir()
    outcome = maxkernel("evaluate", task, task / "baseline.py", "--runner", "nothing")
    assert outcome.code == 2 and "maxkernel_runner" in outcome.err, outcome


def test_python_that_is_none(maxkernel, task):
    outcome = maxkernel("evaluate", task, task / "baseline.py", environment={"MAXKERNEL_PYTHON": "/no/such/python"})
    assert outcome.code == 2 and "/no/such/python" in outcome.err, outcome
