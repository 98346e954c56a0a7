"""What the engine and the daemon cost beyond the work that they carry: one table from the two programs that measure them."""

import argparse
import json
import pathlib
import subprocess
import tempfile

REPOSITORY = pathlib.Path(__file__).resolve().parents[3]
BUILD = REPOSITORY / "build" / "release"
PROGRAMS = ("engine", "evald")


def rows_of(name, folder):
    result = pathlib.Path(folder) / f"{name}.json"
    program = BUILD / "tests" / "benchmark" / name / f"{name}_benchmark"
    subprocess.run([program, "--json", result], check=True, cwd=BUILD)
    return json.loads(result.read_text(encoding="utf-8"))["rows"]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", required=True, type=pathlib.Path, help="where the rows go")
    arguments = parser.parse_args()
    targets = [f"{name}_benchmark" for name in PROGRAMS]
    subprocess.run(["cmake", "--build", BUILD, "--target", *targets], check=True, stdout=subprocess.DEVNULL)
    with tempfile.TemporaryDirectory() as folder:
        rows = [row for name in PROGRAMS for row in rows_of(name, folder)]
    arguments.json.write_text(json.dumps({"rows": rows}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
