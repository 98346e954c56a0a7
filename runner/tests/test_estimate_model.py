"""The formulas, on descriptions written by hand."""

from dataclasses import replace

import numpy as np
import pytest

import estimate_kernels as kernels
from maxkernel_runner.estimate import model as models
from maxkernel_runner.estimate.description import (
    Dot, KernelDescription, ProgramDescription, Timeline, Transfer, VmemNeed, Work, XlaOperation, padded_bytes, registers)
from maxkernel_runner.estimate.model import Constants, Model, fits, floor_seconds, kernel_time, matrix_seconds, program_seconds, xla_seconds

V5E, V5P, V6E = kernels.chip("v5e"), kernels.chip("v5p"), kernels.chip("v6e")


def kernel(steps=100, fetch=0.0, write=0.0, dots=None, vector=None, **fields) -> KernelDescription:
  column = lambda value: np.array([float(value)])
  work = Work({d: column(t) for d, t in (dots or {}).items()}, {n: column(c) for n, c in (vector or {}).items()})
  return KernelDescription("k", column(steps), np.zeros(1, np.int64), column(fetch), column(write),
                           column(fields.pop("every", fetch + write)), work, **fields)


def seconds(description, chip=V5E, model=None) -> float:
  return kernel_time(description, model or Model(chip)).seconds


def test_registers_pad_to_eight_rows_of_128_lanes():
  assert registers((8, 128)) == 1
  assert registers((9, 129)) == 4
  assert registers((3, 16, 128)) == 6
  assert registers((16, 128), bits=16) == 1
  assert registers((512,)) == 4


def test_padded_bytes_follow_the_tile_of_the_element():
  tile = V5E.sublane_tile
  assert padded_bytes((10, 64), 32, tile) == 16 * 128 * 4
  assert padded_bytes((10, 64), 8, tile) == 32 * 128
  assert padded_bytes((4, 8, 128), 16, tile) == 4 * 8 * 128 * 2


def test_chip_figures_are_per_core():
  assert V5P.cores == 2 and V5P.peak_flops == pytest.approx(229.5e12) and V5P.clock == pytest.approx(1.751e9, rel=1e-3)
  assert V5E.cores == 1 and V5E.clock == pytest.approx(1.503e9, rel=1e-3)
  assert V6E.matrix_edge == 256 and V6E.clock == pytest.approx(1.755e9, rel=1e-3)
  assert kernels.chip("tpu7x").cores == 1 and kernels.chip("tpu7x").peak_flops == pytest.approx(1155e12)


def test_a_chip_without_a_needed_figure_is_named():
  hardware = kernels.hardware("v5e")
  broken = {"chip": {k: v for k, v in hardware["chip"].items() if k != "hbm_gbps"}, "common": hardware["common"]}
  with pytest.raises(KeyError, match="v5e: field hbm_gbps must be a positive number"):
    kernels.from_hardware(broken)


def test_a_dot_is_padded_to_the_edge_of_the_matrix_unit():
  model = Model(V5E)
  full = matrix_seconds(Dot(512, 128, 128), model)
  assert full == pytest.approx(2 * 512 * 128 * 128 / (197e12 * 0.944))
  assert matrix_seconds(Dot(512, 64, 128), model) == pytest.approx(full)
  assert matrix_seconds(Dot(512, 64, 128), model.without("matrix_padding")) == pytest.approx(full / 2)
  assert matrix_seconds(Dot(3, 128, 128), model) == pytest.approx(full * 8 / 512)
  assert matrix_seconds(Dot(512, 128, 128, passes=6), model) == pytest.approx(6 * full)
  assert matrix_seconds(Dot(512, 128, 128, "i8", "i8"), model) == pytest.approx(full / 2)


def test_a_step_takes_the_longer_of_copy_and_compute_plus_its_fixed_cost():
  constants = Constants()
  copy = 1e6 / (V5E.bandwidth * constants.dma_efficiency)
  assert seconds(kernel(steps=100, fetch=1e6)) == pytest.approx(100 * (copy + constants.dma_s + constants.step_s))
  dot = Dot(4096, 1024, 1024)
  compute = matrix_seconds(dot, Model(V5E))
  assert compute > copy + constants.dma_s
  assert seconds(kernel(steps=100, fetch=1e6, dots={dot: 1})) == pytest.approx(100 * (compute + constants.step_s))


