"""A run that is killed with SIGKILL at random moments, and resumed each time, ends as if nothing had happened."""

import collections
import random
import sqlite3
import subprocess
import time

import pytest

from conftest import journal_events, write_task

KILLS = 25  # for each of the two ways to expand

PROPOSE = """\
import json, random, sys
request = json.load(sys.stdin)
with open({log!r}, "a") as log:
    log.write(request["reply_key"] + "\\n")
files = request["parents"][0]["files"]
draw = random.Random(request["seed"])
files[0]["text"] = "BLOCK_M = %d\\nBLOCK_N = %d\\n" % (draw.choice([1, 2, 4, 8, 16, 32, 64, 128]), draw.choice([1, 2, 4, 8, 16, 32, 64, 128]))
print(json.dumps({{"files": files, "rationale": request["reply_key"], "cost": {{"microdollars": 10}}}}))
"""


def events_of(run):
    """The journal's events; none if the process died before it made one."""
    try:
        return journal_events(run)
    except sqlite3.Error:
        return []


def recorded_replies(run):
    try:
        connection = sqlite3.connect(f"file:{run / 'run.db'}?mode=ro", uri=True)
        with connection:
            return [row[0] for row in connection.execute("SELECT key FROM reply")]
    except sqlite3.Error:
        return []


def essence(events):
    """What a run has found: the score of every candidate, the best one and the reason of the end."""
    candidates = {event["node"]: event["candidate"] for event in events if event["event"] == "node_added"}
    scores = {candidates[event["node"]]: event["score"]["value"] for event in events
              if event["event"] == "evaluation_finished" and event.get("score")}
    end = events[-1]
    return scores, candidates[end["best"]], end["reason"]


def paid_calls(folder):
    log = folder / "paid.log"
    return collections.Counter(log.read_text().split()) if log.exists() else collections.Counter()


class Killer:
    def __init__(self, maxkernel, arguments, moments):
        self.maxkernel = maxkernel
        self.arguments = arguments
        self.moments = moments
        self.kills = 0

    def run(self, name):
        """Starts a run, kills and resumes it until it ends; returns its events."""
        run = self.maxkernel.folder / name
        (self.maxkernel.folder / "paid.log").unlink(missing_ok=True)
        acknowledged, settled = [], {}
        command = ("optimize", *self.arguments, "--run", name)
        while True:
            process = self.maxkernel.start(*command)
            ended = self.kill_at_random_moment(process)
            events = events_of(run)
            assert events[:len(acknowledged)] == acknowledged, "an acknowledged event is lost"
            acknowledged = events
            paid = paid_calls(self.maxkernel.folder)
            for key, count in settled.items():
                assert paid[key] == count, f"{key} was paid for again"
            settled = {key: paid[key] for key in paid if self.is_settled(key, run, events)}
            # A kill can come after the last event and before the process leaves.
            if ended or (events and events[-1]["event"] == "run_ended"):
                return events
            command = ("resume", name) if (run / "specification.json").exists() else command

    def kill_at_random_moment(self, process):
        try:
            out, err = process.communicate(timeout=next(self.moments))
            assert process.returncode in (0, 3), out + err
            return True
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            self.kills += 1
            return False

    def is_settled(self, key, run, events):
        return any(event["event"] == "node_added" and event["rationale"] == key for event in events) or any(
            reply.startswith(key) for reply in recorded_replies(run))


def check_payments(events):
    """Every proposal and every evaluation has at most one good end, and nothing is dispatched again after it."""
    work_of, done = {}, set()
    for event in events:
        if event["event"] == "evaluation_dispatched":
            assert event["idempotency_key"] not in done, event
            work_of[event["work"]] = event["idempotency_key"]
        elif event["event"] == "proposal_dispatched":
            key = (event["decision"], event["order_index"], event["sample"])
            assert key not in done, event
            work_of[event["work"]] = key
        elif event["event"] in ("evaluation_finished", "proposal_finished"):
            key = work_of.pop(event["work"])
            if event["settle"] in ("ok", "candidate_failed", "duplicate"):
                done.add(key)
    assert not work_of, "work that was dispatched and never settled"


@pytest.mark.slow
@pytest.mark.parametrize("way", ["autotune", "script"])
def test_killed_at_random_moments(maxkernel, way):
    task = write_task(maxkernel.folder)
    if way == "autotune":
        arguments = (task, "--seed", "1", "--expand", "autotune(method=exhaustive)")
    else:
        script = maxkernel.folder / "propose.py"
        script.write_text(PROPOSE.format(log=str(maxkernel.folder / "paid.log")))
        # One at a time, so that the order of results, and with it the whole search, is a function of the seed.
        arguments = (task, "--seed", "1", "--expand", f"script(command=\"/usr/bin/python3 {script}\", microdollars=10)", "--budget",
                     "evaluations=10", "--expand-workers", "1", "--evaluate-workers", "1")

    started = time.monotonic()
    outcome = maxkernel("optimize", *arguments, "--run", "undisturbed")
    duration = time.monotonic() - started
    assert outcome.code == 0, outcome
    expected = essence(journal_events(maxkernel.folder / "undisturbed"))

    draw = random.Random(f"kill {way}")
    killer = Killer(maxkernel, arguments, iter(lambda: draw.uniform(0.02, 0.5) * duration, None))
    count = 0
    while killer.kills < KILLS:
        count += 1
        events = killer.run(f"run{count}")
        check_payments(events)
        assert essence(events) == expected
