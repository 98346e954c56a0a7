"""Each role on a small task: what passes, and every verdict with its reason."""

import faulthandler
import json
import os

import numpy as np
import pytest
import workshop
from workshop import HONEST, case, config

from maxkernel_runner import arrays, modules, signature


def with_kernel(body, imports=""):
    """HONEST with another kernel body."""
    return HONEST.replace("    x = x_ref[...]\n    e = jnp.exp(x - jnp.max(x, axis=-1, keepdims=True))\n"
                          "    out_ref[...] = e / jnp.sum(e, axis=-1, keepdims=True)\n", body).replace("import jax\n", "import jax\n" + imports, 1)


def plain(body):
    return "import functools\nimport jax\nimport jax.numpy as jnp\nfrom jax import lax\n" + body


class TestReference:
    def test_leaves_signature_values_and_floor(self, softmax):
        result = softmax.reference()
        assert result["status"] == "passed"
        described = signature.read(softmax.reference_dir)
        entry = described["cases"]["small"]
        assert entry["arguments"] == [{"shape": [16, 128], "dtype": "float32"}] == entry["outputs"]
        # Read and written once: 2 * 16 * 128 * 4 bytes.
        assert entry["floor"]["bytes"] == 16384 and entry["floor"]["least_bytes"] == 16384
        assert result["cases"][0]["floor_s"] == pytest.approx(16384 / 1640e9)
        (x,) = arrays.load(os.path.join(softmax.reference_dir, "small.inputs.npz"))
        (y,) = arrays.load(os.path.join(softmax.reference_dir, "small.outputs.npz"))
        exact = np.exp(x - x.max(-1, keepdims=True).astype(np.float64))
        assert np.allclose(y, exact / exact.sum(-1, keepdims=True), atol=1e-6)

    def test_derived_tolerance_is_tight(self, softmax):
        softmax.reference()
        (pair,) = signature.read(softmax.reference_dir)["cases"]["small"]["tolerance"]
        assert 0 < pair["atol"] < 1e-6 and 0 < pair["rtol"] < 1e-5

    def test_the_seed_decides_the_inputs_and_does_not_show(self, tmp_path):
        folders = []
        for seed in (1, 1, 2):
            shop = workshop.Workshop(tmp_path / str(len(folders)), workshop.SOFTMAX_FILES, workshop.softmax_config(), seed)
            assert shop.reference()["status"] == "passed"
            folders.append(shop.reference_dir)
        a, b, c = (arrays.load(os.path.join(f, "small.inputs.npz"))[0] for f in folders)
        assert np.array_equal(a, b) and not np.array_equal(a, c)
        texts = [open(os.path.join(f, "signature.json"), encoding="utf-8").read() for f in folders]
        del texts[1]
        described = [json.loads(text)["cases"]["small"] for text in texts]
        for entry in described:
            entry.pop("tolerance")
        assert described[0] == described[1]

    @pytest.mark.parametrize("files, expected, line", [
        ({"reference.py": "x = 1\n"}, "reference.py: defines no computation", 0),
        ({"reference.py": "def computation(x:\n"}, "reference.py:1:", 1),
        ({"reference.py": "\n\ndef computation(x):\n    return x + undefined_name\n"}, "reference.py:4: computation for case small raised NameError", 4),
        ({"reference.py": "def computation(x):\n    return ()\n"}, "returns no array", 0),
        ({"inputs.py": "def get_inputs(rng, rows, columns, scale=1.0):\n    return 3\n"}, "inputs.py:1: get_inputs returned a int", 1),
        ({"inputs.py": "def get_inputs(rng, rows, columns, scale=1.0):\n    return ([1.5],), ()\n"}, "dynamic argument [0][0] of case small is a float", 1),
        ({"inputs.py": "def get_inputs(rng, rows):\n    return ((), ())\n"}, "TypeError", 0),
        ({"inputs.py": "import numpy as np\ndef get_inputs(rng, rows, columns, scale=1.0):\n    return (np.ones(3),), (print,)\n"}, "static argument of type", 0),
        ({"inputs.py": "raise SystemExit(0)\n"}, "inputs.py:1: importing it raised SystemExit", 1),
    ])
    def test_faults_of_task_files_name_file_and_line(self, tmp_path, files, expected, line):
        shop = workshop.Workshop(tmp_path, {**workshop.SOFTMAX_FILES, **files}, workshop.softmax_config())
        result = shop.reference()
        assert result["status"] == "task_failed" and expected in result["reason"], result["reason"]
        assert result["diagnostics"][0]["fault"] == "task" and result["diagnostics"][0]["line"] == line

    def test_missing_file(self, tmp_path):
        files = {"reference.py": workshop.SOFTMAX_FILES["reference.py"]}
        result = workshop.Workshop(tmp_path, files, workshop.softmax_config()).reference()
        assert result["status"] == "task_failed" and "inputs.py: cannot be read: No such file" in result["reason"]

    def test_number_of_tolerances(self, tmp_path):
        settings = workshop.changed(workshop.softmax_config(), tolerance=[{"atol": 1, "rtol": 1}] * 2)
        result = workshop.Workshop(tmp_path, workshop.SOFTMAX_FILES, settings).reference()
        assert result["status"] == "task_failed" and "2 tolerances for the 1 outputs" in result["reason"]

    def test_layout_of_the_reference_system(self, tmp_path):
        code = "import numpy as np\ndef get_inputs():\n    return [((np.full((8, 128), n, np.float32),), (2,)) for n in (1.0, 2.0)]\n"
        settings = config([{**case("case_0", index=0), "all_cases": True}], input_gen_code=code, atol=[0.1, 0.2], rtol=0.3, sort_before_compare=True)
        settings.pop("compare")
        shop = workshop.Workshop(tmp_path, {"reference.py": "def computation(x, n):\n    return x * n\n"}, settings)
        result = shop.reference()
        assert result["status"] == "passed", result
        described = signature.read(shop.reference_dir)
        assert described["compare"] == "sorted_last_axis"
        assert list(described["cases"]) == ["case_0", "case_1"] == [c["name"] for c in result["cases"]]
        entry = described["cases"]["case_1"]
        assert entry["tolerance"] == [{"atol": 0.2, "rtol": 0.3}] and entry["static"] == [2]
        assert arrays.load(os.path.join(shop.reference_dir, "case_1.outputs.npz"))[0][0, 0] == 4.0
        candidate = shop.candidate("def computation(x, n):\n    return n * x\n")
        assert candidate.author()["status"] == "passed"
        for tried in (candidate.test(), candidate.measure()):
            assert tried["status"] == "passed" and [c["name"] for c in tried["cases"]] == ["case_0", "case_1"], tried

    def test_fault_inside_input_gen_code(self, tmp_path):
        settings = config([case("only")], input_gen_code="def get_inputs():\n    return 1 / 0\n")
        result = workshop.Workshop(tmp_path, {"reference.py": "def computation(x):\n    return x\n"}, settings).reference()
        assert "kernel_task.yaml:input_gen_code:2: get_inputs() raised ZeroDivisionError" in result["reason"]


