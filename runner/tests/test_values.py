"""Comparison, tolerances, arrays on disk, trees, framing."""

import json
import os

import ml_dtypes
import numpy as np
import pytest

from maxkernel_runner import arrays, compare, protocol, signature, tolerance, trees

EXACT = {"atol": 0.0, "rtol": 0.0}
LOOSE = {"atol": 1e-3, "rtol": 1e-3}


def f32(*values):
    return np.array(values, np.float32)


class TestCompare:
    def test_equal_is_good_without_tolerance(self):
        assert compare.compare(f32(1, 2), f32(1, 2), EXACT).good

    def test_message_names_the_first_bad_index_and_both_values(self):
        outcome = compare.compare(f32(1, 2, 9, 7), f32(1, 2, 3, 4), LOOSE, "output['a']")
        assert not outcome.good and outcome.bad == 2
        assert "output['a']: 2 of 4 elements" in outcome.message
        assert "first at [2]: got 9, expected 3" in outcome.message
        assert outcome.max_abs_error == 6.0

    @pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
    def test_what_is_not_finite_proves_nothing(self, value):
        outcome = compare.compare(f32(value, 1), f32(1, 1), {"atol": 1e30, "rtol": 1e30})
        assert not outcome.good and "1 elements are not finite" in outcome.message

    def test_infinity_must_be_the_same_infinity(self):
        assert compare.compare(f32(np.inf, np.nan), f32(np.inf, np.nan), EXACT).good
        assert not compare.compare(f32(-np.inf), f32(np.inf), LOOSE).good
        assert not compare.compare(f32(1.0), f32(np.inf), LOOSE).good
        assert not compare.compare(f32(1.0), f32(np.nan), LOOSE).good

    def test_relative_allowance_of_a_huge_value_does_not_admit_infinity(self):
        assert not compare.compare(f32(np.inf), f32(3e38), {"atol": 0.0, "rtol": 1e300}).good

    @pytest.mark.parametrize("actual", [np.ones((2,), np.float32), np.ones((1, 3), np.float32), np.ones((3,), np.float64),
                                        np.ones((3,), ml_dtypes.bfloat16)])
    def test_shape_and_dtype_come_before_arithmetic(self, actual):
        assert not compare.compare(actual, np.ones((3,), np.float32), LOOSE).good

    def test_narrow_types(self):
        one = np.ones(4, ml_dtypes.bfloat16)
        assert compare.compare(one, one.copy(), EXACT).good
        assert not compare.compare(one + one, one, LOOSE).good

    def test_integers_do_not_wrap(self):
        outcome = compare.compare(np.array([0], np.uint8), np.array([255], np.uint8), EXACT)
        assert not outcome.good and outcome.max_abs_error == 255

    def test_large_integers_that_float64_cannot_tell_apart(self):
        assert not compare.compare(np.array([2**60 + 1]), np.array([2**60]), EXACT).good

    def test_sets_compare_sorted_along_the_last_axis_only(self):
        expected = np.array([[1, 2], [3, 4]], np.int32)
        assert compare.compare(expected[:, ::-1], expected, EXACT, order="sorted_last_axis").good
        assert not compare.compare(expected[:, ::-1], expected, EXACT).good
        assert not compare.compare(expected[::-1], expected, EXACT, order="sorted_last_axis").good

    def test_number_of_outputs(self):
        assert not compare.compare_all([f32(1)], [f32(1), f32(1)], [EXACT] * 2, ["", ""]).good

    def test_each_output_has_its_own_tolerance(self):
        got, want = [f32(1.0005), f32(1.0005)], [f32(1), f32(1)]
        outcome = compare.compare_all(got, want, [LOOSE, EXACT], ["[0]", "[1]"])
        assert not outcome.good and outcome.message.startswith("output[1]") and outcome.bad == 1

    def test_empty_arrays_and_scalars(self):
        assert compare.compare(np.zeros((0, 3), np.float32), np.zeros((0, 3), np.float32), EXACT).good
        assert not compare.compare(np.float32(1).reshape(()), np.float32(2).reshape(()), EXACT).good


class TestTolerance:
    def test_integers_are_exact(self):
        assert tolerance.derive(np.arange(3), None) == EXACT

    def test_grows_with_the_references_own_error(self):
        exact = np.linspace(1, 2, 100)
        near = tolerance.derive(exact.astype(np.float32), exact)
        far = tolerance.derive((exact + 1e-3).astype(np.float32), exact)
        assert far["atol"] == pytest.approx(8e-3, rel=1e-3) and near["atol"] < 1e-5 and near["rtol"] == far["rtol"]

    @pytest.mark.parametrize("dtype, lower", [(np.float32, ml_dtypes.bfloat16), (ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn)])
    def test_the_next_lower_precision_is_outside(self, dtype, lower):
        exact = np.random.default_rng(0).standard_normal(1000)
        output = exact.astype(dtype)
        allowed = tolerance.derive(output, exact)
        assert compare.compare(output, exact.astype(dtype), allowed).good
        assert not compare.compare(output.astype(lower).astype(dtype), output, allowed).good

    def test_spread(self):
        values = np.random.default_rng(0).standard_normal(1000).astype(np.float32)
        assert tolerance.spread({"atol": 1e-5, "rtol": 1e-5}, values) > 1e4
        assert tolerance.spread({"atol": 1.0, "rtol": 0.0}, values) == pytest.approx(1.0, rel=0.1)
        assert tolerance.spread({"atol": 1e-3, "rtol": 0.0}, np.full(10, 5.0, np.float32)) == 0.0


