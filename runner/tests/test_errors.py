"""Real errors of the pinned versions and the class that each gets: a golden list for the table of patterns."""

import os

import pytest
import workshop
from test_roles import plain, with_kernel
from workshop import HONEST

from maxkernel_runner import chip_compiler, diagnostics

PLTPU = "from jax.experimental.pallas import tpu as pltpu\n"

# name: (source, class, line or None, a part of the message)
TRACED = {
    "prose": ("Here is the kernel:\n" + HONEST, "syntax", 1, "invalid syntax"),
    "indentation": ("def f():\nreturn 1\n", "syntax", 2, "expected an indented block"),
    "cut off": (HONEST.rstrip()[:-2], "syntax", None, "was never closed"),
    "missing entry": ("import jax\n", "interface", 0, "computation"),
    "entry that is no function": ("computation = 3\n", "interface", 0, "computation"),
    "unknown name": (plain("def computation(x):\n    return softmx(x)\n"), "python_error", 6, "softmx"),
    "unknown attribute": (plain("def computation(x):\n    return jnp.softmx(x)\n"), "api_removed", 6, "softmx"),
    "removed parameters class": (PLTPU + HONEST.replace("out_shape=", "compiler_params=pltpu.TPUCompilerParams(),\n        out_shape="), "api_removed", 21, "TPUCompilerParams"),
    "removed load": (with_kernel("    out_ref[...] = pl.load(x_ref, (slice(None), slice(None)))\n"), "api_removed", 9, "load"),
    "renamed import": ("from jax.experimental.pallas.tpu import TPUCompilerParams\n" + HONEST, "import", 1, "TPUCompilerParams"),
    "ill-formed tunable": (HONEST.replace("tunable: 8, 16", "tunable: 16, 32"), "tunable", 6, "8 is not among"),
    "block not divisible": (HONEST.replace("block = (min(BLOCK_ROWS, x.shape[0]), x.shape[1])", "block = (4, 64)"), "block_shape", None, "divisible by 8 and 128"),
    "block of another rank": (HONEST.replace("block = (min(BLOCK_ROWS, x.shape[0]), x.shape[1])", "block = (8,)"), "block_shape", None, "number of dimensions"),
    "index map arity": (HONEST.replace("in_specs=[pl.BlockSpec(block, lambda i: (i, 0))]", "in_specs=[pl.BlockSpec(block, lambda i, j: (i, j))]"), "index_map", None, "lambda"),
    "index map values": (HONEST.replace("in_specs=[pl.BlockSpec(block, lambda i: (i, 0))]", "in_specs=[pl.BlockSpec(block, lambda i: (i,))]"), "index_map", None, "must return 2 values"),
    "kernel arity": (HONEST.replace("def kernel(x_ref, out_ref):", "def kernel(x_ref):"), "api_misuse", None, "kernel"),
    "spec count": (HONEST.replace("in_specs=[pl.BlockSpec(block, lambda i: (i, 0))]", "in_specs=[pl.BlockSpec(block, lambda i: (i, 0))] * 2"), "spec_tree", None, "in_specs"),
    "sort in a kernel": (with_kernel("    out_ref[...] = jnp.sort(x_ref[...], axis=-1)\n"), "unimplemented_primitive", 9, "sort"),
    "branch on a value": (with_kernel("    if x_ref[0, 0] > 0:\n        out_ref[...] = x_ref[...]\n"), "tracer", 9, "boolean conversion"),
    "numpy on a value": (plain("import numpy as np\ndef computation(x):\n    return np.exp(np.asarray(x))\n"), "tracer", 7, "__array__"),
    "shape of a store": (with_kernel("    out_ref[...] = jnp.sum(x_ref[...], axis=-1)\n"), "shape_mismatch", 9, "swap"),
    "dtype of a store": (with_kernel("    out_ref[...] = x_ref[...].astype(jnp.bfloat16)\n"), "dtype", 9, "dtype"),
    "captured array": (with_kernel("    out_ref[...] = x_ref[...] + table\n").replace("def kernel", "table = jnp.ones((1, 128)) * jnp.arange(128.0)\n\ndef kernel"), "closure_capture", None, "captures constants"),
    "ref to a primitive": (with_kernel("    out_ref[...] = jnp.exp(x_ref)\n"), "ref_misuse", 9, "A ref went"),
    "kernel that returns": (with_kernel("    return x_ref[...]\n"), "api_misuse", None, "None"),
    "broadcast": (plain("def computation(x):\n    return x + jnp.ones((3, 5))\n"), "shape_mismatch", 6, "broadcasting"),
    "assertion": (plain("def computation(x):\n    assert x.shape[0] == 1, 'one row only'\n    return x\n"), "python_error", 6, "one row only"),
    "missing argument": (plain("def computation(x, y):\n    return x\n"), "api_misuse", None, "missing 1 required positional argument"),
}

