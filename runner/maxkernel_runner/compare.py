"""Compares outputs with the reference's, element by element. Counts what is proved good, so that NaN proves nothing."""

import dataclasses

import numpy as np


@dataclasses.dataclass
class Comparison:
    good: bool
    message: str = ""
    max_abs_error: float = 0.0
    max_rel_error: float = 0.0
    bad: int = 0


def compare_all(got, expected, tolerances, paths, order="exact_order"):
    """Over all leaves: the first bad one's message, the largest errors of all."""
    if len(got) != len(expected):
        return Comparison(False, f"{len(got)} outputs, expected {len(expected)}")
    total = Comparison(True)
    for actual, wanted, tolerance, path in zip(got, expected, tolerances, paths):
        one = compare(np.asarray(actual), np.asarray(wanted), tolerance, f"output{path}", order)
        total.max_abs_error = max(total.max_abs_error, one.max_abs_error)
        total.max_rel_error = max(total.max_rel_error, one.max_rel_error)
        total.bad += one.bad
        if total.good and not one.good:
            total.good, total.message = False, one.message
    return total


def compare(actual, expected, tolerance, name="output", order="exact_order"):
    if actual.shape != expected.shape or actual.dtype != expected.dtype:
        return Comparison(False, f"{name} is {actual.dtype}{list(actual.shape)}, expected {expected.dtype}{list(expected.shape)}",
                          bad=expected.size)
    if expected.size == 0:
        return Comparison(True)
    if order == "sorted_last_axis" and expected.ndim:
        actual, expected = np.sort(actual, axis=-1), np.sort(expected, axis=-1)
    actual, expected = _wide(actual), _wide(expected)
    with np.errstate(all="ignore"):
        error = np.abs(actual - expected)
        magnitude = np.abs(expected)
        finite = np.isfinite(expected)
        good = np.where(finite, error <= tolerance["atol"] + tolerance["rtol"] * magnitude,
                        (actual == expected) | (np.isnan(actual) & np.isnan(expected)))
        # An infinite result has an infinite error, and inf <= inf where the allowance overflows.
        good &= np.isfinite(actual) == finite
        relative = error / np.maximum(magnitude, np.finfo(np.float64).tiny)
    both = finite & np.isfinite(actual)
    result = Comparison(bool(good.all()), max_abs_error=_largest(error, both), max_rel_error=_largest(relative, both & (magnitude > 0)))
    if not result.good:
        result.bad = int(good.size - np.count_nonzero(good))
        result.message = _message(name, actual, expected, good, result, tolerance, both)
    return result


def _wide(array):
    if array.dtype == np.bool_:
        return array.astype(np.float64)
    if array.dtype.kind in "iu":
        # Exact below 2**53; the differences of larger ones are of no use as numbers but still differ from zero.
        return array.astype(np.longdouble) if array.dtype.itemsize == 8 else array.astype(np.float64)
    if array.dtype.kind == "c":
        return array.astype(np.complex128)
    return array.astype(np.float64)


def _largest(values, where):
    return float(np.max(values, where=where, initial=0.0))


def _message(name, actual, expected, good, result, tolerance, both):
    index = tuple(int(i) for i in np.unravel_index(int(np.argmin(good)), good.shape))
    text = (f"{name}: {result.bad} of {good.size} elements are wrong; first at {list(index)}: got {_show(actual[index])}, "
            f"expected {_show(expected[index])}; largest error {result.max_abs_error:.3g} "
            f"(allowed {tolerance['atol']:.3g} + {tolerance['rtol']:.3g} * |expected|)")
    lost = int(np.count_nonzero(~np.isfinite(actual) & np.isfinite(expected)))
    if lost:
        text += f"; {lost} elements are not finite where the reference is"
        unwritten = int(np.count_nonzero(np.isnan(actual) & np.isfinite(expected)))
        if unwritten:
            text += " (NaN also marks output that was never written)"
    return text


def _show(value):
    if np.iscomplexobj(value):
        return str(complex(value))
    return f"{float(value):.9g}"
