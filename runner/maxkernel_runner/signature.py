"""signature.json: what each case's computation takes and gives, without anything that depends on the seed."""

import json
import os

from maxkernel_runner import arrays
from maxkernel_runner.diagnostics import InfraFault

FILE = "signature.json"
VERSION = 1


def write(folder, cases, **common):
    """`cases`: name -> case_entry(...)."""
    with open(os.path.join(folder, FILE), "w", encoding="utf-8") as file:
        json.dump({"version": VERSION, "cases": cases, **common}, file, indent=1)


def read(folder):
    path = os.path.join(folder, FILE)
    try:
        with open(path, encoding="utf-8") as file:
            value = json.load(file)
    except (OSError, ValueError) as error:
        raise InfraFault(f"cannot read {path}: {error}") from error
    if value.get("version") != VERSION:
        raise InfraFault(f"{path} has version {value.get('version')!r}, expected {VERSION}")
    return value


def expand(job_cases, count):
    """A case with `all_cases` stands for as many as there are input sets: case_0, case_1, ... with their index as parameter."""
    expanded = []
    for case in job_cases:
        if not case.get("all_cases"):
            expanded.append(case)
            continue
        plain = {key: value for key, value in case.items() if key != "all_cases"}
        expanded.extend({**plain, "name": f"case_{index}", "params": {"index": index}} for index in range(count))
    return expanded


def select(signature, job_cases):
    """(case, its entry) of a job's cases, in the job's order."""
    chosen = []
    for case in expand(job_cases, len(signature["cases"])):
        entry = signature["cases"].get(case["name"])
        if entry is None:
            raise InfraFault(f"{FILE} has no case {case['name']!r}; it has {', '.join(signature['cases'])}")
        chosen.append((case, entry))
    return chosen


def encode_static(value):
    """A static argument as JSON. Raises ValueError for what cannot be rebuilt without code."""
    import numpy as np

    if value is None or isinstance(value, (bool, int, float, str)):
        if isinstance(value, float) and not np.isfinite(value):
            return {"float": repr(value)}
        return value
    if isinstance(value, tuple):
        return {"tuple": [encode_static(item) for item in value]}
    if isinstance(value, np.dtype):
        return {"dtype": value.name}
    if isinstance(value, np.generic):
        return encode_static(value.item())
    if isinstance(value, type) and issubclass(value, np.generic):
        return {"scalar_type": np.dtype(value).name}
    name = getattr(value, "dtype", None)
    if isinstance(name, np.dtype) and getattr(value, "__module__", "").startswith("jax.numpy"):
        return {"scalar_type": name.name}
    raise ValueError(f"a static argument of type {type(value).__name__} ({value!r}); allowed are None, bool, int, float, str, "
                     "dtypes and tuples of these")


def decode_static(value):
    if not isinstance(value, dict):
        return value
    if "tuple" in value:
        return tuple(decode_static(item) for item in value["tuple"])
    if "float" in value:
        return float(value["float"])
    if "dtype" in value:
        return arrays.dtype(value["dtype"])
    import jax.numpy as jnp

    return getattr(jnp, value["scalar_type"].replace("bool", "bool_"))


def shapes(entries):
    import jax

    return [jax.ShapeDtypeStruct(tuple(entry["shape"]), arrays.dtype(entry["dtype"])) for entry in entries]


def describe(entry):
    return f"{entry['dtype']}[{','.join(str(n) for n in entry['shape'])}]"
