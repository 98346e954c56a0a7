"""Admission: a good task passes; each way of being untrustworthy is named."""

import pytest
import workshop
from workshop import SOFTMAX_FILES, case, config

from maxkernel_runner import protocol
from maxkernel_runner.roles import admit, probe

MATMUL = {
    "reference.py": "import jax.numpy as jnp\ndef computation(x, w):\n    return jnp.matmul(x, w)\n",
    "inputs.py": "import numpy as np\ndef get_inputs(rng):\n    f = lambda: rng.standard_normal((64, 64), dtype=np.float32)\n    return (f(), f()), ()\n",
}


def admission(tmp_path, files, cases=None, **settings):
    shop = workshop.Workshop(tmp_path, files, config(cases or [case("only")], **settings))
    return admit.run(protocol.Job(shop.job("admit")), lambda *_: None).as_json("admit")


def errors(result):
    return {d["class"]: d["message"] for d in result["diagnostics"] if d["severity"] == "error"}


def test_a_good_task(tmp_path):
    result = admission(tmp_path, MATMUL)
    assert result["status"] == "passed" and not errors(result), errors(result)
    checks = {d["class"] for d in result["diagnostics"]}
    assert {"null candidate: zeros", "null candidate: ones", "null candidate: NaN", "null candidate: argument 0 passed through",
            "null candidate: mean everywhere", "null candidate: last block left out", "null candidate: lower precision",
            "null candidate: swapped axes", "null candidate: the first seed's output", "sensitivity: argument [0]",
            "sensitivity: argument [1]", "tolerance possible", "tolerance not vacuous", "roofline"} <= checks
    (only,) = result["cases"]
    assert only["facts"]["flops"] == 2 * 64**3 and only["facts"]["bytes"] == 3 * 64 * 64 * 4
    assert only["facts"]["bound_by"] == "memory" and only["floor_s"] == pytest.approx(3 * 64 * 64 * 4 / 1640e9)


BAD = {
    "an output that hardly depends on its input": (
        {**MATMUL, "inputs.py": MATMUL["inputs.py"].replace("(f(), f())", "(f(), 0 * f())")}, {},
        ["null candidate: zeros", "null candidate: the first seed's output", "sensitivity: argument [0]"]),
    "a vacuous tolerance": (MATMUL, {"tolerance": {"atol": 50.0, "rtol": 0.0}}, ["tolerance not vacuous", "null candidate: zeros"]),
    "an impossible tolerance": (MATMUL, {"tolerance": {"atol": 0.0, "rtol": 0.0}}, ["tolerance possible"]),
    "an argument without effect": (
        {**MATMUL, "reference.py": "def computation(x, w):\n    return x * 2.0 + 0 * w\n"}, {}, ["sensitivity: argument [1]"]),
    "an answer that is its input": (
        {**MATMUL, "reference.py": "def computation(x, w):\n    return x + 1e-9 * w\n"}, {},
        ["null candidate: argument 0 passed through", "sensitivity: argument [1]"]),
    "inputs from elsewhere": (
        {**MATMUL, "inputs.py": MATMUL["inputs.py"].replace("rng.standard_normal((64, 64), dtype=np.float32)", "np.random.rand(64, 64).astype(np.float32)")},
        {}, ["inputs from the seed"]),
    "nothing tested": (MATMUL, {"cases": [case("only", test=False)]}, ["tested cases"]),
    "nothing scored": (MATMUL, {"cases": [case("only", score=False)]}, ["scored cases"]),
    "a baseline of another shape": (
        {**MATMUL, "baseline.py": "def computation(x, w):\n    return x[:1]\n"}, {}, ["baseline"]),
    "a tolerance that takes bfloat16 for float32": (MATMUL, {"tolerance": {"atol": 0.05, "rtol": 0.05}}, ["null candidate: lower precision"]),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_task(tmp_path, name):
    files, settings, expected = BAD[name]
    settings = dict(settings)
    result = admission(tmp_path, files, settings.pop("cases", None), **settings)
    assert result["status"] == "task_failed", result
    assert set(expected) <= set(errors(result)), errors(result)


def test_fixed_inputs_are_a_warning(tmp_path):
    code = "import numpy as np\ndef get_inputs():\n    r = np.random.default_rng(0)\n    return (r.standard_normal((64, 64), dtype=np.float32),), ()\n"
    files = {"reference.py": SOFTMAX_FILES["reference.py"]}
    result = admission(tmp_path, files, input_gen_code=code, atol=1e-5, rtol=1e-5)
    assert result["status"] == "passed", errors(result)
    assert any(d["severity"] == "warning" and "do not depend on a seed" in d["message"] for d in result["diagnostics"])


def test_floor_of_a_masked_reference_counts_results_alone(tmp_path):
    masked = "import jax.numpy as jnp\ndef computation(x, w):\n    return jnp.where(jnp.tri(64) > 0, x @ w, 0.0)\n"
    result = admission(tmp_path, {**MATMUL, "reference.py": masked})
    assert result["cases"][0]["floor_s"] == pytest.approx(64 * 64 * 4 / 1640e9)


def test_probe():
    import try_task

    job = {"protocol": 1, "role": "probe", "chip": "v6e", "hardware": try_task.load_hardware("v6e")}
    result = probe.run(protocol.Job(job), lambda *_: None).as_json("probe")
    found = {c["name"]: c for c in result["cases"]}
    assert result["status"] == "passed"
    assert {n for n, c in found.items() if c["status"] == "passed"} == {"interpret", "lower", "aot", "estimate", "cpu"}, found
    assert "TPU" in found["device"]["absent"]


def test_probe_of_some():
    job = {"protocol": 1, "role": "probe", "fidelities": ["cpu", "telepathy"]}
    result = probe.run(protocol.Job(job), lambda *_: None).as_json("probe")
    assert [(c["name"], c["status"]) for c in result["cases"]] == [("cpu", "passed"), ("telepathy", "failed")]
