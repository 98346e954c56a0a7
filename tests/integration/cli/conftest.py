import json
import os
import pathlib
import shutil
import subprocess
import sqlite3
import textwrap

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]
HERE = pathlib.Path(__file__).resolve().parent
BUILD = pathlib.Path(os.environ.get("MAXKERNEL_BUILD", ROOT / "build" / "release"))
COMMAND = BUILD / "tools" / "maxkernel" / "maxkernel"
DAEMON = BUILD / "tools" / "evald" / "maxkernel-evald"


class Outcome:
    def __init__(self, code, out, err):
        self.code = code
        self.out = out
        self.err = err

    def __repr__(self):
        return f"exit {self.code}\n--- stdout\n{self.out}\n--- stderr\n{self.err}"


class Maxkernel:
    """Runs the command in a folder of its own, with a runner that needs no JAX unless asked otherwise."""

    def __init__(self, folder, runner):
        self.folder = folder
        self.runner = runner

    def environment(self):
        environment = {key: value for key, value in os.environ.items() if not key.startswith("MAXKERNEL_") or key == "MAXKERNEL_PYTHON"}
        if self.runner is not None:
            environment["MAXKERNEL_RUNNER"] = str(self.runner)
            environment["MAXKERNEL_PYTHON"] = "/usr/bin/python3"
        return environment

    def start(self, *arguments, environment=None):
        return subprocess.Popen([str(COMMAND), *map(str, arguments)], cwd=self.folder, env={**self.environment(), **(environment or {})},
                                text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def __call__(self, *arguments, environment=None, timeout=120):
        process = self.start(*arguments, environment=environment)
        try:
            out, err = process.communicate(timeout=timeout)
        finally:
            process.kill()
        return Outcome(process.returncode, out, err)


@pytest.fixture
def maxkernel(tmp_path):
    return Maxkernel(tmp_path, HERE / "tuning_runner")


@pytest.fixture
def real_maxkernel(tmp_path):
    """With the real runner and JAX."""
    return Maxkernel(tmp_path, None)


def write_task(folder, name="tuned", yaml=None, baseline=None, reference="def computation(x):\n    return x\n", inputs=None):
    path = folder / name
    path.mkdir(parents=True)
    (path / "task.yaml").write_text(textwrap.dedent(yaml) if yaml is not None else textwrap.dedent(f"""\
        name: {name}
        description: A task for tests.
        chip: v6e
        fidelity: {{valid: [interpret], score: estimate}}
        tolerance: {{atol: 1.0e-5, rtol: 1.0e-5}}
        cases:
          - name: only
            params: {{}}
        """))
    (path / "reference.py").write_text(reference)
    (path / "inputs.py").write_text(inputs or "def get_inputs(rng):\n    return (rng.standard_normal(4),), ()\n")
    (path / "baseline.py").write_text(baseline or textwrap.dedent("""\
        BLOCK_M = 8  # tunable: 8, 16, 32, 64
        BLOCK_N = 16  # tunable: 16, 64, 128


        def computation(x):
            return x
        """))
    return path


@pytest.fixture
def task(tmp_path):
    return write_task(tmp_path)


def journal_events(run):
    """(kind, body) of every event of a run, read without the command."""
    connection = sqlite3.connect(f"file:{run / 'run.db'}?mode=ro", uri=True)
    try:
        return [json.loads(row[0]) for row in connection.execute("SELECT json FROM event ORDER BY sequence")]
    finally:
        connection.close()


def mount_tmpfs(path, options):
    """Mounts a small file system, or skips where that is not allowed."""
    path.mkdir()
    if os.getuid() != 0 or shutil.which("mount") is None:
        pytest.skip("needs root to mount a file system")
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(path)], capture_output=True, text=True)
    if mounted.returncode != 0:
        pytest.skip(f"cannot mount a file system: {mounted.stderr.strip()}")


@pytest.fixture
def small_disk(tmp_path):
    path = tmp_path / "disk"
    mount_tmpfs(path, "size=3m")
    yield path
    subprocess.run(["umount", "-l", str(path)], check=True)


@pytest.fixture
def read_only_disk(tmp_path):
    path = tmp_path / "disk"
    mount_tmpfs(path, "size=1m,ro")
    yield path
    subprocess.run(["umount", "-l", str(path)], check=True)