class TestHonest:
    def test_passes_every_role(self, softmax):
        candidate = softmax.candidate(HONEST)
        author = candidate.author()
        assert author["status"] == "passed" and author["facts"]["kernels"] == 1, author
        assert [c["facts"]["tpu_interpret"] for c in author["cases"]] == ["passed"] * 3
        tested = candidate.test()
        assert tested["status"] == "passed" and [c["name"] for c in tested["cases"]] == ["small", "ragged", "large"]
        assert 0 <= tested["cases"][0]["max_abs_error"] < 1e-6
        compiled = candidate.compile()
        assert compiled["status"] == "passed", compiled
        assert compiled["cases"][0]["facts"]["kernels"] == 1 and compiled["cases"][0]["facts"]["vmem_bytes"] > 0
        measured = candidate.measure()
        assert measured["status"] == "passed" and [c["name"] for c in measured["cases"]] == ["small"]
        (time,) = measured["cases"][0]["samples_s"]
        assert time > measured["cases"][0]["floor_s"] > 0
        assert compiled["identity"] != tested["identity"] and len(tested["identity"]) == 64

    def test_over_real_processes(self, softmax):
        candidate = softmax.candidate(HONEST)
        author = candidate.author_process()
        assert author["status"] == "passed" and author["protocol"] == 1, author
        assert author["environment"]["jax"] == "0.10.2" and author["timing_s"]["work"] > 0
        tested = softmax.process("test", module_dir=candidate.modules)
        assert tested["status"] == "passed", tested

    def test_plain_jax_is_a_candidate_too(self, softmax):
        candidate = softmax.candidate(plain("def computation(x):\n    return jax.nn.softmax(x, axis=-1)\n"))
        assert candidate.judge()["status"] == "passed"
        assert candidate.compile()["cases"][0]["facts"]["kernels"] == 0

    def test_further_files(self, softmax):
        source = HONEST.replace("import jax\n", "import jax\nimport rows\n", 1).replace("(BLOCK_ROWS,", "(rows.ROWS,").replace("min(BLOCK_ROWS", "min(rows.ROWS")
        candidate = softmax.candidate(source, {"rows.py": "ROWS = 8\n"})
        assert candidate.judge()["status"] == "passed"


