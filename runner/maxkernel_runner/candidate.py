"""Loads a candidate's source: screens it, then runs it once."""

import ast
import importlib.abc
import importlib.util
import linecache
import os
import sys

from maxkernel_runner import diagnostics, screen
from maxkernel_runner.protocol import Diagnostic, failed

ENTRY = "computation"


class Refusal(Exception):
    """The candidate is at fault; carries the role's result."""

    def __init__(self, result):
        super().__init__(result.reason)
        self.result = result


class Sources:
    """A candidate's files, and those of the task that it may import."""

    def __init__(self, folder, entry, files, task_folder="", task_files=()):
        self.entry = entry
        self.shown = {}   # absolute path -> name to show
        self.paths = {}   # the inverse
        self.texts = {}   # name -> source
        self.own = list(dict.fromkeys([entry, *files]))
        for name in self.own:
            self._read(os.path.join(folder, name), name)
        for name in task_files:
            path = os.path.join(task_folder, name) if task_folder else ""
            if os.path.isfile(path):
                # The task's file stands even where the candidate brought one of that name.
                self._read(path, name)
                if name in self.own and name != entry:
                    self.own.remove(name)
            elif name not in self.texts:
                raise diagnostics.InfraFault(f"the task's file {name} is in neither {task_folder or 'a task folder'} nor {folder}")

    def _read(self, path, name):
        try:
            with open(path, encoding="utf-8") as file:
                self.texts[name] = file.read()
        except UnicodeDecodeError as error:
            raise Refusal(failed("does_not_compile", f"{name} is not UTF-8 text", Diagnostic(
                message=f"{name}: {error}", kind="syntax", file=name))) from error
        except OSError as error:
            raise diagnostics.InfraFault(f"cannot read {name}: {error}") from error
        self.paths[name] = os.path.abspath(path)
        self.shown[os.path.abspath(path)] = name

    def python_files(self):
        return [name for name in self.texts if name.endswith(".py")]


def check_source(sources):
    """Syntax, tunables and the static screen. Raises Refusal."""
    local = {os.path.splitext(name)[0] for name in sources.python_files()}
    for name in sources.own:
        if not name.endswith(".py"):
            continue
        try:
            tree = ast.parse(sources.texts[name], filename=sources.paths[name])
        except (SyntaxError, ValueError) as error:
            diagnostic = diagnostics.from_exception(error, sources.shown)
            diagnostic.file = name
            where = f"{name}:{diagnostic.line}" if diagnostic.line else name
            raise Refusal(failed("does_not_compile", f"{where}: {error}", diagnostic)) from error
        problem = screen.tunable_problem(sources.texts[name])
        if problem:
            line, message = problem
            raise Refusal(failed("does_not_compile", f"{name}:{line}: ill-formed tunable: {message}", Diagnostic(
                message=message, kind="tunable", file=name, line=line)))
        try:
            screen.check(tree, local)
        except screen.Finding as finding:
            reason = f"{finding.rule}: {name}:{finding.line}: {finding}"
            raise Refusal(failed("rejected", reason, Diagnostic(
                message=str(finding), kind="screen", file=name, line=finding.line,
                hint="Remove it: a kernel may only compute on its arguments."))) from finding


def load(sources):
    """Runs the candidate's source and returns its `computation`. Raises Refusal."""
    finder = _Finder(sources)
    sys.meta_path.insert(0, finder)
    try:
        module = _execute(sources.entry, "candidate", sources)
    except SystemExit as error:
        raise Refusal(failed("rejected", f"early exit: the source ends the process ({error!r})", Diagnostic(
            message="SystemExit while the source was run", kind="early_exit", file=sources.entry))) from error
    except BaseException as error:
        diagnostic = diagnostics.from_exception(error, sources.shown)
        raise Refusal(failed("does_not_compile", f"{_where(diagnostic)}{diagnostics.error_text(error)}", diagnostic)) from error
    function = module.__dict__.get(ENTRY)
    if not callable(function):
        what = "defines no" if function is None else "has something that cannot be called named"
        raise Refusal(failed("does_not_compile", f"{sources.entry} {what} {ENTRY}(*dynamic_args, *static_args)", Diagnostic(
            message=f"{sources.entry} {what} {ENTRY}", kind="interface", file=sources.entry,
            hint=f"Define {ENTRY} at module level with the arguments of the reference.")))
    return function


def _where(diagnostic):
    return f"{diagnostic.file}:{diagnostic.line}: " if diagnostic.file else ""


def _execute(name, module_name, sources, module=None):
    path = sources.paths[name]
    if module is None:
        module = importlib.util.module_from_spec(importlib.util.spec_from_loader(module_name, loader=None, origin=path))
        sys.modules[module_name] = module
    text = sources.texts[name]
    linecache.cache[path] = (len(text), None, text.splitlines(keepends=True), path)
    exec(compile(text, path, "exec"), module.__dict__)
    return module


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds the candidate's own modules and the task's, and nothing beside them on disk."""

    def __init__(self, sources):
        self._sources = sources

    def find_spec(self, fullname, path=None, target=None):
        if path is None and f"{fullname}.py" in self._sources.texts:
            return importlib.util.spec_from_loader(fullname, self)
        return None

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        _execute(f"{module.__name__}.py", module.__name__, self._sources, module)
