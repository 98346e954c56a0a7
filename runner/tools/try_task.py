#!/usr/bin/env python3
"""Runs the whole chain of roles on a task folder, without the daemon and without a sandbox.

    python runner/tools/try_task.py tasks/softmax                      the task's own baseline
    python runner/tools/try_task.py tasks/softmax kernel.py            another candidate
    python runner/tools/try_task.py tasks/softmax --role admit         admission alone
    python runner/tools/try_task.py tasks/softmax --case square --json

Exit status: 0 the candidate is correct and timed, 1 it is not, 2 the task or the machine is at fault.
"""

import argparse
import json
import os
import secrets
import struct
import subprocess
import sys
import tempfile
import time

import yaml

REPOSITORY = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
RUNNER = os.path.join(REPOSITORY, "runner", "maxkernel_runner", "__main__.py")
HARDWARE = os.path.join(REPOSITORY, "share", "hardware.yaml")


def load_config(folder):
    """task.yaml or kernel_task.yaml with the defaults that the runner relies on; no more checks than that."""
    path = os.path.join(folder, "task.yaml")
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            config = yaml.safe_load(file)
    else:
        with open(os.path.join(folder, "kernel_task.yaml"), encoding="utf-8") as file:
            config = yaml.safe_load(file)
        config.setdefault("name", config.get("task_id", os.path.basename(folder)))
        config.setdefault("baseline", "optimized.py")
        config.setdefault("cases", [{"name": "case_0", "params": {"index": 0}, "all_cases": True}])
    config.setdefault("reference", "reference.py")
    config.setdefault("inputs", "inputs.py")
    config.setdefault("baseline", "baseline.py")
    config.setdefault("files", [])
    config.setdefault("chip", "v6e")
    config.setdefault("fidelity", {})
    config["fidelity"].setdefault("valid", ["interpret", "lower"])
    config["fidelity"].setdefault("score", "estimate")
    config.setdefault("compare", "sorted_last_axis" if config.get("sort_before_compare") else "exact_order")
    for case in config["cases"]:
        for key, value in (("params", {}), ("hidden", False), ("test", True), ("score", True), ("tolerance", None)):
            case.setdefault(key, value)
    return config


def load_hardware(chip):
    with open(HARDWARE, encoding="utf-8") as file:
        hardware = yaml.safe_load(file)
    entry = next((c for c in hardware["chips"] if c["name"] == chip), None)
    if entry is None:
        sys.exit(f"{HARDWARE} has no chip {chip!r}")
    return json.loads(json.dumps({"chip": entry, "common": hardware["common"]}))


def call(job, python=sys.executable, timeout=600, quiet=True):
    """Runs one role as the daemon would; returns its result, or a stand-in if there is none."""
    job_read, job_write = os.pipe()
    result_read, result_write = os.pipe()
    environment = {"PATH": "/usr/bin:/bin"}
    process = subprocess.Popen(
        [python, "-I", RUNNER, "--job-fd", str(job_read), "--result-fd", str(result_write)],
        pass_fds=(job_read, result_write), env=environment, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE if quiet else None, stderr=subprocess.STDOUT if quiet else None)
    os.close(job_read)
    os.close(result_write)
    data = json.dumps(job).encode()
    # The output of the process is drained by a thread of subprocess; the job may be larger than a pipe.
    import threading

    output = []
    reader = threading.Thread(target=lambda: output.append(process.stdout.read() if quiet else b""), daemon=True)
    reader.start()
    with os.fdopen(job_write, "wb") as stream:
        stream.write(struct.pack(">I", len(data)) + data)
    timer = threading.Timer(timeout, process.kill)
    timer.start()
    result = None
    with os.fdopen(result_read, "rb") as stream:
        while len(header := stream.read(4)) == 4:
            frame = json.loads(stream.read(struct.unpack(">I", header)[0]))
            if frame["kind"] == "result":
                result = frame
    process.wait()
    timer.cancel()
    reader.join(timeout=5)
    text = b"".join(output).decode(errors="replace")
    if result is None:
        result = {"role": job["role"], "status": "crashed", "verdict": "crashed", "reason": f"no result; exit status {process.returncode}",
                  "diagnostics": [], "cases": [], "facts": {}, "identity": ""}
    result["output"] = text
    return result