class TestIdentity:
    def modules_of(self, softmax, source):
        candidate = softmax.candidate(source)
        assert candidate.author(targets=("tpu",))["status"] == "passed"
        entries = signature.read(softmax.reference_dir)["cases"]
        return modules.identity([(n, modules.load(candidate.modules, n, "tpu", entries[n])) for n in entries])

    def test_comments_names_and_claims_do_not_change_it(self, softmax):
        first = self.modules_of(softmax, HONEST)
        renamed = "# a comment\n\n" + HONEST.replace("kernel", "wonder_kernel").replace("wonder_kernel,\n", "wonder_kernel,\n        name='fast',\n")
        claimed = HONEST.replace("out_shape=", "cost_estimate=pl.CostEstimate(flops=1, bytes_accessed=1, transcendentals=0),\n        out_shape=")
        assert self.modules_of(softmax, renamed) == first
        assert self.modules_of(softmax, claimed) == first

    def test_another_block_size_or_operation_does(self, softmax):
        first = self.modules_of(softmax, HONEST)
        assert self.modules_of(softmax, HONEST.replace("BLOCK_ROWS = 8 ", "BLOCK_ROWS = 16 ")) != first
        assert self.modules_of(softmax, HONEST.replace("jnp.exp(x", "jnp.exp2(x")) != first


WRONG = {
    "zeros": (plain("def computation(x):\n    return jnp.zeros_like(x)\n"), "elements are wrong"),
    "not a number": (plain("def computation(x):\n    return jnp.full_like(x, jnp.nan)\n"), "not finite"),
    "passed through": (plain("def computation(x):\n    return x\n"), "elements are wrong"),
    "lower precision": (plain("def computation(x):\n    return jax.nn.softmax(x.astype(jnp.bfloat16), -1).astype(x.dtype)\n"), "elements are wrong"),
    "no maximum subtracted": (with_kernel("    e = jnp.exp(x_ref[...])\n    out_ref[...] = e / jnp.sum(e, axis=-1, keepdims=True)\n"), "case large"),
    "nothing written": (with_kernel("    pass\n"), "memory that nothing has written"),
    "grid one block short": (HONEST.replace("(pl.cdiv(x.shape[0], block[0]),)", "(max(1, x.shape[0] // block[0] - 1),)"), "elements are wrong"),
    "wrong shape": (plain("def computation(x):\n    return jax.nn.softmax(x, -1)[:1]\n"), "expected float32[16,128]"),
    "wrong type": (plain("def computation(x):\n    return jax.nn.softmax(x, -1).astype(jnp.bfloat16)\n"), "is bfloat16[16,128], expected float32[16,128]"),
    "wrong tree": (plain("def computation(x):\n    return (jax.nn.softmax(x, -1),)\n"), "structure (array,), expected array"),
    "no result": (plain("def computation(x):\n    pass\n"), "structure None"),
    "lazy result": (plain("class Lazy:\n    shape = (16, 128)\n    dtype = jnp.float32\ndef computation(x):\n    return Lazy()\n"), "is a Lazy"),
}