@pytest.mark.parametrize("name", TRACED)
def test_error_of_a_candidate(softmax, name):
    source, kind, line, part = TRACED[name]
    result = softmax.candidate(source).author(targets=("tpu",))
    assert (result["status"], result["verdict"]) == ("failed", "does_not_compile"), result
    diagnostic = result["diagnostics"][0]
    assert (diagnostic["class"], diagnostic["fault"]) == (kind, "candidate"), diagnostic
    assert part in diagnostic["message"] or part in diagnostic["hint"], diagnostic
    assert diagnostic["file"] == "candidate.py"
    if line is not None:
        assert diagnostic["line"] == line, diagnostic
    assert "site-packages" not in diagnostic["message"] and os.path.dirname(diagnostics.PATTERN_FILE) not in diagnostic["message"]


def test_the_trace_holds_the_candidates_frames_and_no_others(softmax):
    source = plain("def inner(x):\n    return jnp.reshape(x, (3, 5))\ndef computation(x):\n    return inner(x)\n")
    diagnostic = softmax.candidate(source).author()["diagnostics"][0]
    assert "candidate.py:8 in computation: return inner(x)" in diagnostic["message"]
    assert "candidate.py:6 in inner: return jnp.reshape(x, (3, 5))" in diagnostic["message"]
    assert diagnostic["line"] == 6 and ".py" not in diagnostic["message"].replace("candidate.py", "")


# Recorded texts of libtpu 0.0.42.1 and of released jax.
RECORDED = [
    ("JaxRuntimeError: RESOURCE_EXHAUSTED: E1001: CompileTimeScopedVmemOom:\nRan out of memory in memory space vmem while allocating on stack "
     "for %g.1 = f32[8320,1024]{1,0:T(8,128)} custom-call(%x.1). Scoped allocation with size 32.50M and limit 32.00M exceeded scoped vmem "
     "limit by 512.0K.", "vmem_oom", "candidate"),
    ("JaxRuntimeError: RESOURCE_EXHAUSTED: XLA:TPU compile permanent error. Ran out of memory in memory space vmem. Used 16.50M of 16.00M "
     "vmem. Exceeded vmem capacity by 512.0K.", "vmem_oom", "candidate"),
    ("JaxRuntimeError: RESOURCE_EXHAUSTED: Allocation (size=157286400) would exceed memory (size=134217728) :: #allocation2 [shape = "
     "'f32[307200,128]{1,0:T(8,128)}', space=vmem, size = 0x9600000, scoped, tag = 'scratch operand'] :: g.1", "vmem_oom", "candidate"),
    ("ValueError: Only interpret mode is supported on CPU backend.", "infra_wrong_backend", "infra"),
    ("ValueError: Unsupported TPU device kind: cpu", "infra_wrong_backend", "infra"),
    ("F0000 00:00:1.5 1 x.cc:7] Check failed: indexes.size() == num_dimensions() (0 vs. 3)", "compiler_crash", "candidate"),
    ("IndexError: Out-of-bounds block index [2, 0] for", "oob", "candidate"),
    ("The TPU is already in use by process with pid 42", "infra_tpu_busy", "infra"),
]


@pytest.mark.parametrize("text, kind, fault", RECORDED, ids=[kind for _, kind, _ in RECORDED])
def test_recorded_message(text, kind, fault):
    pattern = diagnostics.Patterns.load().classify(text)
    assert pattern and (pattern.kind, pattern.fault) == (kind, fault)


def test_the_table_is_well_formed():
    patterns = diagnostics.Patterns.load().patterns
    ids = [p.id for p in patterns]
    assert len(patterns) > 150 and len(set(ids)) == len(ids)
    assert {p.fault for p in patterns} <= {"candidate", "infra", "task"}
    assert {p.stage for p in patterns} <= {"validate", "compile", "test", "measure"}
    assert all(p.hint.endswith(".") for p in patterns)


@pytest.mark.parametrize("text, expected", [
    (RECORDED[0][0], {"space": "vmem", "needed": int(32.5 * 2**20), "limit": 32 << 20}),
    (RECORDED[1][0], {"space": "vmem", "needed": int(16.5 * 2**20), "limit": 16 << 20}),
    (RECORDED[2][0], {"space": "vmem", "needed": 157286400, "limit": 134217728}),
    ("Ran out of memory in memory space hbm. Used 33.00G of 31.25G hbm.", {"space": "hbm", "needed": 33 << 30, "limit": int(31.25 * 2**30)}),
    ("INTERNAL: something else", None),
])
def test_shortages_become_numbers(text, expected):
    assert chip_compiler.memory_shortage(text) == expected
