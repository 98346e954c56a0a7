"""The static screen: what a kernel's source may not say, checked before a line of it runs.

A kernel only computes on its arguments, so it needs few imports and no way to reach the process around it. The screen
is early and cheap; what it misses, the sandbox and the split between tracing and timing still hold.
"""

import ast
import re

ALLOWED_IMPORTS = frozenset({
    "__future__", "collections", "dataclasses", "enum", "functools", "itertools", "math", "typing",
    "jax", "jax.ad_checkpoint", "jax.lax", "jax.nn", "jax.numpy", "jax.random", "jax.scipy", "jax.scipy.special", "jax.tree",
    "jax.tree_util", "jax.typing", "jax.experimental", "jax.experimental.pallas", "jax.experimental.pallas.tpu",
    "ml_dtypes", "numpy", "numpy.typing",
})
# Below these nothing but the listed modules: what lies beside them is for tools, tests and other people's kernels.
_FORBIDDEN_BELOW = {
    "jax.experimental": {"pallas"},
}
_FORBIDDEN_NAMES = frozenset({
    "__builtins__", "__import__", "__loader__", "__spec__", "breakpoint", "compile", "delattr", "eval", "exec", "globals", "locals",
    "open", "setattr", "vars",
})
_FORBIDDEN_MODULES = frozenset({
    "_thread", "ast", "asyncio", "atexit", "builtins", "codecs", "concurrent", "ctypes", "ctypeslib", "dis", "f2py", "fcntl", "gc",
    "importlib", "inspect", "io", "linecache", "logging", "marshal", "mmap", "multiprocessing", "os", "pathlib", "pdb", "pickle",
    "pkgutil", "posix", "resource", "runpy", "shutil", "site", "socket", "subprocess", "sys", "sysconfig", "tempfile", "threading",
    "traceback", "types", "weakref",
})
# Of whatever object: no kernel has a use for an attribute of these names.
_FORBIDDEN_ATTRIBUTES = frozenset({
    "_src", "ag_frame", "builtins", "cr_frame", "ctypes", "ctypeslib", "f_back", "f_builtins", "f_globals", "f_locals", "func_globals",
    "gi_frame", "importlib", "os", "socket", "subprocess", "sys", "tb_frame",
})
# Full names, or all below a name that ends in a dot.
_FORBIDDEN_PATHS = {
    "host callback": ("jax.pure_callback", "jax.debug.callback", "jax.experimental.io_callback", "jax.io_callback"),
    "different code per platform": ("jax.lax.platform_dependent",),
    "uninitialised memory": ("jax.lax.empty",),
    "access to the machinery of jax": (
        "jax.clear_caches", "jax.config", "jax.distributed.", "jax.dlpack.", "jax.export.", "jax.extend.", "jax.ffi.",
        "jax.interpreters.", "jax.lib.", "jax.monitoring.", "jax.profiler.", "jax.stages.", "jax.errors.", "jax.core.",
        "jax.experimental.pallas.tpu.force_tpu_interpret_mode", "jax.experimental.pallas.tpu.set_tpu_interpret_mode",
        "jax.experimental.pallas.tpu.reset_tpu_interpret_mode_state",
    ),
    "file access": (
        "numpy.DataSource", "numpy.fromfile", "numpy.genfromtxt", "numpy.load", "numpy.loadtxt", "numpy.memmap", "numpy.save",
        "numpy.savetxt", "numpy.savez", "numpy.savez_compressed", "numpy.lib.", "jax.numpy.load", "jax.numpy.save",
        "jax.numpy.savez", "jax.numpy.fromfile", "numpy.testing.", "numpy.core.", "numpy.fromregex",
    ),
}
_BROAD = frozenset({"BaseException", "Exception", "RuntimeError", "NotImplementedError", "ValueError", "TypeError"})

_TUNABLE_COMMENT = re.compile(r"#\s*tunable\b")
_TUNABLE = re.compile(r"^(?P<name>[A-Z][A-Z0-9_]*)\s*=\s*(?P<value>\S.*?)\s*#\s*tunable:\s*(?P<choices>\S.*?)\s*$")


class Finding(Exception):
    """One forbidden thing: `rule` in a word or two, where it is, and what to do instead."""

    def __init__(self, rule, line, message):
        super().__init__(message)
        self.rule = rule
        self.line = line


