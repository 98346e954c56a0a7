"""Arrays on disk. NumPy's own format forgets bfloat16 and its kin, so bytes are stored and the dtype is named beside them."""

import json
import os

import ml_dtypes  # noqa: F401  registers bfloat16 and the narrow types with NumPy
import numpy as np


def dtype(name):
    return np.dtype(getattr(ml_dtypes, name)) if hasattr(ml_dtypes, name) else np.dtype(name)


def spec(array):
    return {"shape": list(array.shape), "dtype": np.dtype(array.dtype).name}


def nbytes(entry):
    bits = {"int4": 4, "uint4": 4, "int2": 2, "uint2": 2, "float4_e2m1fn": 4}.get(entry["dtype"])
    count = int(np.prod(entry["shape"], dtype=np.int64))
    return (count * bits + 7) // 8 if bits else count * dtype(entry["dtype"]).itemsize


def save(path, leaves):
    """`leaves`: arrays, or None for one that is not kept."""
    kept = {str(i): np.asarray(leaf, order="C") for i, leaf in enumerate(leaves) if leaf is not None}
    header = {key: spec(array) for key, array in kept.items()}
    temporary = f"{path}.partial"
    with open(temporary, "wb") as file:
        np.savez(file, header=np.frombuffer(json.dumps({"count": len(leaves), "arrays": header}).encode(), np.uint8),
                 **{f"a{key}": array.reshape(-1).view(np.uint8) for key, array in kept.items()})
    os.replace(temporary, path)


def load(path):
    with np.load(path, allow_pickle=False) as file:
        header = json.loads(file["header"].tobytes())
        leaves = [None] * header["count"]
        for key, entry in header["arrays"].items():
            leaves[int(key)] = file[f"a{key}"].view(dtype(entry["dtype"])).reshape(entry["shape"])
    return leaves