@pytest.mark.parametrize("name", WRONG)
def test_incorrect(softmax, name):
    source, expected = WRONG[name]
    result = softmax.candidate(source).judge()
    assert (result["status"], result["verdict"]) == ("failed", "incorrect"), result
    assert expected in result["reason"], result["reason"]


def test_out_of_bounds_is_found_although_the_plain_interpreter_clamps(softmax):
    # Block 2 of two does not exist; clamped, it reads block 1.
    source = HONEST.replace("in_specs=[pl.BlockSpec(block, lambda i: (i, 0))]", "in_specs=[pl.BlockSpec(block, lambda i: (i + i // 1 * 0 + (i == 1), 0))]")
    result = softmax.candidate(source).author()
    assert (result["status"], result["verdict"]) == ("failed", "incorrect"), result
    assert result["diagnostics"][0]["class"] == "oob"
    assert "oob: IndexError: Out-of-bounds block index" in result["reason"]
    # The next candidate of this process is not blamed for it.
    assert softmax.candidate(HONEST).author()["status"] == "passed"


DMA = """
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

def kernel(x_ref, out_ref, buffer, semaphore):
    copy = pltpu.make_async_copy(x_ref, buffer, semaphore)
    copy.start()
    WAIT
    x = buffer[...]
    e = jnp.exp(x - jnp.max(x, axis=-1, keepdims=True))
    out_ref[...] = e / jnp.sum(e, axis=-1, keepdims=True)
    LATE

def computation(x):
    return pl.pallas_call(
        kernel,
        in_specs=[pl.BlockSpec(memory_space=pl.ANY)],
        scratch_shapes=[pltpu.VMEM(x.shape, x.dtype), pltpu.SemaphoreType.DMA],
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
    )(x)
"""


@pytest.mark.parametrize("wait, late, kinds", [
    ("copy.wait()", "pass", None), ("pass", "copy.wait()", ("race",)), ("pass", "pass", ("race", "dma_semaphore", "uninitialized_read")),
])
def test_a_copy_that_is_not_awaited(softmax, wait, late, kinds):
    result = softmax.candidate(DMA.replace("WAIT", wait).replace("LATE", late)).author()
    if kinds is None:
        assert result["status"] == "passed", result
    else:
        assert (result["status"], result["verdict"]) == ("failed", "incorrect"), result
        assert result["diagnostics"][0]["class"] in kinds and result["diagnostics"][0]["hint"]


REJECTED = {
    "self-interpreted": HONEST.replace("grid=", "interpret=True,\n        grid="),
    "host callback": plain("import numpy as np\ndef computation(x):\n    return jax.pure_callback(lambda a: a, jax.ShapeDtypeStruct(x.shape, x.dtype), x)\n"),
    "different code per platform": plain("f = lax\ndef computation(x):\n    return f.platform_dependent(x, tpu=lambda a: a, default=jax.nn.softmax)\n"),
    "aliasing": HONEST.replace("out_shape=", "input_output_aliases={0: 0},\n        out_shape="),
    "unchecked access": HONEST.replace("from jax.experimental import pallas as pl\n", "from jax.experimental import pallas as pl\nfrom jax.experimental.pallas import tpu as pltpu\n")
    .replace("out_shape=", "compiler_params=pltpu.CompilerParams(disable_bounds_checks=True),\n        out_shape="),
    "import": plain("import os\ndef computation(x):\n    return x\n"),
    "early exit": plain("raise SystemExit(0)\n"),
    "dynamic code": plain("exec('import os')\ndef computation(x):\n    return x\n"),
    "patched library": plain("jax.block_until_ready = lambda x: x\ndef computation(x):\n    return x\n"),
    "silent fallback": plain("def computation(x):\n    try:\n        return lax.nothing(x)\n    except Exception:\n        return jax.nn.softmax(x, -1)\n"),
}


@pytest.mark.parametrize("rule", REJECTED)
def test_rejected(softmax, rule):
    result = softmax.candidate(REJECTED[rule]).author()
    assert (result["status"], result["verdict"]) == ("failed", "rejected"), result
    assert result["reason"].startswith(f"{rule}:"), result["reason"]


