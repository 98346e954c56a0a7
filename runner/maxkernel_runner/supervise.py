"""Runs a role in a child process, so that the death of a compiler or of a candidate still ends in a result.

The parent imports neither jax nor anything of the task or the candidate; it holds the result descriptor and passes on
what the child says.
"""

import collections
import os
import selectors
import signal
import sys
import time

from maxkernel_runner import diagnostics, protocol

# Kept of what a dying child wrote to standard error: enough for the line that says why.
_TAIL_BYTES = 64 << 10
# For a child that has given its result, or closed its descriptors, to leave by itself.
_GRACE_S = 1.0
_CRASHES = (signal.SIGABRT, signal.SIGSEGV, signal.SIGBUS, signal.SIGILL, signal.SIGFPE)


class Death:
    """How a child ended without a result."""

    def __init__(self, status, tail):
        self.signal = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
        self.code = os.WEXITSTATUS(status) if os.WIFEXITED(status) else 0
        self.tail = tail

    def describe(self):
        if self.signal:
            return f"the process was killed by signal {self.signal} ({signal.Signals(self.signal).name})"
        return f"the process ended with status {self.code} before it gave a result"


def run_child(work, on_frame):
    """Calls work(descriptor) in a child; passes each frame to on_frame. Returns a Death, or None if a result came."""
    frames_read, frames_write = os.pipe()
    errors_read, errors_write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(frames_read)
        os.close(errors_read)
        os.dup2(errors_write, 2)
        os.close(errors_write)
        try:
            work(frames_write)
        finally:
            for stream in (sys.stdout, sys.stderr):
                try:
                    stream.flush()
                except (OSError, ValueError):
                    pass
            # Not sys.exit: what a candidate registered to run at exit must not run.
            os._exit(0)
    os.close(frames_write)
    os.close(errors_write)
    try:
        got_result, tail = _relay(frames_read, errors_read, on_frame)
    finally:
        os.close(frames_read)
        os.close(errors_read)
    status = _reap(child)
    return None if got_result else Death(status, tail)


def _reap(child):
    deadline = time.monotonic() + _GRACE_S
    while time.monotonic() < deadline:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            return status
        time.sleep(0.002)
    os.kill(child, signal.SIGKILL)
    return os.waitpid(child, 0)[1]


def _relay(frames, errors, on_frame):
    selector = selectors.DefaultSelector()
    selector.register(frames, selectors.EVENT_READ)
    selector.register(errors, selectors.EVENT_READ)
    tail = _Tail()
    got_result = False
    while frames in selector.get_map() and not got_result:
        for key, _ in selector.select():
            if key.fd == errors:
                data = os.read(errors, 1 << 16)
                if data:
                    tail.add(data)
                else:
                    selector.unregister(errors)
                continue
            try:
                frame = protocol.read_frame(frames, protocol.MAX_RESULT_BYTES)
                got_result = frame.get("kind") == "result"
            except (protocol.ProtocolError, ValueError, AttributeError):
                selector.unregister(frames)
                break
            on_frame(frame)
    while errors in selector.get_map() and selector.select(timeout=0 if got_result else _GRACE_S):
        data = os.read(errors, 1 << 16)
        if not data:
            break
        tail.add(data)
    return got_result, tail.text()


class _Tail:
    """Passes standard error on and keeps its end."""

    def __init__(self):
        self._parts = collections.deque()
        self._size = 0

    def add(self, data):
        try:
            os.write(2, data)
        except OSError:
            pass
        self._parts.append(data)
        self._size += len(data)
        while self._size - len(self._parts[0]) > _TAIL_BYTES:
            self._size -= len(self._parts.popleft())

    def text(self):
        return b"".join(self._parts).decode(errors="replace")


def death_result(role, death):
    """The result that stands in for the one that the child could not give."""
    diagnostic = _death_diagnostic(death)
    how = death.describe()
    if role in ("reference", "admit"):
        diagnostic.fault = "task"
        return protocol.Result(status="task_failed", reason=f"While the task's own files ran, {how}.", diagnostics=[diagnostic])
    if role == "probe":
        diagnostic.fault = "infra"
        return protocol.Result(status="infra_failed", reason=how, diagnostics=[diagnostic])
    if role == "compile" and death.signal:
        return protocol.failed("does_not_compile", f"The TPU compiler crashed: {how}.", diagnostic)
    return protocol.failed("crashed", f"In role {role}, {how}.", diagnostic)


def _death_diagnostic(death):
    if death.signal == signal.SIGKILL:
        return protocol.Diagnostic(message=death.describe(), kind="host_oom",
                                   hint="The process was killed from outside: most likely it ran out of memory.")
    lines = [line for line in death.tail.splitlines() if line.strip()]
    telling = [line for line in lines if "Check failed" in line or "Fatal Python error" in line] or lines[-5:]
    message = "\n".join([death.describe(), *telling])
    kind = "compiler_crash" if death.signal in _CRASHES else "no_result"
    hint = next((p.hint for p in diagnostics.Patterns.load().patterns if p.kind == kind), "")
    return protocol.Diagnostic(message=message, kind=kind, hint=hint)