def test_first_and_last_blocks_are_not_hidden():
  base, edges = kernel(fetch=1e6), kernel(fetch=1e6, first_bytes=3e6, last_bytes=1e6)
  constants = Constants()
  assert seconds(edges) - seconds(base) == pytest.approx(4e6 / (V5E.bandwidth * constants.dma_efficiency) + 2 * constants.dma_s)


def test_matrix_and_vector_work_overlap_almost_fully_unless_chained():
  dot = Dot(4096, 1024, 1024)
  matrix = matrix_seconds(dot, Model(V5E))
  vector_count = matrix * V5E.clock / 1.02
  both = dict(steps=1, dots={dot: 1}, vector={"accumulate": vector_count})
  step = Constants().step_s
  assert seconds(kernel(**both)) == pytest.approx(1.07 * matrix + step)
  assert seconds(kernel(**both, chained=True, rounds=1.0)) == pytest.approx(1.38 * matrix + step)
  assert seconds(kernel(**both, chained=True, rounds=4.0)) == pytest.approx((1 + 0.38 / 4) * matrix + step)


def test_a_causal_mask_is_not_hidden():
  plain = kernel(steps=1, dots={Dot(4096, 1024, 1024): 1})
  masked = kernel(steps=1, dots={Dot(4096, 1024, 1024): 1}, vector={"causal_mask": 1000.0})
  assert seconds(masked) - seconds(plain) == pytest.approx(870 / V5E.clock)


def test_the_busiest_slot_of_the_vector_unit_decides():
  cycles = lambda **count: models.vector_cycles(Work(vector=count), V5E)[0]
  assert cycles(alu=400.0) == pytest.approx(100)
  assert cycles(alu=400.0, store=90.0) == pytest.approx(100)
  assert cycles(alu=400.0, store=150.0) == pytest.approx(150)
  assert cycles(transcendental=120.0) == pytest.approx(120)


def test_narrow_arithmetic_is_emulated_before_generation_six():
  work = Work(vector={"alu_narrow": 100.0})
  assert models.vector_cycles(work, V5E)[0] > 4 * models.vector_cycles(work, V6E)[0]


def test_cores_share_steps_and_the_slower_one_decides():
  columns = dict(fetch_bytes=np.zeros(2), write_bytes=np.zeros(2), every_bytes=np.zeros(2), work=Work({Dot(2048, 1024, 1024): np.ones(2)}))
  even = KernelDescription("k", np.array([50.0, 50.0]), np.array([0, 1]), cores=2, **columns)
  skewed = KernelDescription("k", np.array([80.0, 20.0]), np.array([0, 1]), cores=2, **columns)
  alone = KernelDescription("k", np.array([50.0, 50.0]), np.array([0, 0]), cores=1, **columns)
  assert seconds(even, V5P) == pytest.approx(seconds(alone, V5P) / 2)
  assert seconds(skewed, V5P) == pytest.approx(1.6 * seconds(even, V5P))


def test_a_lone_core_of_two_gets_more_than_half_of_the_bandwidth():
  description = kernel(steps=1000, fetch=4e6)
  ratio = seconds(description, V5P, Model(V5P).without("lone_core_bonus")) / seconds(description, V5P)
  assert 1.4 < ratio < 1.6


def test_more_buffers_approach_the_average_and_one_buffer_adds_up():
  uneven = dict(count=np.array([50.0, 50.0]), core=np.zeros(2, np.int64), fetch_bytes=np.array([2e7, 0.0]), write_bytes=np.zeros(2),
                every_bytes=np.array([2e7, 2e7]), work=Work({Dot(4096, 1024, 1024): np.array([0.2, 1.0])}))
  times = [seconds(KernelDescription("k", buffers=b, **uneven)) for b in (1, 2, 3, 4)]
  assert times == sorted(times, reverse=True) and times[0] > times[1] > times[2] > times[3]


