"""The command line itself: help, wrong usage, settings. Nothing here evaluates anything."""

import os
import pathlib
import re

import pytest

from conftest import ROOT, write_task

GOLDEN = pathlib.Path(__file__).parent / "help"
COMMANDS = ["", "optimize", "resume", "status", "show", "best", "graph", "evaluate", "task", "task check", "task new", "task list", "doctor"]


@pytest.mark.parametrize("command", COMMANDS)
def test_help_is_as_recorded(maxkernel, command):
    outcome = maxkernel(*command.split(), "--help")
    assert outcome.code == 0, outcome
    file = GOLDEN / ((command or "maxkernel").replace(" ", "-") + ".txt")
    if os.environ.get("MAXKERNEL_UPDATE_GOLDEN"):
        file.parent.mkdir(exist_ok=True)
        file.write_text(outcome.out)
    assert outcome.out == file.read_text(), f"to accept the change: MAXKERNEL_UPDATE_GOLDEN=1, then review the diff of {file}"
    assert "Example" in outcome.out or command == "task"


@pytest.mark.parametrize("arguments, message", [
    (["optimise", "x"], "unknown command 'optimise'; did you mean 'optimize'?"),
    (["optimize", "x", "--bugdet", "nodes=3"], "unknown option '--bugdet'; did you mean '--budget'?"),
    (["optimize", "x", "--evaluater=127.0.0.1:1"], "unknown option '--evaluater'; did you mean '--evaluator'?"),
    (["optimize", "x", "--key", "secret"], "unknown option '--key'"),
    (["optimize", "x", "y"], "unexpected argument 'y'"),
    (["task", "chek", "x"], "unknown command 'chek'; did you mean 'check'?"),
    (["graph", "x", "--format", "png"], "--format: png not in"),
    (["optimize"], "task is required"),
    ([], "a command is required: one of optimize, resume, status"),
])
def test_wrong_usage(maxkernel, arguments, message):
    outcome = maxkernel(*arguments)
    assert outcome.code == 1, outcome
    assert message in outcome.err, outcome
    assert outcome.out == ""


@pytest.mark.parametrize("arguments, message", [
    (["--budget", "evaluatons=3"], "--budget: unknown name 'evaluatons'; valid: evaluations, nodes, wall, tokens, money, device; did you mean"),
    (["--budget", "evaluations=many"], "--budget: evaluations: 'many' is not valid; expected a whole number of 0 or more"),
    (["--budget", "evaluations=-1"], "expected a whole number of 0 or more"),
    (["--budget", "evaluations"], "'evaluations' has no value"),
    (["--budget", "wall=soon"], "wall: 'soon' is not valid; expected a time such as 90s, 10m or 1h30m"),
    (["--seed", "0x1"], "--seed: '0x1' is not valid; expected a whole number"),
    (["--repeats", "0"], "--repeats: '0' is not valid; expected a whole number, 1..1000"),
    (["--select", "best_frist"], "did you mean 'best_first'?"),
    (["--select", "beam(widht=2)"], "unknown option 'widht'"),
    (["--select", "beam(width=2"], "position"),
    (["--expand", "autotun"], "did you mean 'autotune'?"),
    (["--expand", "llm_edit"], "llm_edit: no model is named; expected --llm-model and --llm-base-url"),
    (["--llm-key-env", "NO_SUCH_VARIABLE"], "the environment variable NO_SUCH_VARIABLE is not set"),
    (["--llm-key-file", "/no/such/file"], "llm.key_file: cannot read /no/such/file"),
    (["--llm-cassette", "play:x"], "--llm-cassette: 'play:x' is not valid; expected record:FILE or replay:FILE"),
    (["--llm-temperature", "hot"], "--llm-temperature: 'hot' is not valid; expected a number, 0..2"),
    (["--llm-model", "m", "--llm-base-url", "http://example.com/v1"], "http"),
    (["--config", "missing.yaml"], "configuration missing.yaml: cannot be read"),
])
def test_wrong_settings(maxkernel, task, arguments, message):
    outcome = maxkernel("optimize", task, *arguments)
    assert outcome.code == 1, outcome
    assert message in outcome.err, outcome
    assert not (maxkernel.folder / "runs").exists()


@pytest.mark.parametrize("text, message", [
    ("buget: {evaluations: 3}\n", "search.yaml:1: unknown key 'buget'; did you mean 'budget'?"),
    ("seed: 1\nllm:\n  modle: m\n", "search.yaml:3: unknown key 'llm.modle'; did you mean 'llm.model'?"),
    ("seed: 1\nbudget:\n  evaluations: lots\n", "search.yaml:3: budget: evaluations: 'lots' is not valid"),
    ("seed: [1, 2]\n", "search.yaml:1: seed: given 2 times; expected once"),
    ("seed: 1\nseed: 2\n", "search.yaml:2: 'seed' is given twice"),
    ("- a\n", "search.yaml:1: the file is no mapping"),
    ("seed: [1\n", "search.yaml:"),
])
def test_wrong_configuration_file(maxkernel, task, text, message):
    (maxkernel.folder / "search.yaml").write_text(text)
    outcome = maxkernel("optimize", task, "--config", "search.yaml")
    assert outcome.code == 1, outcome
    assert message in outcome.err, outcome


def test_version(maxkernel):
    assert maxkernel("--version").out.startswith("maxkernel 0.")


def test_task_new_writes_a_task_that_loads_and_list_shows_it(maxkernel):
    assert maxkernel("task", "new", "my_kernel").code == 0
    listed = maxkernel("task", "list", "tasks")
    assert listed.code == 0 and "tasks/my_kernel" in listed.out, listed
    again = maxkernel("task", "new", "my_kernel")
    assert again.code == 1 and "my_kernel" in again.err, again
    bad = maxkernel("task", "new", "My Kernel")
    assert bad.code == 1 and "expected lower case letters" in bad.err, bad


def test_task_list_tells_what_is_wrong_with_a_task(maxkernel):
    write_task(maxkernel.folder, "good")
    write_task(maxkernel.folder, "broken", yaml="name: broken\ncasess: []\n")
    listed = maxkernel("task", "list", ".")
    assert listed.code == 0 and "casess" in listed.out and "A task for tests." in listed.out, listed


def test_no_secret_is_shown(maxkernel, task):
    secret = "sk-do-not-show-me"
    outcome = maxkernel("optimize", task, "--run", "run", "--llm-model", "m", "--llm-base-url", "http://127.0.0.1:9/v1", "--expand",
                        "llm_edit", "--budget", "evaluations=1", "--llm-retries", "0", environment={"MAXKERNEL_LLM_API_KEY": secret})
    everything = outcome.out + outcome.err
    for file in (maxkernel.folder / "run").rglob("*"):
        if file.is_file():
            everything += file.read_bytes().decode(errors="replace")
    assert secret not in everything


def test_every_option_and_command_is_documented(maxkernel):
    page = (ROOT / "docs" / "reference" / "cli.md").read_text()
    options = set(re.findall(r"^  (?:-h,)?(--[a-z-]+)", maxkernel("optimize", "--help").out, re.MULTILINE)) - {"--help", "--quiet", "--runner"}
    assert len(options) > 20
    for option in sorted(options):
        key = option[2:].replace("llm-", "llm.").replace("-", "_")
        assert option in page or f"`{key}`" in page, option
    for command in COMMANDS[1:]:
        assert command.split()[-1] in page, command
