"""Loads a task's reference and inputs, in both layouts, and says precisely what is wrong with them."""

import ast
import importlib.util
import linecache
import os
import sys
import zlib

import jax
import numpy as np

from maxkernel_runner import diagnostics, signature, trees
from maxkernel_runner.diagnostics import TaskFault
from maxkernel_runner.protocol import Diagnostic

_INPUT_CODE = "kernel_task.yaml"  # shown as the file of `input_gen_code`


def input_set(case):
    """Which of the input sets of the reference system's layout a case takes."""
    return (case.get("params") or {}).get("index", 0)


class TaskFiles:
    def __init__(self, job):
        task = job.need("task", dict)
        self.config = job.config
        self.folder = task.get("dir") or "."
        self.shown = {}
        for name in self.config.get("files") or ():
            self._import(name)
        self._pairs = None

    def reference(self):
        name = self.config.get("reference") or "reference.py"
        return self._function(self._import(name), name, "computation", "computation(*dynamic_args, *static_args)")

    def baseline(self):
        """The baseline's computation, or None where the task has no such file."""
        name = self.config.get("baseline") or "baseline.py"
        if not os.path.isfile(os.path.join(self.folder, name)):
            return None
        return self._function(self._import(name), name, "computation", "computation(*dynamic_args, *static_args)")

    def cases(self, job_cases):
        """A job's cases, with one for each input set where a single case stands for them all."""
        if any(case.get("all_cases") for case in job_cases):
            return signature.expand(job_cases, len(self._input_sets(self.config["input_gen_code"])))
        return job_cases

    def inputs(self, case, seed, number=0):
        """(dynamic tree, static tuple) of a case. `number` tells sets apart that are drawn under one seed."""
        code = self.config.get("input_gen_code")
        if code:
            return self._pair(code, case)
        name = self.config.get("inputs") or "inputs.py"
        function = self._function(self._import(name), name, "get_inputs", "get_inputs(rng, **params)")
        rng = np.random.default_rng([seed % (1 << 63), zlib.crc32(case["name"].encode()), number])
        value = self.call(name, f"get_inputs for case {case['name']}", lambda: function(rng, **(case.get("params") or {})))
        return self._check_pair(value, name, function, case["name"])

    def is_random(self):
        """Whether another seed gives other inputs; code in the reference system's layout brings its own seeds."""
        return not self.config.get("input_gen_code")

    def call(self, name, what, step):
        """Runs task code; its exceptions become TaskFault."""
        try:
            return step()
        except TaskFault:
            raise
        except (Exception, SystemExit) as error:
            diagnostic = diagnostics.from_exception(error, self.shown, fault="task")
            diagnostic.file = diagnostic.file or name
            where = f"{diagnostic.file}:{diagnostic.line}" if diagnostic.line else diagnostic.file
            raise TaskFault(f"{where}: {what} raised {diagnostics.error_text(error)}", diagnostic) from error

    def _input_sets(self, code):
        """What get_inputs() of the reference system's layout returns, as a list of pairs."""
        if self._pairs is None:
            namespace = {"__name__": "input_gen_code"}
            path = os.path.abspath(os.path.join(self.folder, _INPUT_CODE + ":input_gen_code"))
            self.shown[path] = f"{_INPUT_CODE}:input_gen_code"
            linecache.cache[path] = (len(code), None, code.splitlines(keepends=True), path)
            self.call(_INPUT_CODE, "input_gen_code", lambda: exec(compile(code, path, "exec"), namespace))
            function = namespace.get("get_inputs")
            if not callable(function):
                raise self.fault(_INPUT_CODE, 0, "input_gen_code defines no get_inputs()")
            value = self.call(_INPUT_CODE, "get_inputs()", function)
            self._pairs = value if isinstance(value, list) else [value]
        return self._pairs

    def _pair(self, code, case):
        pairs = self._input_sets(code)
        index = input_set(case)
        if not isinstance(index, int) or not 0 <= index < len(pairs):
            raise self.fault(_INPUT_CODE, 0, f"case {case['name']} asks for input set {index!r}; get_inputs() returned {len(pairs)}")
        return self._check_pair(pairs[index], f"{_INPUT_CODE}:input_gen_code", None, case["name"])

    def _check_pair(self, value, name, function, case_name):
        line = function.__code__.co_firstlineno if hasattr(function, "__code__") else 0
        if not (isinstance(value, (tuple, list)) and len(value) == 2 and all(isinstance(v, (tuple, list)) for v in value)):
            shape = f"a {type(value).__name__}" + (f" of {len(value)}" if isinstance(value, (tuple, list)) else "")
            raise self.fault(name, line, f"get_inputs returned {shape} for case {case_name}, expected a pair "
                                          "(dynamic_args, static_args) of tuples")
        dynamic, static = tuple(value[0]), tuple(value[1])
        try:
            _, leaves, paths = trees.flatten(dynamic)
        except trees.UnsupportedTree as error:
            raise self.fault(name, line, f"dynamic arguments of case {case_name}: {error}") from error
        for leaf, path in zip(leaves, paths):
            if not isinstance(leaf, (np.ndarray, np.generic, jax.Array)):
                raise self.fault(name, line, f"dynamic argument {path} of case {case_name} is a {type(leaf).__name__}, expected an "
                                              "array; Python values belong into static_args")
        return dynamic, static

    def _import(self, name):
        path = os.path.abspath(os.path.join(self.folder, name))
        module_name = os.path.splitext(os.path.basename(name))[0]
        loaded = sys.modules.get(module_name)
        if loaded is not None and getattr(loaded, "__file__", None) == path:
            return loaded
        try:
            with open(path, encoding="utf-8") as file:
                text = file.read()
            ast.parse(text, filename=path)
        except OSError as error:
            raise self.fault(name, 0, f"cannot be read: {error.strerror}") from error
        except (SyntaxError, ValueError) as error:
            raise self.fault(name, getattr(error, "lineno", 0) or 0, f"{error}", kind="syntax") from error
        self.shown[path] = name
        linecache.cache[path] = (len(text), None, text.splitlines(keepends=True), path)
        module = importlib.util.module_from_spec(importlib.util.spec_from_loader(module_name, loader=None, origin=path))
        module.__file__ = path
        sys.modules[module_name] = module
        self.call(name, "importing it", lambda: exec(compile(text, path, "exec"), module.__dict__))
        return module

    def _function(self, module, name, function, form):
        value = module.__dict__.get(function)
        if not callable(value):
            raise self.fault(name, 0, f"defines no {form}", kind="interface")
        return value

    def fault(self, name, line, message, kind="task_error"):
        where = f"{name}:{line}" if line else name
        return TaskFault(f"{where}: {message}", Diagnostic(message=message, kind=kind, fault="task", file=name, line=line))
