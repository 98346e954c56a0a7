"""A runner for tests of the command: standard library alone, with times that follow from the constants in the candidate's text.

Every "NAME = number" line at the margin adds |log2(number / 64)| milliseconds to a base of one, so that 64 is best everywhere. A line
"# author: sleep 3" or "# author: does_not_compile" makes that role behave so; the same for "# reference: task_failed".
"""

import argparse
import json
import math
import os
import re
import struct
import sys
import time


def read_job(descriptor):
    def read(count):
        data = b""
        while len(data) < count:
            data += os.read(descriptor, count - len(data))
        return data

    return json.loads(read(struct.unpack(">I", read(4))[0]))


def send(descriptor, value):
    data = json.dumps(value).encode()
    view = memoryview(struct.pack(">I", len(data)) + data)
    while view:
        view = view[os.write(descriptor, view):]


def write(folder, name, text):
    with open(os.path.join(folder, name), "w") as file:
        file.write(text)


def read(folder, name):
    with open(os.path.join(folder, name)) as file:
        return file.read()


def modelled_seconds(text):
    constants = re.findall(r"^[A-Z_]+ = (\d+)", text, re.MULTILINE)
    return 1e-3 * (1 + sum(abs(math.log2(int(constant) / 64)) for constant in constants))


def case(name, **fields):
    return {"name": name, "status": "passed", "samples_s": [], "facts": {}, "absent": "", **fields}


def source_of(job):
    if job["role"] in ("reference", "admit"):
        return read(job["task"]["dir"], "reference.py")
    if job["role"] == "author":
        return read(job["candidate"]["dir"], job["candidate"]["entry"])
    if job["role"] == "probe":
        return ""
    return read(job["module_dir"], job["cases"][0]["name"] + ".cpu.module")


def probe(job):
    works = ("interpret", "lower", "aot", "estimate", "cpu")
    return {"cases": [case(name) for name in works] + [case("device", status="failed", absent="no accelerator")]}


def reference(job):
    write(job["out_dir"], "signature.json", "{}")
    for entry in job["cases"]:
        for kind in ("inputs", "outputs", "scalars"):
            write(job["out_dir"], f"{entry['name']}.{kind}.npz", kind)
    return {}


def author(job):
    text = source_of(job)
    for entry in job["cases"]:
        for target in ("cpu", "tpu"):
            write(job["out_dir"], f"{entry['name']}.{target}.module", text)
    return {}


def test(job):
    return {"identity": "text", "cases": [case(entry["name"], max_abs_error=0.0, max_rel_error=0.0) for entry in job["cases"]]}


def measure(job):
    seconds = modelled_seconds(source_of(job))
    return {"identity": "text",
            "cases": [case(entry["name"], samples_s=[seconds] * job.get("repeats", 1), floor_s=5e-4) for entry in job["cases"]
                      if entry.get("score", True)]}


def admit(job):
    return {"diagnostics": [{"severity": "info", "class": "reference passes", "fault": "task", "message": "", "file": "", "line": 0,
                             "case": "", "hint": ""}]}


def failure(verdict):
    if verdict == "task_failed":
        return {"status": "task_failed", "reason": "the reference fails",
                "diagnostics": [{"severity": "error", "class": "task_error", "fault": "task", "message": "division by zero",
                                 "file": "reference.py", "line": 7, "case": "", "hint": ""}]}
    return {"status": "failed", "verdict": verdict, "reason": "as asked for",
            "diagnostics": [{"severity": "error", "class": "asked", "fault": "candidate", "message": "as asked for", "file": "kernel.py",
                             "line": 3, "case": "", "hint": "ask for something else"}]}


def answer(job):
    match = re.search(rf"^# {job['role']}: (\w+) ?(\S*)$", source_of(job), re.MULTILINE)
    if match and match.group(1) == "sleep":
        time.sleep(float(match.group(2)))
    elif match:
        return failure(match.group(1))
    roles = {"probe": probe, "reference": reference, "author": author, "compile": lambda job: {}, "test": test, "measure": measure,
             "admit": admit}
    return roles[job["role"]](job)


parser = argparse.ArgumentParser()
parser.add_argument("--job-fd", type=int, required=True)
parser.add_argument("--result-fd", type=int, required=True)
arguments = parser.parse_args()
job = read_job(arguments.job_fd)
send(arguments.result_fd, {"kind": "result", "protocol": 1, "role": job["role"], "status": "passed", "verdict": "", "reason": "",
                           "diagnostics": [], "cases": [], "facts": {}, "identity": "",
                           "environment": {"jax": "none", "python": sys.version.split()[0]}, "timing_s": {"import": 0.0, "work": 0.0},
                           **answer(job)})
