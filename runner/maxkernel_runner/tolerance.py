"""Tolerances that a task leaves out, from the reference's own error against an oracle in wider arithmetic.

Per output, with `eps` the spacing of its type at one, `error` the largest difference between reference and oracle beyond the
rounding of the result itself (eps/2 * |oracle|), and `scale` the root mean square of the oracle:

    rtol = 4 * eps              for 16 bits and fewer;  16 * eps for 32 bits
    atol = max(8 * error, rtol * scale / 4)

Integers and booleans must agree exactly. Eight times the reference's own error leaves room for another order of summation;
arithmetic in the next lower precision is wrong by more.
"""

import ml_dtypes
import numpy as np

ERROR_MULTIPLE = 8


def eps(dtype):
    return float(ml_dtypes.finfo(dtype).eps)


def is_float(dtype):
    return np.dtype(dtype).kind == "f" or (np.dtype(dtype).kind == "V" and hasattr(ml_dtypes, np.dtype(dtype).name))


def derive(output, oracle):
    """`oracle`: the same output in wider arithmetic, or None if there is none."""
    if not is_float(output.dtype) and output.dtype.kind != "c":
        return {"atol": 0.0, "rtol": 0.0}
    wide = np.complex128 if output.dtype.kind == "c" else np.float64
    spacing = eps(output.dtype if output.dtype.kind != "c" else np.float32)
    rtol = (16 if output.dtype.itemsize >= 4 else 4) * spacing
    exact = output.astype(wide) if oracle is None else np.asarray(oracle).astype(wide)
    finite = np.isfinite(exact)
    if not finite.any():
        return {"atol": 0.0, "rtol": rtol}
    scale = float(np.sqrt(np.mean(np.abs(exact[finite]) ** 2)))
    error = np.maximum(np.abs(output.astype(wide) - exact)[finite] - spacing / 2 * np.abs(exact[finite]), 0.0)
    error = float(np.max(error, where=np.isfinite(error), initial=0.0))
    return {"atol": max(ERROR_MULTIPLE * error, rtol * scale / 4), "rtol": rtol}


def spread(tolerance, output):
    """How many times the allowance at the mean magnitude fits into the output's standard deviation; small is vacuous."""
    if not is_float(output.dtype):
        return float("inf")
    values = output.astype(np.float64)
    values = values[np.isfinite(values)]
    if not values.size:
        return 0.0
    allowance = tolerance["atol"] + tolerance["rtol"] * float(np.mean(np.abs(values)))
    return float(np.std(values)) / allowance if allowance else float("inf")
