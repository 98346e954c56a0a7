"""The entry point: results, reasons, and what a candidate cannot influence."""

import json
import time

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import export
from jax.experimental import pallas as pl

import estimate_kernels as kernels
from estimate_kernels import BF16, F32, I32, estimate, exported, hardware, run, shape


@pytest.mark.parametrize("data", [b"", b"not a module at all", b"ML\xefR" + b"\0" * 64, b"\0" * 4096])
def test_bytes_that_are_no_module_raise(data):
  with pytest.raises(ValueError, match="not a"):
    estimate(data, hardware=hardware("v5e"))


def test_a_truncated_module_raises():
  call, arguments = kernels.matmul()
  data = exported(call, *arguments)
  with pytest.raises(ValueError):
    estimate(data[:len(data) // 2], hardware=hardware("v5e"))


def test_the_result_has_every_documented_field_and_is_json():
  call, arguments = kernels.matmul()
  result = run(call, *arguments)
  assert set(result) == {"time_s", "low_s", "high_s", "absent", "flags", "model_version", "kernels", "facts"}
  assert set(result["kernels"][0]) == {"name", "steps", "time_s", "bytes", "flops", "vmem_bytes", "bound_by"}
  assert result["low_s"] < result["time_s"] < result["high_s"] and result["absent"] == "" and result["model_version"] == "1"
  assert result["kernels"][0]["flops"] == 2 * 1024**3
  assert result["kernels"][0]["bound_by"] in ("matrix", "vector", "memory", "overhead")
  assert json.loads(json.dumps(result)) == result
  assert all(isinstance(v, (int, float)) for v in result["facts"].values())


def test_a_portable_artifact_gives_the_same_as_the_exported_module():
  call, arguments = kernels.matmul()
  module = export.export(jax.jit(call), platforms=["tpu"])(*arguments)
  whole = estimate(module.serialize(), hardware=hardware("v5e"))
  artifact = estimate(module.mlir_module_serialized, hardware=hardware("v5e"))
  assert whole == artifact


def test_an_argument_that_the_module_dropped_keeps_its_place():
  call, arguments = kernels.grouped()
  dropping = lambda unused, groups, x, w: call(groups, x, w)
  values = [None, np.zeros(8, np.int32), None, None]
  assert run(dropping, shape(3, dtype=F32), *arguments, values=values)["time_s"] > 0


def test_a_wrong_number_of_arguments_is_named():
  call, arguments = kernels.matmul()
  result = run(call, *arguments, values=[None])
  assert result["time_s"] is None and "expected 2 entries" in result["absent"]


def test_hardware_without_a_figure_is_absent_with_the_field():
  call, arguments = kernels.matmul()
  broken = {"chip": {"name": "v9", "generation": 9, "tensorcores_per_chip": 1, "devices_per_chip": 1}, "common": {}}
  result = estimate(exported(call, *arguments), hardware=broken)
  assert result["time_s"] is None and "v9 mxu: field size" in result["absent"]


def test_a_claimed_cost_changes_nothing():
  honest, arguments = kernels.matmul()
  lying, _ = kernels.matmul(cost_estimate=pl.CostEstimate(flops=1, bytes_accessed=1, transcendentals=0), name="body",
                            metadata={"time_s": "1e-12"})
  strip = lambda result: {k: v for k, v in result.items() if k != "kernels"} | {"kernels": [{**k, "name": ""} for k in result["kernels"]]}
  assert strip(run(honest, *arguments)) == strip(run(lying, *arguments))


def test_larger_tiles_and_less_work_are_faster():
  times = [run(*_flat(kernels.matmul(m=2048, k=2048, n=2048, bm=b, bk=b, bn=b)))["time_s"] for b in (128, 256, 512)]
  assert times[0] > times[1] > times[2]
  causal, full = (run(*_flat(kernels.causal_attention(length=4096, block=1024, skip=skip)))["time_s"] for skip in (True, False))
  assert causal < full


def _flat(pair):
  return (pair[0], *pair[1])


def test_published_times_of_a_plain_matmul_on_v5e():
  """Documentation of jax (Pallas TPU matmul), host wall clock on v5e, which adds about 0.1 ms: 8192 cubed, 91.8 ms in tiles of 128 and
  6.10 ms in tiles of (512, 1024, 1024)."""
  small = run(*_flat(kernels.matmul(8192, 8192, 8192, 128, 128, 128)))
  large = run(*_flat(kernels.matmul(8192, 8192, 8192, 512, 1024, 1024)))
  per_step = small["kernels"][0]["time_s"] / 64**3
  assert per_step == pytest.approx(0.350e-6, rel=0.15)
  assert large["time_s"] == pytest.approx(6.10e-3, rel=0.10)


def test_a_published_pair_of_a_grouped_matmul_keeps_its_order():
  """JAXBench on v6e: tiles of (128, 512, 512) take 2.79 times as long as (256, 1024, 1024) for a grouped matmul."""
  from jax.experimental.pallas.ops.tpu.megablox.gmm import gmm

  groups = np.full(64, 256, np.int32)

  def timed(tiling):
    return run(lambda x, w, g: gmm(x, w, g, preferred_element_type=BF16, tiling=tiling), shape(16384, 4096), shape(64, 4096, 2048),
               shape(64, dtype=I32), values=[None, None, groups], on="v6e")["time_s"]

  assert timed((128, 512, 512)) > 2 * timed((256, 1024, 1024))


def test_plain_jax_is_estimated_and_labelled_a_guess():
  def layer(x, w):
    return jax.nn.gelu(x @ w)

  result = run(layer, shape(1024, 1024), shape(1024, 4096))
  assert result["kernels"] == [] and "xla_guess" in result["flags"]
  assert result["facts"]["flops"] == 2 * 1024 * 1024 * 4096
  assert result["time_s"] >= result["facts"]["floor_s"]


def test_an_epilogue_is_fused_into_its_matmul_but_a_reduction_is_not():
  plain = run(lambda x, w: x @ w, shape(1024, 1024), shape(1024, 4096))
  fused = run(lambda x, w: jax.nn.relu(x @ w), shape(1024, 1024), shape(1024, 4096))
  softmax = run(lambda x, w: jax.nn.softmax(x @ w), shape(1024, 1024), shape(1024, 4096))
  assert fused["facts"]["hbm_bytes"] == plain["facts"]["hbm_bytes"]
  assert softmax["facts"]["hbm_bytes"] > plain["facts"]["hbm_bytes"] + 1024 * 4096 * 2 * 2


def test_work_pushed_outside_the_kernel_is_paid():
  call, arguments = kernels.matmul()
  inside = run(call, *arguments)
  around = run(lambda x, y: call(jnp.transpose(x), y).T, *arguments)
  assert around["time_s"] > inside["time_s"] + 2 * 2 * 1024 * 1024 * 2 / 820e9
  assert around["facts"]["xla_s"] > 0 and inside["facts"]["xla_s"] == 0


def test_a_transpose_that_is_undone_is_free():
  call, arguments = kernels.matmul()
  assert run(lambda x, y: call(x.T.T, y), *arguments)["time_s"] == run(call, *arguments)["time_s"]


def test_chained_transposes_are_one_copy():
  call, _ = kernels.elementwise(lambda x: x * 2, rows=2048, columns=1024, block=256)
  once = run(lambda x: call(x.transpose(1, 2, 0).reshape(2048, 1024)), shape(1024, 8, 256, dtype=F32))
  twice = run(lambda x: call(x.transpose(0, 2, 1).transpose(2, 1, 0).reshape(2048, 1024)), shape(1024, 8, 256, dtype=F32))
  assert twice["facts"]["xla_operations"] == once["facts"]["xla_operations"]


def test_a_loop_without_a_known_length_is_absent():
  loop = lambda x, n: jax.lax.while_loop(lambda s: s[0] < n, lambda s: (s[0] + 1, s[1] @ s[1]), (0, x))[1]
  result = run(loop, shape(256, 256), jax.ShapeDtypeStruct((), I32))
  assert result["time_s"] is None and "length that is not a constant" in result["absent"]


@pytest.mark.parametrize("function, name", [(jnp.linalg.cholesky, "cholesky"), (lambda x: jnp.fft.rfft(x).real, "fft")])
def test_sequential_algorithms_are_absent_with_their_name(function, name):
  result = run(function, shape(128, 128, dtype=F32))
  assert result["time_s"] is None and f"stablehlo.{name}, which has no model" in result["absent"]


def test_a_composite_is_what_it_is_composed_of():
  result = run(lambda x, w, g: jax.lax.ragged_dot(x, w, g), shape(1024, 256), shape(4, 256, 256), shape(4, dtype=I32))
  assert result["facts"]["flops"] >= 2 * 1024 * 256 * 256


def test_counters_of_a_loop_cost_nothing():
  repeated = lambda x: jax.lax.fori_loop(0, 10, lambda _, c: jnp.tanh(c @ c), x)
  assert run(repeated, shape(512, 512))["facts"]["xla_operations"] == 10


def test_calls_without_a_model_are_absent_with_their_name():
  result = run(lambda x: jnp.linalg.qr(x)[0], shape(128, 128, dtype=F32))
  assert result["time_s"] is None and "has no model" in result["absent"]


def test_candidate_bytes_in_the_kernel_body_are_an_absent_not_a_crash():
  call, arguments = kernels.matmul()
  module = export.export(jax.jit(call), platforms=["tpu"])(*arguments)
  text = module.mlir_module()
  start = text.index("body\\22: \\22") + len("body\\22: \\22")
  broken = text[:start] + "AAAA" + text[start + 4:]
  from jaxlib.mlir import ir
  from jaxlib.mlir.dialects import stablehlo
  from jax._src.interpreters import mlir

  context = mlir.make_ir_context()
  with context:
    artifact = stablehlo.serialize_portable_artifact(ir.Module.parse(broken), stablehlo.get_current_version())
  result = estimate(artifact, hardware=hardware("v5e"))
  assert result["time_s"] is None and "not a Mosaic module" in result["absent"]


def test_the_estimate_is_deterministic_and_fast():
  call, arguments = kernels.causal_attention(length=8192, block=256)
  data = exported(call, *arguments)
  first = estimate(data, hardware=hardware("v6e"))
  start = time.process_time()
  assert estimate(data, hardware=hardware("v6e")) == first
  assert time.process_time() - start < 1.0