class TestArrays:
    @pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float8_e4m3fn", "int4", "int8", "bool", "uint32", "complex64"])
    def test_round_trip_keeps_type_and_bits(self, tmp_path, dtype):
        leaf = np.arange(6).reshape(2, 3).astype(arrays.dtype(dtype))
        arrays.save(tmp_path / "a.npz", [leaf, None, leaf[:, ::-1], leaf[0, 1]])
        first, nothing, reversed_, scalar = arrays.load(tmp_path / "a.npz")
        assert nothing is None and first.dtype == leaf.dtype and scalar.shape == ()
        assert first.tobytes() == leaf.tobytes() and reversed_.tobytes() == np.ascontiguousarray(leaf[:, ::-1]).tobytes()

    def test_bytes_of_narrow_types_are_those_on_the_chip(self):
        assert arrays.nbytes({"shape": [8], "dtype": "int4"}) == 4
        assert arrays.nbytes({"shape": [8], "dtype": "bfloat16"}) == 16


class TestTrees:
    @pytest.mark.parametrize("value", [1, (1,), (1, [2, None]), {"b": 1, "a": (2, 3)}, ()])
    def test_round_trip(self, value):
        node, leaves, paths = trees.flatten(value)
        assert trees.unflatten(json.loads(json.dumps(node)), leaves) == value and len(paths) == len(leaves)

    def test_paths_and_order(self):
        assert trees.flatten({"b": 1, "a": (2, 3)})[1:] == ([2, 3, 1], ["['a'][0]", "['a'][1]", "['b']"])

    def test_keys_that_json_would_change(self):
        with pytest.raises(trees.UnsupportedTree, match="key 1"):
            trees.flatten({1: 2})

    def test_too_many_leaves(self):
        with pytest.raises(ValueError):
            trees.unflatten({"kind": "tuple", "children": [{"kind": "leaf"}]}, [1, 2])


class TestStaticArguments:
    @pytest.mark.parametrize("value", [None, True, 3, 2.5, float("inf"), "text", (1, ("a", 2.0)), np.dtype("bfloat16")])
    def test_round_trip(self, value):
        assert signature.decode_static(json.loads(json.dumps(signature.encode_static(value)))) == value

    def test_scalar_types(self):
        import jax.numpy as jnp

        assert signature.decode_static(signature.encode_static(jnp.bfloat16)) is jnp.bfloat16
        assert signature.decode_static(signature.encode_static(np.float32)) is jnp.float32

    def test_what_needs_code_is_refused(self):
        with pytest.raises(ValueError, match="function"):
            signature.encode_static(len.__class__ and (lambda: 0))


class TestFraming:
    def test_round_trip_over_a_pipe(self):
        read, write = os.pipe()
        protocol.write_frame(write, {"kind": "progress", "message": "é" * 1000})
        assert protocol.read_frame(read, 1 << 20)["message"] == "é" * 1000

    def test_a_frame_over_the_limit_is_refused_before_it_is_read(self):
        read, write = os.pipe()
        os.write(write, b"\x7f\xff\xff\xff")
        with pytest.raises(protocol.ProtocolError, match="over the limit"):
            protocol.read_frame(read, 1000)

    def test_a_stream_that_ends_inside_a_frame(self):
        read, write = os.pipe()
        os.write(write, b"\0\0\0\x09{")
        os.close(write)
        with pytest.raises(protocol.ProtocolError, match="ended inside"):
            protocol.read_frame(read, 1000)

    def test_limits_of_a_result(self):
        result = protocol.Result(diagnostics=[protocol.Diagnostic("x" * 9000)] * 99, facts={"a": float("nan"), "b": "y" * 999, "c": True})
        value = result.as_json("test")
        assert len(value["diagnostics"]) == 50 and len(value["diagnostics"][0]["message"]) <= 4000
        assert set(value["facts"]) == {"b", "c"} and len(value["facts"]["b"]) <= 200
        json.dumps(value, allow_nan=False)

    @pytest.mark.parametrize("value, message", [
        ([], "JSON object"), ({"protocol": 2, "role": "test"}, "protocol 2"), ({"protocol": 1, "role": "dance"}, "unknown role 'dance'"),
    ])
    def test_bad_jobs(self, value, message):
        with pytest.raises(protocol.ProtocolError, match=message):
            protocol.Job(value)

    def test_a_missing_field_is_named(self):
        with pytest.raises(protocol.ProtocolError, match="'seed'"):
            protocol.Job({"protocol": 1, "role": "reference"}).need("seed", int)