@pytest.mark.parametrize("rule, permission", [("aliasing", "aliasing"), ("unchecked access", "unchecked_access")])
def test_a_task_may_permit(tmp_path, rule, permission):
    shop = workshop.Workshop(tmp_path, workshop.SOFTMAX_FILES, workshop.changed(workshop.softmax_config(), allow=[permission]))
    candidate = shop.candidate(REJECTED[rule])
    result = candidate.author()
    assert result["status"] == "passed", result
    assert candidate.compile()["status"] == "passed"
    # The trusted roles look for themselves.
    shop.config["allow"] = []
    compiled = candidate.compile()
    assert compiled["verdict"] == "rejected" and compiled["reason"].startswith(rule), compiled


class TestHostileModules:
    """What a process that a candidate has taken over could leave instead of honest modules."""

    def swapped(self, softmax, write):
        candidate = softmax.candidate(HONEST)
        assert candidate.author()["status"] == "passed"
        write(candidate.modules)
        return candidate

    def export(self, function, shape=(16, 128), platform="tpu"):
        import jax

        return jax.export.export(jax.jit(function), platforms=[platform])(jax.ShapeDtypeStruct(shape, "float32")).serialize()

    def put(self, folder, data, platform="tpu"):
        with open(os.path.join(folder, f"small.{platform}.module"), "wb") as file:
            file.write(data)

    def check(self, softmax, data, rule, platform="tpu"):
        candidate = self.swapped(softmax, lambda folder: self.put(folder, data, platform))
        result = candidate.compile() if platform == "tpu" else candidate.test()
        assert (result["status"], result["verdict"]) == ("failed", "rejected"), result
        assert result["reason"].startswith(rule), result["reason"]

    def test_not_a_module(self, softmax):
        self.check(softmax, b"garbage" * 100, "not a module")

    def test_empty(self, softmax):
        self.check(softmax, b"", "not a module")

    def test_other_types(self, softmax):
        self.check(softmax, self.export(lambda x: (x[:8],)), "output types")
        self.check(softmax, self.export(lambda x: (x,), (8, 128)), "argument types")

    def test_other_platform(self, softmax):
        self.check(softmax, self.export(lambda x: (x,), platform="cpu"), "platform")
        self.check(softmax, self.export(lambda x: (x,), platform="tpu"), "platform", platform="cpu")

    def test_large_constants(self, softmax):
        table = np.random.default_rng(0).standard_normal((1100, 1000), dtype=np.float32)
        self.check(softmax, self.export(lambda x: (x + table[:16, :128].sum() + np.sum(x) * table.max() + (table * x[0, 0])[:16, :128],)), "constants")

    def test_uninitialised_memory(self, softmax):
        import jax

        self.check(softmax, self.export(lambda x: (jax.lax.empty(x.shape, x.dtype),)), "uninitialised memory")

    def test_size_limit(self, softmax):
        candidate = softmax.candidate(HONEST)
        candidate.author()
        result = candidate.test(limits={"module_bytes": 100})
        assert result["verdict"] == "rejected" and result["reason"].startswith("module size")

    def test_missing_module_is_no_success(self, softmax):
        candidate = softmax.candidate(HONEST)
        candidate.author(targets=("tpu",))
        assert candidate.test()["status"] == "infra_failed"
        os.remove(os.path.join(candidate.modules, "small.tpu.module"))
        assert candidate.measure()["status"] == "infra_failed"


