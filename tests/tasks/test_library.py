"""The task library: every task loads, its baseline is right and lowers for its chip, and what it declares is well-formed."""

import ast
import functools
import re

import jax
import numpy as np
import pytest
import task_library as library

TASKS = {path.parent.name: library.Task(path.parent) for path in sorted(library.TASKS.glob("*/task.yaml"))}
QUICKSTART = "matmul_epilogue"

TASK_KEYS = {
    "name", "description", "reference", "inputs", "baseline", "files", "chip", "fidelity", "tolerance", "cases", "compare", "donate", "allow",
}
CASE_KEYS = {"name", "params", "test", "score", "hidden", "tolerance"}

every_task = pytest.mark.parametrize("task", TASKS.values(), ids=TASKS.keys())


SEED = 17


@functools.cache
def smallest(task):
    """The tested case with the fewest argument bytes."""
    def size(case):
        shapes, _ = task.shapes(case)
        return sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(shapes))

    return min(task.tested_cases(), key=size)


@functools.cache
def expected_at(task, seed):
    """(smallest case, dynamic arguments, static arguments, outputs of the reference)."""
    case = smallest(task)
    dynamic, static = task.inputs(case, seed)
    return case, dynamic, static, library.run_plain(task.module("reference").computation, dynamic, static)


def test_library_has_its_tasks():
    assert set(TASKS) >= {
        "matmul_epilogue", "softmax", "rms_norm", "flash_attention", "grouped_matmul", "gated_elementwise", "linear_scan",
    }


@every_task
def test_settings_are_known_and_consistent(task):
    assert set(task.config) <= TASK_KEYS
    assert task.name == task.directory.name and re.fullmatch(r"[a-z0-9_-]+", task.name)
    assert task.config["description"].strip()
    assert task.config["chip"] == "v6e"
    assert task.config["fidelity"] == {"valid": ["interpret", "lower", "aot"], "score": "estimate"}
    for case in task.config["cases"]:
        assert set(case) <= CASE_KEYS
    names = [case.name for case in task.cases]
    assert len(names) == len(set(names))
    assert any(case.test for case in task.cases) and any(case.score for case in task.cases)
    assert any(case.hidden for case in task.cases), "no case that a candidate cannot see"
    assert all(case.test or case.score for case in task.cases), "a case that is neither tested nor timed"


@every_task
def test_modules_import_nothing_of_each_other(task):
    for name in ("reference.py", "inputs.py", "baseline.py"):
        tree = ast.parse((task.directory / name).read_text())
        imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
        imported |= {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
        assert not imported & {"reference", "inputs", "baseline"}, name


@every_task
def test_inputs_come_from_the_generator_alone(task):
    case = smallest(task)
    first, again, other = (jax.tree.leaves(task.inputs(case, seed)[0]) for seed in (3, 3, 4))
    assert all(np.array_equal(a, b) for a, b in zip(first, again))
    assert not all(np.array_equal(a, b) for a, b in zip(first, other))


@every_task
def test_baseline_equals_reference(task):
    case, dynamic, static, expected = expected_at(task, SEED)
    actual = library.run_interpreted(task.module("baseline").computation, dynamic, static)
    assert not library.mismatch(actual, expected, tolerances(task, case, expected), task.config.get("compare", "exact_order"))


@every_task
def test_tolerance_is_neither_vacuous_nor_met_by_constants(task):
    case, _, _, expected = expected_at(task, SEED)
    compare = task.config.get("compare", "exact_order")
    allowed = tolerances(task, case, expected)
    for fill in (np.zeros_like, np.ones_like, lambda leaf: np.full_like(leaf, np.mean(np.asarray(leaf, np.float64)))):
        assert library.mismatch(jax.tree.map(fill, expected), expected, allowed, compare)


@every_task
def test_outputs_depend_on_the_inputs(task):
    case, _, _, first = expected_at(task, SEED)
    _, _, _, second = expected_at(task, SEED + 1)
    assert library.mismatch(first, second, tolerances(task, case, first), task.config.get("compare", "exact_order"))


@every_task
def test_baseline_lowers_for_the_chip_as_one_kernel(task):
    baseline = task.module("baseline").computation
    for case in task.cases:
        shapes, static = task.shapes(case)
        exported = library.export_for_tpu(baseline, shapes, static)
        assert library.kernel_count(exported) == 1, case.name
        assert exported.platforms == ("tpu",)


@every_task
def test_baseline_declares_tunables(task):
    path = task.directory / "baseline.py"
    declared = library.tunables(path)
    assert declared
    for tunable in declared:
        assert len(tunable.choices) == len(set(tunable.choices)) > 1, f"{path}:{tunable.line}"
        assert {type(choice) for choice in tunable.choices} == {type(tunable.value)}, f"{path}:{tunable.line}"


@every_task
def test_baseline_is_right_at_its_largest_blocks(task):
    path = task.directory / "baseline.py"
    largest = {tunable.name: max(tunable.choices) for tunable in library.tunables(path)}
    case, dynamic, static, expected = expected_at(task, SEED)
    actual = library.run_interpreted(task.module("baseline", largest).computation, dynamic, static)
    assert not library.mismatch(actual, expected, tolerances(task, case, expected), task.config.get("compare", "exact_order"))


def test_quickstart_has_few_tunables():
    declared = library.tunables(TASKS[QUICKSTART].directory / "baseline.py")
    assert [tunable.name for tunable in declared] == ["BLOCK_M", "BLOCK_N", "BLOCK_K"]


@pytest.mark.parametrize("line, message", [
    ("BLOCK = 64 # tunable: 32, 64", "ill-formed"),
    ("block = 64  # tunable: 32, 64", "ill-formed"),
    ("    BLOCK = 64  # tunable: 32, 64", "ill-formed"),
    ("BLOCK = 48  # tunable: 32, 64", "not among"),
])
def test_ill_formed_tunable_names_its_line(tmp_path, line, message):
    path = tmp_path / "kernel.py"
    path.write_text(f"import jax\n{line}\n")
    with pytest.raises(ValueError, match=rf"kernel\.py:2: .*{message}"):
        library.tunables(path)


def tolerances(task, case, outputs):
    return task.tolerances(case, len(jax.tree.leaves(outputs)))