class Chain:
    """The roles in the daemon's order, over folders below `work`."""

    def __init__(self, folder, work, cases=(), seed=None, repeats=5, fidelity=None, python=sys.executable, config=None):
        self.folder = os.path.abspath(folder)
        self.config = config or load_config(self.folder)
        self.python = python
        self.work = work
        known = [c["name"] for c in self.config["cases"]]
        for name in cases:
            if name not in known:
                sys.exit(f"no case {name!r}; the task has {', '.join(known)}")
        chosen = [c for c in self.config["cases"] if not cases or c["name"] in cases]
        self.score = fidelity or self.config["fidelity"]["score"]
        self.config["fidelity"]["score"] = self.score
        self.base = {
            "protocol": 1, "task": {"name": self.config.get("name", ""), "config": self.config, "dir": self.folder},
            "cases": chosen, "seed": secrets.randbits(62) if seed is None else seed, "repeats": repeats,
            "reference_dir": os.path.join(work, "reference"), "module_dir": os.path.join(work, "modules"),
            "chip": self.config["chip"], "hardware": load_hardware(self.config["chip"]), "fidelity": self.score,
            "limits": {"module_bytes": 64 << 20},
        }
        for name in ("reference", "modules", "scratch"):
            os.makedirs(os.path.join(work, name), exist_ok=True)

    def role(self, name, **fields):
        started = time.monotonic()
        result = call({**self.base, "role": name, **fields}, self.python)
        result["wall_s"] = time.monotonic() - started
        return result

    def reference(self):
        return self.role("reference", out_dir=self.base["reference_dir"])

    def author(self, candidate):
        valid = self.config["fidelity"]["valid"]
        targets = []
        if {"lower", "aot"} & set(valid) or self.score == "estimate":
            targets.append("tpu")
        if "interpret" in valid or "cpu" in valid or self.score == "cpu":
            targets.append("cpu")
        return self.role("author", out_dir=self.base["module_dir"], targets=targets,
                         fidelity="cpu" if self.score == "cpu" else "interpret",
                         candidate={"dir": os.path.dirname(os.path.abspath(candidate)), "entry": os.path.basename(candidate),
                                    "files": [os.path.basename(candidate)]})

    def run(self, candidate):
        """Yields each role's result until one does not pass."""
        valid = self.config["fidelity"]["valid"]
        steps = [self.reference, lambda: self.author(candidate)]
        if "aot" in valid:
            steps.append(lambda: self.role("compile", fidelity="aot"))
        if "interpret" in valid or "cpu" in valid:
            steps.append(lambda: self.role("test", fidelity="interpret"))
        steps.append(lambda: self.role("measure"))
        for step in steps:
            result = step()
            yield result
            if result["status"] != "passed":
                return


def show(result):
    print(f"{result['role']:<10} {result['status']:<12} {result.get('verdict', ''):<16} {result.get('wall_s', 0):6.2f} s  {result['reason']}")
    for diagnostic in result["diagnostics"]:
        where = f"{diagnostic['file']}:{diagnostic['line']} " if diagnostic["file"] else ""
        print(f"    {diagnostic['severity']} [{diagnostic['class']}] {diagnostic['case']} {where}{diagnostic['message']}")
        if diagnostic["hint"]:
            print(f"        {diagnostic['hint']}")
    for case in result["cases"]:
        parts = [f"{key}={case[key]:.4g}" for key in ("max_abs_error", "max_rel_error", "floor_s") if key in case]
        if case["samples_s"]:
            parts.append("samples_s=" + ",".join(f"{s:.4g}" for s in case["samples_s"]))
        parts += [f"{k}={v:.4g}" if isinstance(v, float) else f"{k}={v}" for k, v in case["facts"].items()]
        print(f"    case {case['name']}: {case['status']} {' '.join(parts)} {case['absent']}".rstrip())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("task")
    parser.add_argument("candidate", nargs="?")
    parser.add_argument("--case", action="append", default=[], help="only this case; may be repeated")
    parser.add_argument("--role", choices=("reference", "admit", "probe"), help="only this role")
    parser.add_argument("--score", choices=("estimate", "cpu"), help="another fidelity than the task's for times")
    parser.add_argument("--seed", type=int)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--keep", help="leave modules and reference outputs in this folder")
    parser.add_argument("--json", action="store_true", help="one JSON result per line")
    parser.add_argument("--output", action="store_true", help="show what the processes print")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="maxkernel-") as temporary:
        chain = Chain(options.task, options.keep or temporary, options.case, options.seed, options.repeats, options.score)
        candidate = options.candidate or os.path.join(chain.folder, chain.config["baseline"])
        if not os.path.exists(candidate):
            candidate = os.path.join(chain.folder, chain.config["reference"])
        if options.role:
            results = iter([chain.role(options.role, out_dir=chain.base["reference_dir"])])
        else:
            results = chain.run(candidate)
        last = None
        for last in results:
            output = last.pop("output")
            print(json.dumps(last)) if options.json else show(last)
            if options.output and output:
                print(output)
    if last["status"] == "passed":
        return 0
    return 1 if last["status"] in ("failed", "crashed") else 2


if __name__ == "__main__":
    sys.exit(main())
