"""Every candidate in tests/candidates through a real daemon with its sandbox: how many tricks are caught, how many honest
kernels are refused.

A number of the catalogue counts as caught if it has a candidate and all its candidates end as their headers say; a candidate that
ends correct must moreover be no faster than the best honest kernel of its task, and carry the label that its header asks for.
Details of what went wrong are printed; figures go to --json.

    scripts/bench cheats                   all of them (a quarter of an hour on two cores)
    scripts/bench cheats -k c18 -k honest  those whose path contains one of the texts
"""

import argparse
import collections
import concurrent.futures
import contextlib
import dataclasses
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

REPOSITORY = pathlib.Path(__file__).resolve().parents[3]
CANDIDATES = REPOSITORY / "tests" / "candidates"
TOOLS = REPOSITORY / "build" / "release" / "tools"
CATALOGUE = range(1, 45)
START_S = 120
# A trick that gains nothing may still land a hair beside the kernel that it copies.
SLACK = 1.02


@dataclasses.dataclass
class Entry:
    path: pathlib.Path
    task: pathlib.Path
    expected: list
    label: str
    honest: bool

    @property
    def number(self):
        """In the catalogue; None for those that only attack the machinery."""
        match = re.match(r"c(\d+)_", self.path.name)
        return int(match[1]) if match else None


@dataclasses.dataclass
class Ended:
    verdict: str
    reason: str
    score: float | None
    labels: set


def read_entry(path):
    fields = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        if not line.startswith("# ") or ": " not in line:
            break
        key, value = line[2:].split(": ", 1)
        fields[key] = value
    honest = path.parent.name == "honest"
    task = next((folder / fields["task"] for folder in (REPOSITORY / "tasks", CANDIDATES / "tasks")
                 if (folder / fields["task"]).is_dir()), None)
    if task is None:
        sys.exit(f"{path}: there is no task {fields['task']!r}")
    expected = ["honest_score"] if honest else fields["expect"].split(" or ")
    return Entry(path, task, expected, fields.get("label", ""), honest)


@contextlib.contextmanager
def daemon(folder, deadline):
    port_file = folder / "port"
    with open(folder / "evald.log", "wb") as log:
        process = subprocess.Popen(
            [TOOLS / "evald" / "maxkernel-evald", "--listen", "127.0.0.1:0", "--port-file", port_file, "--state", folder / "state",
             "--stage-deadline", str(deadline), "--drain-timeout", "1"], stdout=log, stderr=log)
    try:
        end = time.monotonic() + START_S
        while not (port_file.exists() and port_file.read_text().strip()):
            if process.poll() is not None or time.monotonic() > end:
                sys.exit("the daemon did not start:\n" + (folder / "evald.log").read_text(errors="replace"))
            time.sleep(0.1)
        yield f"127.0.0.1:{port_file.read_text().strip()}"
    finally:
        process.terminate()
        process.wait()


def evaluate(address, entry):
    process = subprocess.run(
        [TOOLS / "maxkernel" / "maxkernel", "evaluate", entry.task, entry.path, "--evaluator", address, "--json"],
        capture_output=True, text=True, errors="replace")
    if process.returncode not in (0, 3):
        error = process.stderr.strip().splitlines()
        return Ended("no_verdict", error[-1] if error else f"exit status {process.returncode}", None, set())
    answer = json.loads(process.stdout)
    evaluation = answer["evaluation"]
    labels = {d["class_name"] for stage in evaluation["stages"] for d in stage["diagnostics"]}
    score = answer["score"]["value"] if answer["score"] else None
    verdict = "honest_score" if evaluation["verdict"] == "correct" else evaluation["verdict"]
    return Ended(verdict, evaluation.get("reason", ""), score, labels)