def check(tree, local_modules=()):
    """Raises Finding for the first thing that is not allowed. `local_modules`: names of the task's and candidate's own files."""
    _Screen(frozenset(local_modules)).visit(tree)


class _Screen(ast.NodeVisitor):
    def __init__(self, local_modules):
        self.local_modules = local_modules
        self.imported = {}  # local name -> dotted name
        self.scopes = []    # names bound by each function around the current node

    # Imports

    def visit_Import(self, node):
        for alias in node.names:
            self._check_import(alias.name, node.lineno)
            if alias.asname:
                self.imported[alias.asname] = alias.name
            else:
                self.imported[alias.name.split(".")[0]] = alias.name.split(".")[0]

    def visit_ImportFrom(self, node):
        if node.level:
            raise Finding("import", node.lineno, "relative imports are not possible: a candidate's files are plain modules")
        for alias in node.names:
            if alias.name == "*":
                raise Finding("import", node.lineno, f"`from {node.module} import *` hides what is used: import names one by one")
            full = f"{node.module}.{alias.name}"
            if node.module not in self.local_modules:
                if full not in ALLOWED_IMPORTS:
                    self._check_import(node.module, node.lineno)
                self._check_path(full, node.lineno)
            self.imported[alias.asname or alias.name] = full

    def _check_import(self, name, line):
        if name in ALLOWED_IMPORTS or name in self.local_modules:
            return
        if name.split(".")[0] in ("jax", "numpy"):
            self._check_path(name, line)
        raise Finding("import", line, f"import of {name}: allowed are jax, its numpy, lax, nn, random, scipy.special and "
                                      "experimental.pallas(.tpu), numpy, ml_dtypes, math, functools, itertools, typing, "
                                      "dataclasses, collections, enum, and the task's own files")

    # Names and attributes

    def visit_Name(self, node):
        if node.id in _FORBIDDEN_NAMES and not any(node.id in bound for bound in self.scopes):
            raise Finding("dynamic code", node.lineno, f"use of {node.id}: a kernel is plain code over its arguments")

    def visit_Attribute(self, node):
        if node.attr.startswith("__") and node.attr not in ("__name__", "__doc__", "__init__"):
            raise Finding("introspection", node.lineno, f"access to {node.attr}")
        path = self._path(node)
        if path:
            self._check_path(path, node.lineno)
            if isinstance(node.ctx, (ast.Store, ast.Del)):
                raise Finding("patched library", node.lineno, f"assignment to {path}: libraries must stay as they are")
        if node.attr in _FORBIDDEN_ATTRIBUTES:
            raise Finding("introspection", node.lineno, f"access to {node.attr}")
        self.generic_visit(node)

    def _path(self, node):
        """The dotted name of an attribute chain that starts at an import, else None."""
        parts = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name) or node.id not in self.imported:
            return None
        root = self.imported[node.id]
        if root.split(".")[0] in self.local_modules:
            return None
        return ".".join([root, *reversed(parts)])

    def _check_path(self, path, line):
        parts = path.split(".")
        for part in parts[1:]:
            if part in _FORBIDDEN_MODULES or (part.startswith("_") and not part.startswith("__")):
                raise Finding("import", line, f"{path}: {part} is not part of what a kernel may use")
        for parent, children in _FORBIDDEN_BELOW.items():
            depth = parent.count(".") + 1
            if path.startswith(parent + ".") and parts[depth] not in children:
                if path in _FORBIDDEN_PATHS["host callback"]:
                    break
                raise Finding("import", line, f"{path}: of {parent} only {', '.join(sorted(children))} may be used")
        if path.startswith("jax.experimental.pallas.ops"):
            raise Finding("library kernel", line, f"{path}: a finished kernel of a library is not an answer to the task")
        for rule, names in _FORBIDDEN_PATHS.items():
            for name in names:
                if path == name.rstrip(".") or (name.endswith(".") and path.startswith(name)) or path.startswith(name + "."):
                    raise Finding(rule, line, f"use of {path}")

    # Functions. A name that a function binds is its own, whatever builtin is called the same.

    def visit_FunctionDef(self, node):
        for outer in [*node.decorator_list, *_defaults(node.args), *_annotations(node)]:
            self.visit(outer)
        self._visit_scope(_parameters(node.args) | _assigned(node.body), node.body)

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_Lambda(self, node):
        for outer in _defaults(node.args):
            self.visit(outer)
        self._visit_scope(_parameters(node.args), [node.body])

    def _visit_scope(self, bound, body):
        # An import's alias that is bound anew is no longer the import.
        hidden = {name: self.imported.pop(name) for name in bound if name in self.imported}
        self.scopes.append(bound)
        for child in body:
            self.visit(child)
        self.scopes.pop()
        self.imported.update(hidden)

    # Statements

    def visit_Assign(self, node):
        """`lib = jax.lax` is one more name of an import."""
        path = self.imported.get(node.value.id) if isinstance(node.value, ast.Name) else self._path(node.value)
        if path and not any(isinstance(node.value, ast.Name) and node.value.id in bound for bound in self.scopes):
            self.imported.update({target.id: path for target in node.targets if isinstance(target, ast.Name)})
        self.generic_visit(node)

    def visit_Call(self, node):
        if isinstance(node.func, ast.Name) and node.func.id in ("getattr", "hasattr"):
            name = node.args[1] if len(node.args) > 1 else None
            if not (isinstance(name, ast.Constant) and isinstance(name.value, str)):
                raise Finding("dynamic code", node.lineno, f"{node.func.id} with a computed name: write the attribute out")
            if name.value.startswith("_") or name.value in _FORBIDDEN_MODULES | _FORBIDDEN_ATTRIBUTES:
                raise Finding("introspection", node.lineno, f"access to {name.value}")
        self.generic_visit(node)

    def visit_ExceptHandler(self, node):
        names = [node.type] if not isinstance(node.type, ast.Tuple) else node.type.elts
        for name in names:
            if name is None or (isinstance(name, ast.Name) and name.id in _BROAD) or isinstance(name, ast.Attribute):
                raise Finding("silent fallback", node.lineno,
                              "a handler this broad would hide that the kernel does not compile: let the error come out")
        self.generic_visit(node)

    def visit_Global(self, node):
        raise Finding("state", node.lineno, "a `global` statement: results may depend on the arguments alone")