class TestDeaths:
    """The process of a candidate ends without a result."""

    @pytest.mark.parametrize("body, signal", [
        ("raise SystemExit(0)", "early exit"),
        ("sys_exit = jnp.zeros\nraise KeyboardInterrupt", "KeyboardInterrupt"),
    ])
    def test_exits_in_python(self, softmax, body, signal):
        result = softmax.candidate(plain(body + "\n")).author_process()
        assert result["status"] == "failed" and signal in result["reason"], result

    def test_death_by_signal_is_told_with_its_last_words(self, softmax):
        from maxkernel_runner import supervise

        def work(descriptor):
            faulthandler.disable()
            os.write(2, b"noise\nF0000 file.cc:1] Check failed: a == b (0 vs. 3)\nmore\n")
            os.abort()

        frames = []
        death = supervise.run_child(work, frames.append)
        assert death.signal == 6 and not frames
        result = supervise.death_result("compile", death)
        assert result.verdict == "does_not_compile" and "SIGABRT" in result.reason
        assert result.diagnostics[0].kind == "compiler_crash" and "Check failed: a == b" in result.diagnostics[0].message
        assert supervise.death_result("reference", death).status == "task_failed"
        assert supervise.death_result("author", death).verdict == "crashed"

    def test_leaving_with_status_zero_is_no_success(self):
        from maxkernel_runner import supervise

        death = supervise.run_child(lambda descriptor: os._exit(0), lambda frame: None)
        assert death is not None and death.code == 0
        assert supervise.death_result("test", death).status == "failed"

    def test_broken_framing_is_no_success(self):
        from maxkernel_runner import supervise

        death = supervise.run_child(lambda descriptor: os.write(descriptor, b"\0\0\0\x04nope"), lambda frame: None)
        assert death is not None

    def test_recursion_and_memory(self, softmax):
        deep = plain("def f(x):\n    return f(x)\ndef computation(x):\n    return f(x)\n")
        result = softmax.candidate(deep).author()
        assert result["verdict"] == "does_not_compile" and "RecursionError" in result["reason"]


class TestMeasure:
    def test_cpu_clock(self, tmp_path):
        settings = workshop.changed(workshop.softmax_config(), fidelity={"valid": ["cpu"], "score": "cpu"})
        shop = workshop.Workshop(tmp_path, workshop.SOFTMAX_FILES, settings)
        candidate = shop.candidate(plain("def computation(x):\n    return jax.nn.softmax(x, -1)\n"))
        assert candidate.author(targets=("cpu",), fidelity="cpu")["status"] == "passed"
        result = candidate.measure()
        assert result["status"] == "passed", result
        (only,) = result["cases"]
        assert len(only["samples_s"]) == 3 and all(s > 0 for s in only["samples_s"])
        assert not any(d["class"] == "reused_inputs" for d in result["diagnostics"])

    def test_cpu_clock_times_no_interpreted_kernel(self, softmax):
        result = softmax.candidate(HONEST).author(targets=("cpu",), fidelity="cpu")
        assert result["verdict"] == "does_not_compile" and "can only interpret" in result["reason"]

    def test_cpu_clock_of_a_case_that_is_not_tested(self, tmp_path):
        settings = config([case("only", test=False, rows=16, columns=128)], fidelity={"valid": [], "score": "cpu"})
        candidate = workshop.Workshop(tmp_path, workshop.SOFTMAX_FILES, settings).candidate(plain("def computation(x):\n    return jax.nn.softmax(x, -1)\n"))
        assert candidate.author(targets=("cpu",), fidelity="cpu")["status"] == "passed"
        assert len(candidate.measure()["cases"][0]["samples_s"]) == 3

    def test_cpu_clock_grades_timed_calls(self, tmp_path):
        settings = workshop.changed(workshop.softmax_config(), fidelity={"valid": ["cpu"], "score": "cpu"})
        shop = workshop.Workshop(tmp_path, workshop.SOFTMAX_FILES, settings)
        candidate = shop.candidate(plain("def computation(x):\n    return x\n"))
        candidate.author(targets=("cpu",), fidelity="cpu")
        result = candidate.measure()
        assert (result["verdict"], result["cases"][0]["samples_s"]) == ("incorrect", [])

    def test_estimate_below_the_floor_is_absent(self, softmax, monkeypatch):
        from maxkernel_runner import estimate

        answer = {"time_s": 1e-12, "low_s": None, "high_s": None, "absent": "", "flags": [], "model_version": "1", "kernels": [], "facts": {}}
        monkeypatch.setattr(estimate, "estimate", lambda *a, **k: answer)
        candidate = softmax.candidate(HONEST)
        candidate.author(targets=("tpu",))
        (only,) = candidate.measure()["cases"]
        assert only["samples_s"] == [] and "below the 9.99e-09 s" in only["absent"]

    def test_claimed_work_changes_nothing(self, softmax):
        claimed = HONEST.replace("out_shape=", "cost_estimate=pl.CostEstimate(flops=1, bytes_accessed=1, transcendentals=0),\n        out_shape=")
        times = []
        for source in (HONEST, claimed):
            candidate = softmax.candidate(source)
            candidate.author(targets=("tpu",))
            times.append(candidate.measure()["cases"][0]["samples_s"])
        assert times[0] == times[1] and times[0]

    def test_unknown_fidelity(self, softmax):
        assert softmax.candidate(HONEST).measure(fidelity="device")["status"] == "infra_failed"