def problem(entry, ended, best):
    """What is wrong with how an entry ended, or None."""
    if ended.verdict not in entry.expected:
        return f"{ended.verdict}, expected {' or '.join(entry.expected)}: {ended.reason}"
    if entry.label and entry.label not in ended.labels:
        return f"without the label {entry.label}"
    if entry.honest:
        return None if ended.score else "correct, but without a score"
    limit = best.get(entry.task.name)
    if ended.score and not entry.label and limit and ended.score > limit * SLACK:
        return f"scores {ended.score:.3g}x, the best honest kernel of {entry.task.name} {limit:.3g}x"
    return None


def run_all(entries, address, workers):
    ended = {}
    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        running = {pool.submit(evaluate, address, entry): entry for entry in entries}
        for done in concurrent.futures.as_completed(running):
            entry = running[done]
            ended[entry.path] = done.result()
            print(f"{len(ended)}/{len(entries)} {entry.path.parent.name}/{entry.path.stem}: {ended[entry.path].verdict}",
                  file=sys.stderr, flush=True)
    return ended


def best_honest_scores(entries, ended):
    best = collections.defaultdict(lambda: 1.0)  # the baseline itself
    for entry in entries:
        if entry.honest and ended[entry.path].score:
            best[entry.task.name] = max(best[entry.task.name], ended[entry.path].score)
    return best


def report(entries, ended, numbers):
    """Prints what went wrong and returns the counts; `numbers` of the catalogue are asked for."""
    best = best_honest_scores(entries, ended)
    problems = {entry.path: problem(entry, ended[entry.path], best) for entry in entries}
    for entry in entries:
        if problems[entry.path]:
            print(f"{entry.path.relative_to(CANDIDATES)}: {problems[entry.path]}")
    honest = [entry for entry in entries if entry.honest]
    hostile = [entry for entry in entries if not entry.honest]
    by_number = collections.defaultdict(list)
    for entry in hostile:
        by_number[entry.number].append(problems[entry.path])
    caught = [n for n in numbers if by_number[n] and not any(by_number[n])]
    counts = {
        "catalogue": len(numbers),
        "caught": len(caught),
        "missed": len(numbers) - len(caught),
        "hostile": len(hostile),
        "hostile_missed": sum(1 for entry in hostile if problems[entry.path]),
        "honest": len(honest),
        "honest_rejected": sum(1 for entry in honest if problems[entry.path]),
    }
    missing = [n for n in numbers if not by_number[n]]
    if missing:
        print(f"no candidate was run for the numbers {', '.join(map(str, missing))}")
    return counts


def selected(texts):
    files = sorted([*CANDIDATES.glob("honest/*.py"), *CANDIDATES.glob("hostile/*.py")])
    return [read_entry(path) for path in files if not texts or any(text in str(path.relative_to(CANDIDATES)) for text in texts)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", required=True, type=pathlib.Path, help="where the rows go")
    parser.add_argument("-k", action="append", default=[], metavar="TEXT", help="only candidates whose path contains TEXT")
    parser.add_argument("--workers", type=int, default=os.cpu_count(), help="candidates at once; default one per core")
    parser.add_argument("--stage-deadline", type=int, default=120, metavar="SECONDS", help="for each stage; default 120")
    arguments = parser.parse_args()
    entries = selected(arguments.k)
    if not entries:
        sys.exit(f"no candidate matches {' or '.join(arguments.k)}")
    with tempfile.TemporaryDirectory(prefix="maxkernel-cheats-") as folder:
        with daemon(pathlib.Path(folder), arguments.stage_deadline) as address:
            ended = run_all(entries, address, arguments.workers)
    counts = report(entries, ended, sorted({e.number for e in entries if e.number}) if arguments.k else CATALOGUE)
    rows = [{"metric": metric, "value": value, "unit": "count"} for metric, value in counts.items()]
    arguments.json.write_text(json.dumps({"rows": rows}, indent=1) + "\n", encoding="utf-8")
    sys.exit(1 if counts["missed"] or counts["honest_rejected"] or counts["hostile_missed"] else 0)


if __name__ == "__main__":
    main()