def _parameters(arguments):
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
    return {a.arg for a in every if a}


def _defaults(arguments):
    return [d for d in [*arguments.defaults, *arguments.kw_defaults] if d]


def _annotations(function):
    arguments = function.args
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
    return [a.annotation for a in every if a and a.annotation] + ([function.returns] if function.returns else [])


def _assigned(body):
    """Names that a function's own statements bind, those of functions and classes inside it left out."""
    names, pending = set(), list(body)
    while pending:
        node = pending.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            continue  # seen by visit_Import, which knows what the name stands for
        elif not isinstance(node, (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
            pending.extend(ast.iter_child_nodes(node))
    return names


def tunable_problem(source):
    """(line, message) of the first ill-formed tunable declaration, or None."""
    for number, line in enumerate(source.splitlines(), 1):
        comment = _TUNABLE_COMMENT.search(line)
        if not comment or _inside_string(line, comment.start()):
            continue
        problem = _tunable_line_problem(line)
        if problem:
            return number, problem
    return None


def _inside_string(line, position):
    return line[:position].count('"') % 2 == 1 or line[:position].count("'") % 2 == 1


def _tunable_line_problem(line):
    match = _TUNABLE.match(line)
    if not match:
        return "a tunable reads `NAME = VALUE  # tunable: CHOICE, CHOICE, ...` at the start of a line, with the name in capitals"
    try:
        value = ast.literal_eval(match["value"])
    except (ValueError, SyntaxError):
        return f"the value {match['value']} is neither a number, a quoted string, True nor False"
    if not isinstance(value, (bool, int, float, str)):
        return f"the value {match['value']} is neither a number, a quoted string, True nor False"
    try:
        choices = ast.literal_eval(f"({match['choices']},)")
    except (ValueError, SyntaxError):
        return f"the choices {match['choices']} are not a list of literals, separated by commas"
    if not any(type(choice) is type(value) and choice == value for choice in choices):
        return f"the value {value!r} is not among its choices {match['choices']}"
    return None
