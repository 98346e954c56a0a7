"""Prints the rows of a benchmark's result file as a table; fails if the file is not of the documented form.

A bare list of rows is put into the documented object.
"""

import json
import pathlib
import sys

FIELDS = ("metric", "value", "unit", "peer", "peer_value", "ratio")


def cell(value):
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.4g}" if abs(value) < 1e5 else f"{value:,.0f}"
    return str(value)


def read_rows(path):
    content = json.loads(path.read_text())
    if isinstance(content, list):
        content = {"rows": content}
        path.write_text(json.dumps(content, indent=1) + "\n")
    rows = content["rows"]
    if not rows:
        sys.exit(f"{path}: no rows")
    for index, row in enumerate(rows):
        unknown, missing = set(row) - set(FIELDS), {"metric", "value", "unit"} - set(row)
        if unknown or missing:
            sys.exit(f"{path}: row {index}: unknown fields {sorted(unknown)}, missing fields {sorted(missing)}")
    return rows


def main(path):
    rows = read_rows(pathlib.Path(path))
    table = [FIELDS] + [tuple(cell(row.get(field)) for field in FIELDS) for row in rows]
    widths = [max(len(line[column]) for line in table) for column in range(len(FIELDS))]
    for line in table:
        print("  ".join(text.ljust(width) for text, width in zip(line, widths)).rstrip())


if __name__ == "__main__":
    main(sys.argv[1])
