"""Turns errors into diagnostics: what class they are, whose fault, where in the author's files, and what to do."""

import dataclasses
import functools
import os
import re
import traceback

from maxkernel_runner.protocol import Diagnostic

PATTERN_FILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "error-patterns.tsv")
_COLUMNS = ["id", "regex", "class", "fault", "stage", "hint"]
# Regular expressions see at most this much, from both ends: messages can embed whole modules.
_SEARCHED = 20000


class TaskFault(Exception):
    """The task's own files are wrong."""

    def __init__(self, message, diagnostic=None):
        super().__init__(message)
        self.diagnostic = diagnostic or Diagnostic(message=message, kind="task_error", fault="task")


class InfraFault(Exception):
    """Neither the task nor the candidate is to blame."""

    def __init__(self, message, diagnostics=()):
        super().__init__(message)
        self.diagnostics = list(diagnostics)


@dataclasses.dataclass(frozen=True)
class Pattern:
    id: str
    regex: re.Pattern
    kind: str
    fault: str
    stage: str
    hint: str


class Patterns:
    """The table of known messages; the first match wins."""

    def __init__(self, patterns):
        self.patterns = tuple(patterns)

    @staticmethod
    @functools.cache
    def load(path=PATTERN_FILE):
        with open(path, encoding="utf-8") as lines:
            header = lines.readline().rstrip("\n").split("\t")
            if header != _COLUMNS:
                raise InfraFault(f"{path}:1: columns {header}, expected {_COLUMNS}")
            patterns = []
            for number, line in enumerate(lines, 2):
                fields = line.rstrip("\n").split("\t")
                if len(fields) != len(_COLUMNS):
                    raise InfraFault(f"{path}:{number}: {len(fields)} columns, expected {len(_COLUMNS)}")
                try:
                    regex = re.compile(fields[1])
                except re.error as error:
                    raise InfraFault(f"{path}:{number}: {error}") from error
                patterns.append(Pattern(fields[0], regex, *fields[2:]))
        return Patterns(patterns)

    def classify(self, text):
        if len(text) > 2 * _SEARCHED:
            text = text[:_SEARCHED] + "\n" + text[-_SEARCHED:]
        return next((p for p in self.patterns if p.regex.search(text)), None)


# Where this machine keeps packages and the runner; of no use to an author.
_MACHINE_PATHS = re.compile(r"[^\s\"'(]*/(?:site-packages|dist-packages)/|" + re.escape(os.path.dirname(PATTERN_FILE)) + "/")


def error_text(error):
    return _MACHINE_PATHS.sub("", f"{type(error).__name__}: {error}" if str(error) else type(error).__name__)


def own_frames(error, files):
    """Frames of `error` and of what caused it that lie in `files` (absolute path -> shown name), innermost last."""
    frames = []
    seen = set()
    chain = error
    while chain is not None and id(chain) not in seen:
        seen.add(id(chain))
        frames = [(files[f.filename], f.lineno, f.name, f.line or "") for f in traceback.extract_tb(chain.__traceback__)
                  if f.filename in files] or frames
        chain = chain.__cause__ or chain.__context__
    return frames


def from_exception(error, files, case="", stage="", fault=None):
    """A diagnostic for an exception; `files` maps the paths of the author's files to the names to show."""
    text = error_text(error)
    pattern = Patterns.load().classify(text)
    diagnostic = Diagnostic(message=text, case=case)
    if pattern:
        diagnostic.kind, diagnostic.fault, diagnostic.hint = pattern.kind, pattern.fault, pattern.hint
    else:
        diagnostic.kind = "python_error"
    if fault:
        diagnostic.fault = fault
    frames = own_frames(error, files)
    if isinstance(error, SyntaxError) and error.filename in files:
        diagnostic.file, diagnostic.line = files[error.filename], error.lineno or 0
    elif frames:
        diagnostic.file, diagnostic.line = frames[-1][0], frames[-1][1]
        where = "\n".join(f"  {name}:{line} in {function}: {source}" for name, line, function, source in frames[-6:])
        diagnostic.message = f"{text}\n{where}"
    return diagnostic


def internal(error):
    text = "".join(traceback.format_exception(error))
    return Diagnostic(message=text, kind="runner_error", fault="infra")
