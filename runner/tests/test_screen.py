"""The static screen: what it refuses, and that it lets ordinary kernels through."""

import ast
import textwrap

import pytest
import workshop

from maxkernel_runner import screen


def refused(source, local=()):
    try:
        screen.check(ast.parse(textwrap.dedent(source)), local)
    except screen.Finding as finding:
        return finding
    return None


REFUSED = [
    ("import", "import os"),
    ("import", "import jax\nimport socket"),
    ("import", "from subprocess import run"),
    ("import", "import numpy.ctypeslib"),
    ("import", "import jax._src.core"),
    ("import", "from jax._src.pallas import pallas_call"),
    ("import", "from jax.experimental import io_callback_thing"),
    ("import", "from jax.experimental import topologies"),
    ("import", "from jax.experimental import *"),
    ("import", "from . import reference"),
    ("import", "import reference"),
    ("import", "import tokamax"),
    ("import", "import dataclasses\ndataclasses.sys.exit(0)"),
    ("import", "from dataclasses import sys"),
    ("import", "import jax\njax._src"),
    ("import", "import numpy as np\nnp.ctypeslib.load_library('c', '/')"),
    ("library kernel", "from jax.experimental.pallas.ops.tpu import flash_attention"),
    ("library kernel", "import jax.experimental.pallas.ops.tpu.flash_attention as f"),
    ("host callback", "import jax\njax.pure_callback(f, s, x)"),
    ("host callback", "from jax.experimental import io_callback"),
    ("host callback", "import jax as j\nj.debug.callback(print)"),
    ("different code per platform", "from jax import lax\nlax.platform_dependent(x, tpu=f, default=g)"),
    ("different code per platform", "from jax.lax import platform_dependent"),
    ("uninitialised memory", "from jax import lax\nlax.empty((8,), 'float32')"),
    ("access to the machinery of jax", "import jax\njax.config.update('jax_enable_x64', True)"),
    ("access to the machinery of jax", "import jax\njax.profiler.start_trace('/tmp')"),
    ("access to the machinery of jax", "import jax.export"),
    ("access to the machinery of jax", "from jax.experimental.pallas import tpu as p\np.reset_tpu_interpret_mode_state()"),
    ("file access", "import numpy as np\nnp.load('answers.npy')"),
    ("file access", "from numpy import fromfile"),
    ("dynamic code", "exec('import os')"),
    ("dynamic code", "f = eval"),
    ("dynamic code", "__import__('os')"),
    ("dynamic code", "def f(open):\n  return open\nopen('/etc/passwd')"),
    ("dynamic code", "def f(x=open('/etc/passwd')):\n  open = 1"),
    ("dynamic code", "if 0:\n  eval = 1\neval('1')"),
    ("dynamic code", "class A:\n  exec = 1\n  def f(self):\n    exec('1')"),
    ("patched library", "import jax\ndef f():\n  jax.jit = None"),
    ("file access", "import numpy as np\ndef g(np):\n  return np\nnp.load('x')"),
    ("file access", "def f():\n  import numpy as np\n  np.load('x')"),
    ("file access", "import numpy as np\nif 0:\n  np = 1\nnp.load('x')"),
    ("file access", "import numpy as np\nlibrary = np\nlibrary.load('x')"),
    ("different code per platform", "import jax\nx = jax.lax\nx.platform_dependent(1)"),
    ("introspection", "def f(module):\n  return module.sys"),
    ("dynamic code", "open('/etc/passwd')"),
    ("dynamic code", "import jax\ngetattr(jax, 'con' + 'fig')"),
    ("introspection", "().__class__.__bases__[0].__subclasses__()"),
    ("introspection", "import jax\ngetattr(jax, '__dict__')"),
    ("introspection", "def f():\n  yield\nf().gi_frame"),
    ("patched library", "import jax\njax.block_until_ready = lambda x: x"),
    ("patched library", "import numpy as np\nnp.allclose = lambda *a, **k: True"),
    ("patched library", "import jax.numpy as jnp\ndel jnp.exp"),
    ("silent fallback", "try:\n  f()\nexcept Exception:\n  g()"),
    ("silent fallback", "try:\n  f()\nexcept:\n  g()"),
    ("silent fallback", "try:\n  f()\nexcept (KeyError, ValueError):\n  g()"),
    ("state", "n = 0\ndef f():\n  global n\n  n += 1"),
]


@pytest.mark.parametrize("rule, source", REFUSED, ids=[source.splitlines()[-1][:40] for _, source in REFUSED])
def test_refused(rule, source):
    finding = refused(source)
    assert finding is not None, "let through"
    assert finding.rule == rule, finding
    assert finding.line >= 1 and str(finding)


ALLOWED = [
    workshop.HONEST,
    "import jax.numpy as jnp\nfrom jax import lax, numpy\nfrom jax.experimental.pallas import tpu as pltpu\nimport functools, math",
    "import helpers\nfrom helpers import rows",
    "import numpy as np\nrng = np.random.default_rng(0)\nx = np.copy(np.select([c], [d]))\ny = np.array(1)",
    "import jax\n@jax.jit\ndef f(x):\n  return getattr(x, 'dtype')",
    "class A:\n  def __init__(self):\n    self._x = 1\n  def f(self):\n    return self._x",
    "import jax\nclass A:\n  x: int = 0\na = A()\na.x = 3",
    "if __name__ == '__main__':\n  pass",
    "try:\n  x = d['k']\nexcept KeyError:\n  x = 0",
    "def f(input):\n  return input",
    "def f(vars, *, open=1):\n  def g():\n    return vars + open\n  compile = g\n  return compile()",
    "f = lambda eval: eval + 1",
    "from jax.experimental import pallas as pl\nfrom jax.experimental.pallas.tpu import CompilerParams",
    "import jax\nx = jax.scipy.special.erf(1.0)\ny = jax.nn.gelu(x)\nz = jax.random.key(0)",
]


@pytest.mark.parametrize("source", ALLOWED, ids=range(len(ALLOWED)))
def test_allowed(source):
    assert refused(source, {"helpers"}) is None


class TestTunables:
    @pytest.mark.parametrize("line", ["BLOCK = 8  # tunable: 8, 16", "A_1 = 'x'  # tunable: 'x', 'y'", "FAST = True  # tunable: True, False",
                                      "S = 0.5 # tunable: 0.5, 1.0", "# how tunables work: see the guide", "x = 'NAME = 1  # tunable: bad'"])
    def test_good(self, line):
        assert screen.tunable_problem(line) is None

    @pytest.mark.parametrize("line, expected", [
        ("block = 8  # tunable: 8", "capitals"),
        ("    BLOCK = 8  # tunable: 8", "start of a line"),
        ("BLOCK = 8  # tunable", "NAME = VALUE"),
        ("BLOCK = 9  # tunable: 8, 16", "9 is not among"),
        ("BLOCK = 1  # tunable: True, False", "not among"),
        ("BLOCK = f(8)  # tunable: 8", "neither a number"),
        ("BLOCK = 8  # tunable: 8, x", "not a list of literals"),
    ])
    def test_bad(self, line, expected):
        number, problem = screen.tunable_problem("\n\n" + line)
        assert number == 3 and expected in problem