@pytest.fixture(scope="module")
def untested(tmp_path_factory):
    cases = [case("small", rows=16, columns=128), case("ragged", rows=13, columns=100), case("large", test=False, rows=4096, columns=256)]
    return workshop.Workshop(tmp_path_factory.mktemp("untested"), workshop.SOFTMAX_FILES, config(cases))


class TestUntestedShapes:
    def measure(self, untested, source):
        candidate = untested.candidate(source)
        assert candidate.author(targets=("tpu",))["status"] == "passed"
        return candidate.measure()

    def test_the_same_program_passes(self, untested):
        assert self.measure(untested, HONEST)["status"] == "passed"
        assert self.measure(untested, HONEST.replace("BLOCK_ROWS, x.shape[0]", "4 * BLOCK_ROWS, x.shape[0]"))["status"] == "passed"

    @pytest.mark.parametrize("shortcut, missing", [
        ("jnp.zeros_like(x)", "no exponential and no sum or maximum"), ("jax.nn.softmax(x, -1)", "no kernel")])
    def test_less_work_where_nobody_looks(self, untested, shortcut, missing):
        source = HONEST.replace("def computation(x):\n", f"def computation(x):\n    if x.shape[0] > 1000:\n        return {shortcut}\n")
        result = self.measure(untested, source)
        assert (result["status"], result["verdict"]) == ("failed", "rejected"), result
        assert result["reason"].startswith("untested shape: case large") and missing in result["reason"]


class TestCompile:
    def test_vmem_shortage_has_numbers(self, tmp_path):
        settings = config([case("big", test=False, rows=8192, columns=2048)])
        shop = workshop.Workshop(tmp_path, workshop.SOFTMAX_FILES, settings)
        source = HONEST.replace("BLOCK_ROWS = 8  # tunable: 8, 16", "BLOCK_ROWS = 2048")
        candidate = shop.candidate(source)
        assert candidate.author(targets=("tpu",))["status"] == "passed"
        result = candidate.compile()
        assert (result["status"], result["verdict"]) == ("failed", "does_not_compile")
        assert result["diagnostics"][0]["class"] == "vmem_oom" and "limit 33554432" in result["reason"]
        assert result["cases"][0]["facts"]["vmem_needed_bytes"] > result["cases"][0]["facts"]["vmem_limit_bytes"] == 32 << 20

    @pytest.mark.parametrize("chip", ["v4", "v5e", "v5p", "tpu7x"])
    def test_other_chips(self, tmp_path, chip):
        settings = workshop.changed(config([case("small", rows=16, columns=128)]), chip=chip)
        shop = workshop.Workshop(tmp_path, workshop.SOFTMAX_FILES, settings)
        candidate = shop.candidate(HONEST)
        assert candidate.author(targets=("tpu",))["status"] == "passed"
        result = candidate.compile()
        assert result["status"] == "passed", result
        kinds = shop.job("compile")["hardware"]["chip"]["device_kinds"]
        assert result["facts"]["device_kind"] in kinds

    def test_chip_without_topology(self, tmp_path):
        settings = workshop.changed(config([case("small", rows=16, columns=128)]), chip="tpu8i")
        shop = workshop.Workshop(tmp_path, workshop.SOFTMAX_FILES, settings)
        candidate = shop.candidate(HONEST)
        candidate.author(targets=("tpu",))
        result = candidate.compile()
        assert result["status"] == "infra_failed" and "no `aot` settings for chip tpu8i" in result["reason"]
