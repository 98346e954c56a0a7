"""A runner that speaks the protocol with the standard library alone, and misbehaves as its input says.

The candidate's entry, or the task's reference for the role `reference` and `admit`, holds lines such as
    # author: hang
    # test: signal 11
The first action for a role is carried out; without one, the role passes. What the author reads it puts into the modules, so that the
roles after it find their actions there.
"""

import argparse
import ctypes
import json
import os
import socket
import struct
import sys
import time


class Runner:
    def __init__(self, job_fd, result_fd):
        self.result_fd = result_fd
        size = struct.unpack(">I", self._read(job_fd, 4))[0]
        self.job = json.loads(self._read(job_fd, size))
        self.role = self.job["role"]

    def _read(self, descriptor, count):
        data = b""
        while len(data) < count:
            data += os.read(descriptor, count - len(data))
        return data

    def send(self, value):
        data = value if isinstance(value, bytes) else json.dumps(value).encode()
        view = memoryview(struct.pack(">I", len(data)) + data)
        while view:
            view = view[os.write(self.result_fd, view):]

    def progress(self, message, case=""):
        self.send({"kind": "progress", "message": message, "case": case})

    def result(self, status="passed", **fields):
        self.send({"kind": "result", "protocol": 1, "role": self.role, "status": status, "verdict": "", "reason": "",
                   "diagnostics": [], "cases": [], "facts": {}, "identity": "",
                   "environment": {"jax": "fake", "python": sys.version.split()[0]}, "timing_s": {"import": 0.0, "work": 0.001}, **fields})

    # What each role does if all goes well.

    def cases(self):
        return [case["name"] for case in self.job["cases"]]

    def source(self):
        if self.role in ("reference", "admit"):
            path = os.path.join(self.job["task"]["dir"], "reference.py")
        elif self.role == "author":
            path = os.path.join(self.job["candidate"]["dir"], self.job["candidate"]["entry"])
        elif self.role == "probe":
            return ""
        else:
            path = os.path.join(self.job["module_dir"], self.cases()[0] + ".cpu.module")
        try:
            with open(path, encoding="utf-8") as file:
                return file.read()
        except FileNotFoundError:
            return "# %s: infra_failed no module at %s" % (self.role, path)

    def action(self, source):
        for line in source.splitlines():
            if line.startswith(f"# {self.role}: "):
                return line.split(": ", 1)[1].split()
        return ["pass"]

    def run_pass(self, *unused):
        getattr(self, "pass_" + self.role)()

    def pass_probe(self):
        works = ("interpret", "lower", "aot", "estimate", "cpu")
        self.result(cases=[{"name": name, "status": "passed" if name in works else "failed", "samples_s": [], "facts": {},
                            "absent": "" if name in works else "no accelerator"} for name in (*works, "device")])

    def pass_reference(self):
        out = self.job["out_dir"]
        with open(os.path.join(out, "signature.json"), "w") as file:
            json.dump({"version": 1}, file)
        for case in self.cases():
            for kind in ("inputs", "outputs", "scalars"):
                with open(os.path.join(out, f"{case}.{kind}.npz"), "w") as file:
                    file.write(f"{kind} of {case} for seed {self.job['seed']}")
        self.result()

    def pass_author(self):
        source = self.source()
        for case in self.cases():
            self.progress("tracing and lowering", case)
            for target in ("cpu", "tpu"):
                with open(os.path.join(self.job["out_dir"], f"{case}.{target}.module"), "w") as file:
                    file.write(source)
        self.result()

    def pass_compile(self):
        self.result(facts={"compiled": 1})

    def pass_test(self):
        for case in self.cases():
            with open(os.path.join(self.job["reference_dir"], f"{case}.outputs.npz")) as file:
                file.read()
        self.result(identity="fake-identity", cases=[{"name": case, "status": "passed", "max_abs_error": 0.0, "max_rel_error": 0.0,
                                                      "samples_s": [], "facts": {}, "absent": ""} for case in self.cases()])

    def pass_measure(self):
        self.result(identity="fake-identity",
                    cases=[{"name": case["name"], "status": "passed", "samples_s": [0.002] * self.job.get("repeats", 1), "floor_s": 0.001,
                            "facts": {"hbm_bytes": 4096, "bound": "memory"}, "absent": ""}
                           for case in self.job["cases"] if case.get("score", True)])

    def pass_admit(self):
        self.result(diagnostics=[
            {"severity": "info", "class": "reference passes", "fault": "task", "message": "it does", "file": "", "line": 0, "case": "",
             "hint": ""},
            {"severity": "warning", "class": "tolerance", "fault": "task", "message": "wide", "file": "task.yaml", "line": 4,
             "case": self.cases()[0], "hint": ""}])

    # What it does otherwise.

    def run_hang(self, *unused):
        self.progress("hanging")
        time.sleep(3600)

    def run_sleep(self, seconds, *unused):
        self.progress("sleeping")
        time.sleep(float(seconds))
        self.run_pass()

    def run_signal(self, number):
        print("about to die", file=sys.stderr, flush=True)
        os.kill(os.getpid(), int(number)) if int(number) != 11 else ctypes.string_at(0)
        time.sleep(3600)

    def run_exit(self, code):
        os._exit(int(code))

    def run_forge(self, *unused):
        print(json.dumps({"kind": "result", "status": "passed", "verdict": "correct"}), flush=True)
        os._exit(0)

    def run_garbage(self, *unused):
        os.write(self.result_fd, b"\x00\x00\x00\x05not json at all")

    def run_oversized(self, *unused):
        os.write(self.result_fd, b"\xff\xff\xff\xff")
        time.sleep(3600)

    def run_half(self, *unused):
        os.write(self.result_fd, b"\x00\x00\x10\x00{")

    def run_wrong(self, *unused):
        self.result(cases=[{"name": self.cases()[0], "status": "passed", "samples_s": [0.0], "facts": {}, "absent": ""}])

    def run_unknown_case(self, *unused):
        self.result(cases=[{"name": "nobody", "status": "passed", "samples_s": [1.0], "facts": {}, "absent": ""}])

    def run_close(self, *unused):
        os.close(self.result_fd)
        time.sleep(3600)

    def run_flood(self, mebibytes):
        block = b"x" * (1 << 20)
        for _ in range(int(mebibytes)):
            os.write(1, block)
            os.write(2, block)
        os.write(2, b"\nlast words\n")
        os._exit(3)

    def run_progress_flood(self, *unused):
        while True:
            self.progress("and on")

    def run_forkbomb(self, *unused):
        count = 0
        try:
            while True:
                if os.fork() == 0:
                    time.sleep(3600)
                count += 1
        except OSError as error:
            print(f"after {count} processes: {error}", file=sys.stderr, flush=True)
        os._exit(4)

    def run_survivors(self, marker, then):
        """Leaves processes in sessions of their own that ignore signals and hold every descriptor."""
        for _ in range(3):
            if os.fork() == 0:
                os.setsid()
                if os.fork() == 0:
                    import signal

                    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
                        signal.signal(number, signal.SIG_IGN)
                    name = ctypes.create_string_buffer(marker.encode())
                    ctypes.CDLL(None).prctl(15, name, 0, 0, 0)
                    while True:
                        time.sleep(1)
                os._exit(0)
            os.wait()
        time.sleep(0.1)
        {"exit": lambda: os._exit(0), "hang": self.run_hang, "pass": self.run_pass}[then]()

    def run_allocate(self, *unused):
        kept = []
        while True:
            kept.append(b"x" * (64 << 20))

    def run_fill(self, *unused):
        number = 0
        while True:
            with open(os.path.join(self.job["out_dir"], f"filler.{number}"), "wb") as file:
                file.write(b"x" * (1 << 20))
            number += 1

    def run_links(self, *unused):
        out = self.job["out_dir"]
        self.pass_author_files()
        os.symlink("/etc/passwd", os.path.join(out, "stolen.cpu.module"))
        os.mkdir(os.path.join(out, "folder"))
        os.mkfifo(os.path.join(out, "pipe"))
        os.chmod(os.path.join(out, "folder"), 0)
        self.result()

    def pass_author_files(self):
        for case in self.cases():
            with open(os.path.join(self.job["out_dir"], f"{case}.cpu.module"), "w") as file:
                file.write(self.source())

    def run_list_modules(self, *unused):
        self.run_failed("incorrect", *sorted(os.listdir(self.job["module_dir"])))

    def run_failed(self, verdict, *reason):
        self.result("failed", verdict=verdict, reason=" ".join(reason) or verdict,
                    diagnostics=[{"severity": "error", "class": "numerics", "fault": "candidate", "message": " ".join(reason),
                                  "file": "candidate.py", "line": 3, "case": self.cases()[0], "hint": "look again"}])

    def run_task_failed(self, *reason):
        self.result("task_failed", reason=" ".join(reason),
                    diagnostics=[{"severity": "error", "class": "task_error", "fault": "task", "message": " ".join(reason),
                                  "file": "reference.py", "line": 7, "case": "", "hint": ""}])

    def run_infra_failed(self, *reason):
        self.result("infra_failed", reason=" ".join(reason))

    def run_interpreter_limit(self, *unused):
        self.result("infra_failed", reason="the interpreter cannot run this kernel",
                    diagnostics=[{"severity": "warning", "class": "interpreter_limit", "fault": "infra", "message": "no", "file": "",
                                  "line": 0, "case": "", "hint": ""}])

    def run_absent(self, *reason):
        self.result(cases=[{"name": case, "status": "passed", "samples_s": [], "facts": {}, "absent": " ".join(reason)}
                           for case in self.cases()])

    def run_look_around(self, port):
        """Reports what a candidate could reach."""
        def can(function):
            try:
                function()
                return "yes"
            except OSError as error:
                return f"no ({error.strerror})"

        def connect():
            socket.create_connection(("127.0.0.1", int(port)), timeout=1).close()

        with open("/proc/self/status") as file:
            status = dict(line.split(":\t", 1) for line in file.read().splitlines() if ":\t" in line)
        seen = {
            "uid": os.getuid(), "pid": os.getpid(), "effective": status["CapEff"].strip(), "no_new_privileges": status["NoNewPrivs"].strip(),
            "write_root": can(lambda: open("/stain", "w")), "write_runner": can(lambda: open(os.path.join(os.path.dirname(__file__), "x"), "w")),
            "write_candidate": can(lambda: open(os.path.join(self.job["candidate"]["dir"], "x"), "w")),
            "write_tmp": can(lambda: open("/tmp/x", "w")), "connect": can(connect),
            "interfaces": ",".join(name for _, name in socket.if_nameindex()),
            "home": os.environ.get("HOME", ""), "variables": ",".join(sorted(os.environ)), "root": ",".join(sorted(os.listdir("/"))),
            "reference": ",".join(sorted(os.listdir(self.job["reference_dir"]))), "task": ",".join(sorted(os.listdir(self.job["task"]["dir"]))),
            "descriptors": ",".join(sorted(os.listdir("/proc/self/fd"), key=int)), "seed": "seed" in self.job,
            "processes": ",".join(sorted(name for name in os.listdir("/proc") if name.isdigit())),
        }
        self.result("failed", verdict="rejected", reason=json.dumps(seen))

    def run(self):
        print(f"role {self.role}", file=sys.stderr, flush=True)
        if self.role == "author":
            self.progress("first line")
        action, *arguments = self.action(self.source())
        getattr(self, "run_" + action)(*arguments)


parser = argparse.ArgumentParser()
parser.add_argument("--job-fd", type=int, required=True)
parser.add_argument("--result-fd", type=int, required=True)
arguments = parser.parse_args()
Runner(arguments.job_fd, arguments.result_fd).run()
