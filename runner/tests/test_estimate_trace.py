"""What the tracer counts in small exported kernels."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu
from jaxlib.mlir import ir

import estimate_kernels as kernels
from estimate_kernels import BF16, F32, I32, exported, run, shape
from maxkernel_runner.estimate import module as modules, report, trace
from maxkernel_runner.estimate.description import Dot, Work


def described(function, *arguments, values=None, on="v5e"):
  loaded = modules.load(exported(function, *arguments))
  with loaded.context, ir.Location.unknown():
    traced = report.trace_program(loaded, values or [None] * len(arguments), kernels.chip(on))
  assert not traced.high.absent, traced.high.absent
  return traced.high


def only_kernel(*arguments, **options):
  (kernel,) = described(*arguments, **options).kernels
  return kernel


def total(kernel, name):
  return float(np.sum(kernel.count * kernel.work.vector.get(name, 0.0)))


def test_matmul_steps_dots_and_blocks():
  call, arguments = kernels.matmul()
  kernel = only_kernel(call, *arguments)
  assert kernel.steps == 64
  assert {d: float(t.sum()) for d, t in kernel.work.dots.items()} == {Dot(256, 256, 256): 64.0}
  assert kernel.vmem.scratch == 256 * 256 * 4
  assert kernel.vmem.windows == 3 * 2 * 256 * 256 * 2
  block = 256 * 256 * 2
  assert kernel.first_bytes == 2 * block and kernel.last_bytes == block
  # Every step but the last fetches both blocks of the next; a result is written when its tile is left.
  assert float(kernel.fetch_bytes.sum()) == 63 * 2 * block
  assert float(kernel.write_bytes.sum()) == 15 * block


def test_conditions_on_grid_ids_are_evaluated_per_step():
  call, arguments = kernels.matmul()
  kernel = only_kernel(call, *arguments)
  accumulator = 256 * 256 / 1024
  # 64 accumulations, 16 initialisations, 16 packed stores of the result.
  assert total(kernel, "store") == (64 + 16) * accumulator + 16 * accumulator / 2
  assert total(kernel, "alu") == (64 + 16) * accumulator


def test_an_equal_block_is_fetched_once():
  call, arguments = kernels.matmul(bk=1024)
  kernel = only_kernel(call, *arguments)
  # The rows' block stays for four steps, the columns' block changes at each.
  assert float(kernel.fetch_bytes.sum()) == 256 * 1024 * 2 * (3 + 15)


def test_edge_blocks_move_clipped_bytes_but_compute_in_full():
  call, arguments = kernels.elementwise(lambda x: x + 1, rows=1000, columns=256, block=256)
  kernel = only_kernel(call, *arguments)
  assert kernel.steps == 4
  row = 256 * 4
  assert kernel.first_bytes + float(kernel.fetch_bytes.sum()) == 1000 * row
  assert float(kernel.write_bytes.sum()) + kernel.last_bytes == 1000 * row
  assert total(kernel, "alu") == 4 * 256 * 256 / 1024


def test_a_narrow_minor_dimension_moves_and_holds_whole_lanes():
  call, arguments = kernels.elementwise(lambda x: x + 1, rows=512, columns=64, block=128)
  kernel = only_kernel(call, *arguments)
  assert kernel.first_bytes == 128 * 128 * 4
  assert kernel.vmem.windows == 2 * 2 * 128 * 128 * 4


def doubled(in_spec, out_spec, grid, *sizes):
  def body(x, out):
    out[...] = x[...] * 2

  return pl.pallas_call(body, grid=grid, in_specs=[in_spec], out_specs=out_spec, out_shape=shape(*sizes, dtype=F32))


def test_windows_counted_in_elements_may_overlap():
  overlapping = pl.BlockSpec((pl.Element(128), pl.Element(256)), lambda i: (i * 64, 0))
  kernel = only_kernel(doubled(overlapping, pl.BlockSpec((128, 256), lambda i: (i, 0)), (4,), 512, 256), shape(512, 256, dtype=F32))
  assert kernel.first_bytes + float(kernel.fetch_bytes.sum()) == 4 * 128 * 256 * 4
  touching = pl.BlockSpec((pl.Element(128), pl.Element(256)), lambda i: (i // 2, 0))
  kernel = only_kernel(doubled(touching, pl.BlockSpec((128, 256), lambda i: (i, 0)), (4,), 512, 256), shape(512, 256, dtype=F32))
  assert kernel.first_bytes + float(kernel.fetch_bytes.sum()) == 2 * 128 * 256 * 4


def test_arrays_of_one_dimension():
  line = pl.BlockSpec((1024,), lambda i: (i,))
  kernel = only_kernel(doubled(line, line, (8,), 8192), shape(8192, dtype=F32))
  assert kernel.first_bytes + float(kernel.fetch_bytes.sum()) == 8192 * 4


def test_a_single_buffer_is_not_overlapped():
  def timed(buffers):
    spec = pl.BlockSpec((256, 1024), lambda i: (i, 0), pipeline_mode=pl.Buffered(buffers))
    return run(doubled(spec, pl.BlockSpec((256, 1024), lambda i: (i, 0)), (16,), 4096, 1024), shape(4096, 1024, dtype=F32))

  one, two = timed(1), timed(2)
  assert one["time_s"] > two["time_s"] and one["kernels"][0]["bytes"] == two["kernels"][0]["bytes"]
  assert one["kernels"][0]["vmem_bytes"] < two["kernels"][0]["vmem_bytes"]


def test_scalars_in_scalar_memory_are_known_without_prefetch():
  def body(length, x, out):
    out[...] = jax.lax.fori_loop(0, length[0], lambda _, value: value + 1.0, x[...])

  call = pl.pallas_call(body, in_specs=[pl.BlockSpec(memory_space=pltpu.SMEM), pl.BlockSpec(memory_space=pltpu.VMEM)],
                        out_shape=shape(8, 128, dtype=F32))
  arguments = shape(1, dtype=I32), shape(8, 128, dtype=F32)
  assert total(only_kernel(call, *arguments, values=[np.array([5], np.int32), None]), "alu") == 5
  assert "operand 0, which is in scalar memory" in run(call, *arguments)["absent"]


def test_only_parallel_dimensions_are_divided_between_cores():
  both, arguments = kernels.matmul()
  one, _ = kernels.matmul(semantics=("arbitrary", "arbitrary", "arbitrary"))
  assert only_kernel(both, *arguments, on="v5p").cores == 2
  assert only_kernel(one, *arguments, on="v5p").cores == 1
  assert only_kernel(both, *arguments, on="v5e").cores == 1
  halves = only_kernel(both, *arguments, on="v5p")
  assert list(np.bincount(halves.core)) == [32, 32]


def test_vmap_adds_a_parallel_dimension():
  call, _ = kernels.elementwise(lambda x: x * 2, rows=256, columns=256, block=128)
  kernel = only_kernel(jax.vmap(call), shape(6, 256, 256, dtype=F32), on="v5p")
  assert kernel.steps == 12 and kernel.cores == 2


def test_causal_blocks_above_the_diagonal_do_no_matmul():
  skipping, arguments = kernels.causal_attention()
  full, _ = kernels.causal_attention(skip=False)
  count = lambda call: sum(float(t.sum()) for t in only_kernel(call, *arguments).work.dots.values())
  assert count(full) == 2 * 16 and count(skipping) == 2 * 10


def test_attention_is_a_chain_and_keeps_its_scores():
  call, arguments = kernels.causal_attention()
  kernel = only_kernel(call, *arguments)
  assert kernel.chained and float(np.max(kernel.rounds)) == 1
  assert kernel.vmem.temporaries == 256 * 256 * (4 + 2)
  matmul, matmul_arguments = kernels.matmul()
  assert not only_kernel(matmul, *matmul_arguments).chained


def test_an_inner_loop_multiplies_its_body():
  def body(x, y, out):
    def step(i, total):
      return total + jnp.dot(x[:, pl.ds(pl.multiple_of(i * 128, 128), 128)], y[pl.ds(pl.multiple_of(i * 128, 128), 128), :],
                             preferred_element_type=F32)
    out[...] = jax.lax.fori_loop(0, 8, step, jnp.zeros((256, 256), F32)).astype(out.dtype)

  call = pl.pallas_call(body, out_shape=shape(256, 256))
  kernel = only_kernel(call, shape(256, 1024), shape(1024, 256))
  assert {d: float(t.sum()) for d, t in kernel.work.dots.items()} == {Dot(256, 128, 256): 8.0}


def test_a_loop_whose_length_depends_on_the_step_is_counted_per_step():
  def body(x, out):
    def step(_, value):
      return value + 1.0
    out[...] = jax.lax.fori_loop(0, pl.program_id(0), step, x[...])

  spec = pl.BlockSpec((8, 128), lambda i: (i, 0))
  kernel = only_kernel(pl.pallas_call(body, grid=(5,), in_specs=[spec], out_specs=spec, out_shape=shape(40, 128, dtype=F32)),
                       shape(40, 128, dtype=F32))
  assert list(kernel.work.vector["alu"]) == [0, 1, 2, 3, 4]


def test_a_while_loop_with_known_condition_is_walked():
  def body(x, out):
    def step(state):
      return state[0] * 2, state[1] + 1.0
    out[...] = jax.lax.while_loop(lambda state: state[0] < 100, step, (1, x[...]))[1]

  kernel = only_kernel(pl.pallas_call(body, out_shape=shape(8, 128, dtype=F32)), shape(8, 128, dtype=F32))
  assert total(kernel, "alu") == 7


def test_scalar_prefetch_values_decide_which_blocks_move():
  call, arguments = kernels.grouped()
  weights = 512 * 512 * 2
  fetched = lambda groups: float(only_kernel(call, *arguments, values=[np.array(groups, np.int32), None, None]).fetch_bytes.sum())
  rows = 7 * 128 * 512 * 2
  assert fetched([0] * 8) == rows
  assert fetched([0, 0, 0, 0, 1, 1, 1, 1]) == rows + weights
  assert fetched([0, 1, 2, 3, 0, 1, 2, 3]) == rows + 7 * weights


def test_missing_scalar_values_give_a_range_and_a_reason():
  call, arguments = kernels.grouped()
  missing = run(call, *arguments)
  assert missing["time_s"] is None and "scalar-prefetch operand 0" in missing["absent"] and "argument 0" in missing["absent"]
  best = run(call, *arguments, values=[np.zeros(8, np.int32), None, None])
  worst = run(call, *arguments, values=[np.arange(8, dtype=np.int32) % 4, None, None])
  assert missing["low_s"] <= best["time_s"] < worst["time_s"] <= missing["high_s"]


def test_scalar_values_are_computed_from_what_feeds_the_operand():
  call, arguments = kernels.grouped()

  def routed(sizes, x, w):
    ends = jnp.cumsum(sizes)
    return call(jnp.searchsorted(ends, jnp.arange(8, dtype=I32) * 128, side="right").astype(I32), x, w)

  kernel = only_kernel(routed, shape(4, dtype=I32), *arguments[1:], values=[np.array([512, 256, 128, 128], np.int32), None, None])
  assert float(kernel.fetch_bytes.sum()) == 7 * 128 * 512 * 2 + 3 * 512 * 512 * 2


def test_constant_scalars_need_no_values():
  call, arguments = kernels.grouped()
  constant = lambda x, w: call(jnp.array([0, 0, 1, 1, 2, 2, 3, 3], I32), x, w)
  assert run(constant, *arguments[1:])["time_s"] > 0


def test_a_dynamic_grid_takes_its_bound_from_values():
  def call(steps, x):
    def body(x, out):
      out[...] = x[...] + 1
    spec = pl.BlockSpec((8, 128), lambda i: (i, 0))
    return pl.pallas_call(body, grid=(steps[0],), in_specs=[spec], out_specs=spec, out_shape=shape(80, 128, dtype=F32))(x)

  arguments = shape(1, dtype=I32), shape(80, 128, dtype=F32)
  assert only_kernel(call, *arguments, values=[np.array([7], np.int32), None]).steps == 7
  absent = run(call, *arguments)
  assert absent["time_s"] is None and "grid bound" in absent["absent"]


def test_a_condition_on_data_takes_the_dearer_branch_and_says_so():
  def body(x, out):
    @pl.when(jnp.max(x[...]) > 0)
    def _():
      out[...] = jnp.dot(x[...], x[...], preferred_element_type=F32)

    @pl.when(jnp.max(x[...]) <= 0)
    def _():
      out[...] = jnp.zeros_like(out)

  kernel = only_kernel(pl.pallas_call(body, out_shape=shape(128, 128, dtype=F32)), shape(128, 128, dtype=F32))
  assert "data_dependent_condition" in kernel.flags
  assert sum(float(t.sum()) for t in kernel.work.dots.values()) == 1


def test_own_copies_overlap_when_started_ahead():
  ahead, arguments = kernels.looped_copies()
  behind, _ = kernels.looped_copies(wait_at_once=True)
  fast, slow = run(ahead, *arguments), run(behind, *arguments)
  assert fast["kernels"][0]["bytes"] == slow["kernels"][0]["bytes"] == 2 * 16 * 256 * 1024 * 4
  assert fast["time_s"] < slow["time_s"] and "own_copies" in fast["flags"]


def copying_steps(steps=8, ahead=False):
  """Every grid step copies its rows itself: at once, or started by the step before."""
  def body(x, out, buffer, semaphore):
    i = pl.program_id(0)
    copy = lambda i: pltpu.make_async_copy(x.at[pl.ds(i * 256, 256)], buffer.at[jax.lax.rem(i, 2)], semaphore.at[jax.lax.rem(i, 2)])
    if not ahead:
      copy(i).start()
    else:
      @pl.when(i == 0)
      def _():
        copy(i).start()

      @pl.when(i + 1 < steps)
      def _():
        copy(i + 1).start()
    copy(i).wait()
    value = buffer[jax.lax.rem(i, 2)]
    for _ in range(16):
      value = jnp.exp(value)
    out[...] = value

  call = pl.pallas_call(
      body, grid=(steps,), in_specs=[pl.BlockSpec(memory_space=pl.ANY)], out_specs=pl.BlockSpec((256, 512), lambda i: (i, 0)),
      out_shape=shape(steps * 256, 512, dtype=F32), scratch_shapes=[pltpu.VMEM((2, 256, 512), F32), pltpu.SemaphoreType.DMA((2,))])
  return call, (shape(steps * 256, 512, dtype=F32),)


def test_copies_carry_over_from_one_grid_step_to_the_next():
  at_once, ahead = (run(call, *arguments) for call, arguments in (copying_steps(), copying_steps(ahead=True)))
  assert at_once["kernels"][0]["bytes"] == ahead["kernels"][0]["bytes"] == 2 * 8 * 256 * 512 * 4
  assert ahead["time_s"] < 0.8 * at_once["time_s"]


def test_steps_too_many_to_be_walked_in_order_still_tell_exposed_copies(monkeypatch):
  monkeypatch.setattr(trace, "_MAX_ORDERED_OPERATIONS", 0)
  exposed = lambda pair: float(np.sum(only_kernel(pair[0], *pair[1]).exposed_dma_bytes))
  assert exposed(copying_steps()) == 8 * 256 * 512 * 4
  assert exposed(copying_steps(ahead=True)) == 256 * 512 * 4


def test_scalars_carry_over_from_one_grid_step_to_the_next():
  def body(x, out, state):
    @pl.when(pl.program_id(0) == 0)
    def _():
      state[0] = 0

    @pl.when(state[0] == 0)
    def _():
      out[...] = jnp.dot(x[...], x[...], preferred_element_type=F32)
    state[0] = 1 - state[0]

  spec = pl.BlockSpec((128, 128), lambda i: (i, 0))
  kernel = only_kernel(pl.pallas_call(body, grid=(6,), in_specs=[spec], out_specs=spec, out_shape=shape(768, 128, dtype=F32),
                                      scratch_shapes=[pltpu.SMEM((1,), I32)]), shape(768, 128, dtype=F32))
  assert "data_dependent_condition" not in kernel.flags
  assert sum(float(t) for w in kernel.timeline.events if isinstance(w, Work) for t in w.dots.values()) == 3


def test_a_pipeline_inside_the_kernel_is_walked():
  def inner(x, y, out):
    @pl.when(pl.program_id(2) == 0)
    def _():
      out[...] = jnp.zeros_like(out)
    out[...] += jnp.dot(x[...], y[...], preferred_element_type=F32)

  def body(x, y, out):
    pltpu.emit_pipeline(
        inner, grid=(2, 2, 4),
        in_specs=[pl.BlockSpec((256, 256), lambda i, j, k: (i, k)), pl.BlockSpec((256, 256), lambda i, j, k: (k, j))],
        out_specs=[pl.BlockSpec((256, 256), lambda i, j, k: (i, j))])(x, y, out)

  anywhere = pl.BlockSpec(memory_space=pl.ANY)
  call = pl.pallas_call(body, in_specs=[anywhere] * 2, out_specs=anywhere, out_shape=shape(512, 512, dtype=F32))
  result = run(call, shape(512, 1024), shape(1024, 512))
  (kernel,) = result["kernels"]
  assert kernel["flops"] == 2 * 512 * 512 * 1024
  assert kernel["bytes"] == 16 * 2 * 256 * 256 * 2 + 4 * 256 * 256 * 4
  assert kernel["vmem_bytes"] == 2 * (2 * 256 * 256 * 2 + 256 * 256 * 4)


@pytest.mark.parametrize("function, slot, least", [
    (jnp.exp, "transcendental", 1), (lambda x: 1 / x, "alu", 4), (jnp.tanh, "transcendental", 1), (jnp.sin, "alu", 10),
    (lambda x: x.astype(BF16), "alu", 1), (lambda x: jnp.broadcast_to(x.max(-1, keepdims=True), x.shape), "cross_lane", 1 / 64),
    (lambda x: x.T[:256, :256] if x.shape[0] == x.shape[1] else x, "cross_lane", 1),
])
def test_classes_of_vector_work(function, slot, least):
  call, arguments = kernels.elementwise(function, rows=256, columns=256, block=256, dtype=F32,
                                        outputs_dtype=jax.eval_shape(function, shape(256, 256, dtype=F32)).dtype)
  assert total(only_kernel(call, *arguments), slot) >= least * 64


def test_equal_values_are_computed_once():
  """A row mask built from lane numbers alone costs one row of registers, not the block."""
  masked = lambda x: jnp.where(jax.lax.broadcasted_iota(I32, x.shape, 1) < 100, x, 0.0)
  call, arguments = kernels.elementwise(masked, rows=256, columns=256, block=256)
  assert total(only_kernel(call, *arguments), "alu") <= 64 + 8


def test_work_whose_result_is_not_used_is_not_counted():
  call, arguments = kernels.elementwise(lambda x: x + 1, rows=256, columns=256, block=256)
  assert total(only_kernel(call, *arguments), "load") == 64


def test_unknown_operations_cost_something_and_set_a_flag():
  from maxkernel_runner.estimate.mosaic import Operation, Type
  from maxkernel_runner.estimate.walk import Vector, Walker

  walker = Walker(4)
  walker.environment[0] = Vector((256, 256), "f32")
  vector = Type("vector", (256, 256), "f32")
  walker._other(Operation("tpu.unheard_of", [0], [1], [vector], [vector], {}))
  assert walker.flags == {"unknown_op:tpu.unheard_of"} and walker.counts.work.vector["unknown"] == 64


def test_integer_dots_keep_their_type():
  def body(x, y, out):
    out[...] = jnp.dot(x[...], y[...], preferred_element_type=I32)

  call = pl.pallas_call(body, out_shape=shape(256, 256, dtype=I32))
  kernel = only_kernel(call, shape(256, 256, dtype=jnp.int8), shape(256, 256, dtype=jnp.int8))
  ((dot, _),) = kernel.work.dots.items()
  assert dot.lhs == dot.rhs == "i8"


def test_highest_precision_takes_six_passes():
  def body(x, y, out):
    out[...] = jnp.dot(x[...], y[...], precision=jax.lax.Precision.HIGHEST)

  kernel = only_kernel(pl.pallas_call(body, out_shape=shape(256, 256, dtype=F32)), *(shape(256, 256, dtype=F32),) * 2)
  assert [d.passes for d in kernel.work.dots] == [6]


def test_a_kernel_in_a_scan_runs_once_per_iteration():
  call, arguments = kernels.matmul(m=256, k=256, n=256, bm=128, bk=128, bn=128)
  scanned = lambda x, ws: jax.lax.scan(lambda c, w: (call(c, w), None), x, ws)[0]
  result = run(scanned, shape(256, 256), shape(6, 256, 256))
  assert result["kernels"][0]["steps"] == 6 * 8


def test_several_kernels_are_listed_in_order():
  first, arguments = kernels.matmul(m=256, k=256, n=256, bm=128, bk=128, bn=128)
  second, _ = kernels.elementwise(lambda x: x * 2, rows=256, columns=256, block=64, dtype=BF16)
  result = run(lambda x, y: second(first(x, y)), *arguments)
  assert [k["steps"] for k in result["kernels"]] == [8, 4]


def test_large_grids_are_sampled():
  call, arguments = kernels.matmul(m=1 << 14, k=1 << 14, n=1 << 14, bm=128, bk=128, bn=128)
  kernel = only_kernel(call, *arguments)
  assert kernel.steps == 128**3 and "steps_sampled" in kernel.flags and len(kernel.count) < 1 << 20
  assert sum(float(np.sum(kernel.count * t)) for t in kernel.work.dots.values()) == 128**3


def test_windows_and_scratch_above_the_limit_are_refused():
  call, arguments = kernels.matmul(m=4096, k=4096, n=4096, bm=2048, bk=2048, bn=2048)
  result = run(call, *arguments)
  assert result["time_s"] is None and "needs 64.0 MiB of VMEM" in result["absent"] and "16.0 MiB" in result["absent"]


def test_a_kernel_close_to_the_limit_is_flagged():
  flags = lambda bm, bk, bn: run(*_flat(kernels.matmul(4096, 4096, 4096, bm, bk, bn)))["flags"]
  assert "vmem_near_limit" in flags(1024, 1024, 1024)  # 16 MiB of 16
  assert "vmem_near_limit" not in flags(512, 1024, 1024)  # 10 MiB


def _flat(pair):
  return pair[0], *pair[1]


def test_a_larger_limit_of_the_call_is_honoured():
  def body(x, out):
    out[...] = x[...] + 1

  build = lambda limit: pl.pallas_call(body, out_shape=shape(4096, 1024, dtype=F32),
                                       compiler_params=pltpu.CompilerParams(vmem_limit_bytes=limit))
  assert run(build(100 << 20), shape(4096, 1024, dtype=F32))["time_s"] > 0
  assert run(build(None), shape(4096, 1024, dtype=F32))["time_s"] is None


@pytest.mark.parametrize("sizes", [(1024, 1024, 1024, 256, 256, 256), (1024, 2048, 1024, 512, 1024, 512)])
def test_a_pipeline_inside_costs_about_what_a_grid_costs(sizes):
  m, k, n, bm, bk, bn = sizes

  def inner(x, y, out, accumulator):
    @pl.when(pl.program_id(2) == 0)
    def _():
      accumulator[...] = jnp.zeros_like(accumulator)

    accumulator[...] += jnp.dot(x[...], y[...], preferred_element_type=F32)

    @pl.when(pl.program_id(2) == k // bk - 1)
    def _():
      out[...] = accumulator[...].astype(out.dtype)

  def body(x, y, out, accumulator):
    pltpu.emit_pipeline(
        functools.partial(inner, accumulator=accumulator), grid=(m // bm, n // bn, k // bk),
        in_specs=[pl.BlockSpec((bm, bk), lambda i, j, k: (i, k)), pl.BlockSpec((bk, bn), lambda i, j, k: (k, j))],
        out_specs=[pl.BlockSpec((bm, bn), lambda i, j, k: (i, j))])(x, y, out)

  anywhere = pl.BlockSpec(memory_space=pl.ANY)
  piped = pl.pallas_call(body, in_specs=[anywhere] * 2, out_specs=anywhere, out_shape=shape(m, n),
                         scratch_shapes=[pltpu.VMEM((bm, bn), F32)])
  call, arguments = kernels.matmul(m, k, n, bm, bk, bn, semantics=("arbitrary",) * 3)
  assert run(piped, *arguments)["time_s"] == pytest.approx(run(call, *arguments)["time_s"], rel=0.01)


def _copying(source, target, rows, columns):
  """A kernel that copies (rows, columns) between two kinds of memory and nothing else."""
  def body(x, out, buffer, other, semaphore):
    places = {"outside": x, "result": out, "vmem": buffer, "other": other}
    copy = pltpu.make_async_copy(places[source].at[pl.ds(0, rows), pl.ds(0, columns)], places[target].at[pl.ds(0, rows), pl.ds(0, columns)],
                                 semaphore)
    copy.start()
    copy.wait()

  anywhere = pl.BlockSpec(memory_space=pl.ANY)
  return pl.pallas_call(body, in_specs=[anywhere], out_specs=anywhere, out_shape=shape(1024, 512, dtype=F32),
                        scratch_shapes=[pltpu.VMEM((1024, 512), F32), pltpu.VMEM((1024, 512), F32), pltpu.SemaphoreType.DMA])


@pytest.mark.parametrize("source, target, columns, expected", [
    ("outside", "vmem", 512, 1024 * 512 * 4), ("vmem", "other", 512, 1024 * 512 * 4), ("outside", "result", 512, 2 * 1024 * 512 * 4),
    ("outside", "vmem", 128, 1024 * 128 * 4),
])
def test_no_copy_is_free(source, target, columns, expected):
  (kernel,) = run(_copying(source, target, 1024, columns), shape(1024, 512, dtype=F32))["kernels"]
  assert kernel["bytes"] == expected