def test_a_timeline_overlaps_what_is_started_before_it_is_needed():
  work = Work({Dot(4096, 1024, 1024): 1.0})
  compute = matrix_seconds(Dot(4096, 1024, 1024), Model(V5E))
  moved = compute * V5E.bandwidth * 0.845
  start, wait = (lambda key: Transfer("start", key, moved)), (lambda key: Transfer("wait", key, 0.0))
  ahead = [start(0)] + [e for i in range(8) for e in (start(i + 1), wait(i), work)]
  behind = [e for i in range(9) for e in (start(i), wait(i), work)]
  timed = lambda events: seconds(kernel(steps=1, timeline=Timeline(events)))
  assert timed(ahead) < 0.65 * timed(behind)
  assert timed(ahead) > 8 * compute


def test_a_timeline_waits_for_what_nobody_awaited():
  assert seconds(kernel(steps=1, timeline=Timeline([Transfer("start", 0, 8e9)]))) > 8e9 / V5E.bandwidth


def test_xla_operations_cost_their_bytes_or_their_arithmetic():
  copy = XlaOperation("copy", 1e9, 1e9)
  assert xla_seconds(copy, Model(V5E)) == pytest.approx(2e9 / (V5E.bandwidth * 0.98))
  dot = XlaOperation("dot", 1e6, 1e6, Work({Dot(8192, 8192, 8192): 1.0}))
  assert xla_seconds(dot, Model(V5P)) == pytest.approx(matrix_seconds(Dot(8192, 8192, 8192), Model(V5P)) / 2)


def test_the_total_never_beats_the_roofline_of_the_counted_work():
  perfect = Model(V5P, Constants(matrix_efficiency=5.0, dma_efficiency=5.0, xla_efficiency=5.0, step_s=0.0, dma_s=0.0, call_s=0.0))
  program = ProgramDescription([kernel(steps=1000, dots={Dot(4096, 1024, 1024): 1})], floor_bytes=1e9)
  floor = floor_seconds(program, perfect)
  assert floor == pytest.approx(1000 * 2 * 4096 * 1024 * 1024 / 459e12)
  assert program_seconds(program, perfect) == floor
  assert floor_seconds(ProgramDescription(floor_bytes=2.765e12), perfect) == pytest.approx(1.0)


def test_vmem_limit_of_the_call_counts_up_to_the_capacity():
  wanting = lambda mib, limit=None: kernel(vmem=VmemNeed(windows=mib << 20), vmem_limit=limit)
  assert fits(wanting(15), V5E) and not fits(wanting(17), V5E)
  assert fits(wanting(17), V6E) and not fits(wanting(33), V6E)
  assert fits(wanting(100, 110 << 20), V5E) and not fits(wanting(200, 300 << 20), V5E)


_COMPUTING = dict(fetch=4e5, write=1e5, every=5e5)
_COPYING = dict(fetch=2e7, write=1e6, every=9e7)


@pytest.mark.parametrize("part, moved, faster", [
    ("fetch_once", _COPYING, False), ("overlap_dma", _COMPUTING, False), ("step_cost", _COMPUTING, True), ("vector_work", _COMPUTING, True),
    ("matrix_padding", _COMPUTING, True), ("xla_operations", _COMPUTING, True), ("lone_core_bonus", _COPYING, False),
    ("exposed_round", _COMPUTING, True),
])
def test_every_part_moves_the_time_the_expected_way(part, moved, faster):
  program = ProgramDescription(
      [kernel(steps=1000, dots={Dot(256, 64, 256): 20}, vector={"softmax": 4000.0}, chained=True, rounds=2.0, **moved)],
      [XlaOperation("transpose", 1e8, 1e8)])
  full, without = Model(V5P), Model(V5P).without(part)
  ratio = program_seconds(program, without) / program_seconds(program, full)
  assert ratio < 0.999 if faster else ratio > 1.001


def test_a_switch_that_does_not_exist_is_an_error():
  with pytest.raises(TypeError):
    Model(V5E).without("no_such_part")


def test_constants_are_replaceable():
  slow = Model(V5E, replace(Constants(), step_s=1e-3))
  assert seconds(kernel(steps=10), model=slow) == pytest.approx(1e-2)
