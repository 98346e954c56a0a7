"""Jobs, results and their framing: a 4-byte big-endian length, then that many bytes of JSON."""

import dataclasses
import json
import os
import struct

PROTOCOL = 1
MAX_JOB_BYTES = 64 << 20
MAX_RESULT_BYTES = 8 << 20
MAX_MESSAGE = 4000
MAX_DIAGNOSTICS = 50
MAX_FACTS = 200
ROLES = ("reference", "author", "test", "compile", "measure", "admit", "probe")
VERDICTS = ("incorrect", "does_not_compile", "crashed", "timed_out", "rejected")


class ProtocolError(Exception):
    """The other side of a descriptor did not keep to the framing or left out a field."""


def read_exactly(descriptor, count):
    parts = []
    while count:
        part = os.read(descriptor, min(count, 1 << 20))
        if not part:
            raise ProtocolError("the stream ended inside a frame")
        parts.append(part)
        count -= len(part)
    return b"".join(parts)


def read_frame(descriptor, limit):
    (size,) = struct.unpack(">I", read_exactly(descriptor, 4))
    if size > limit:
        raise ProtocolError(f"a frame of {size} bytes is over the limit of {limit}")
    return json.loads(read_exactly(descriptor, size))


def write_frame(descriptor, value):
    data = json.dumps(value, allow_nan=False).encode()
    view = memoryview(struct.pack(">I", len(data)) + data)
    while view:
        view = view[os.write(descriptor, view):]


def shorten(text, limit=MAX_MESSAGE):
    """Cuts the middle out, because first and last lines say most."""
    text = str(text)
    if len(text) <= limit:
        return text
    keep = (limit - 40) // 2
    return f"{text[:keep]}\n[... {len(text) - 2 * keep} characters left out ...]\n{text[-keep:]}"


@dataclasses.dataclass
class Diagnostic:
    message: str
    severity: str = "error"
    kind: str = "unclassified"
    fault: str = "candidate"
    file: str = ""
    line: int = 0
    case: str = ""
    hint: str = ""

    def as_json(self):
        return {
            "severity": self.severity, "class": self.kind, "fault": self.fault, "message": shorten(self.message),
            "file": self.file, "line": self.line, "case": self.case, "hint": shorten(self.hint),
        }


@dataclasses.dataclass
class CaseResult:
    name: str
    status: str = "passed"
    max_abs_error: float | None = None
    max_rel_error: float | None = None
    samples_s: list = dataclasses.field(default_factory=list)
    floor_s: float | None = None
    facts: dict = dataclasses.field(default_factory=dict)
    absent: str = ""

    def as_json(self):
        value = {"name": self.name, "status": self.status, "samples_s": self.samples_s,
                 "facts": clean_facts(self.facts), "absent": shorten(self.absent)}
        for key in ("max_abs_error", "max_rel_error", "floor_s"):
            number = getattr(self, key)
            if number is not None and number == number and abs(number) != float("inf"):
                value[key] = float(number)
        return value


@dataclasses.dataclass
class Result:
    status: str = "passed"
    verdict: str = ""
    reason: str = ""
    diagnostics: list = dataclasses.field(default_factory=list)
    cases: list = dataclasses.field(default_factory=list)
    facts: dict = dataclasses.field(default_factory=dict)
    identity: str = ""

    def as_json(self, role, environment=None, timing=None):
        return {
            "kind": "result", "protocol": PROTOCOL, "role": role, "status": self.status, "verdict": self.verdict,
            "reason": shorten(self.reason),
            "diagnostics": [d.as_json() for d in self.diagnostics[:MAX_DIAGNOSTICS]],
            "cases": [c.as_json() for c in self.cases], "facts": clean_facts(self.facts), "identity": self.identity,
            "environment": environment or {}, "timing_s": timing or {},
        }


def clean_facts(facts):
    """Flat, finite and short: what the protocol allows."""
    clean = {}
    for key, value in list(facts.items())[:MAX_FACTS]:
        if isinstance(value, bool):
            clean[key] = int(value)
        elif isinstance(value, (int, float)):
            if value == value and abs(value) != float("inf"):
                clean[key] = value
        else:
            clean[key] = shorten(value, 200)
    return clean


def failed(verdict, reason, *diagnostics, **more):
    assert verdict in VERDICTS, verdict
    return Result(status="failed", verdict=verdict, reason=reason, diagnostics=list(diagnostics), **more)


class Job:
    """A job's fields, checked where a role reads them."""

    def __init__(self, value):
        if not isinstance(value, dict):
            raise ProtocolError("a job must be a JSON object")
        if value.get("protocol") != PROTOCOL:
            raise ProtocolError(f"job protocol {value.get('protocol')!r}; this runner speaks {PROTOCOL}")
        if value.get("role") not in ROLES:
            raise ProtocolError(f"unknown role {value.get('role')!r}; known: {', '.join(ROLES)}")
        self.value = value
        self.role = value["role"]

    def need(self, key, kind):
        if key not in self.value:
            raise ProtocolError(f"role {self.role} needs the job field {key!r}")
        if not isinstance(self.value[key], kind):
            raise ProtocolError(f"job field {key!r} is {type(self.value[key]).__name__}, expected {kind.__name__}")
        return self.value[key]

    def get(self, key, default=None):
        value = self.value.get(key)
        return default if value is None else value

    @property
    def config(self):
        return self.need("task", dict).get("config") or {}

    @property
    def allow(self):
        return tuple(self.config.get("allow") or ())

    @property
    def hardware(self):
        """The chip's entry of the hardware file; empty where the job names none."""
        value = self.get("hardware", {})
        return value.get("chip", value)

    @property
    def hardware_common(self):
        return self.get("hardware", {}).get("common", {})

    @property
    def cases(self):
        return self.need("cases", list)

    @property
    def module_bytes_limit(self):
        return int((self.get("limits") or {}).get("module_bytes", 64 << 20))
