"""Errors and ranks of the model against published times, each beside a rule that needs no model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Callable, Sequence

import numpy as np

from maxkernel_runner.estimate.description import ProgramDescription
from maxkernel_runner.estimate.model import Model, fits, program_seconds


@dataclass(frozen=True)
class RowScore:
  family: tuple
  predicted_s: float
  measured_s: float
  roofline_s: float
  choices: int
  rank: float  # share of the choices that the model predicts to be faster than the published one; a tie counts as half
  size_rank: float  # share of the choices that need more memory than the published one; the same for ties
  loss: float  # predicted time of the published choice / of the model's own

  @property
  def ratio(self) -> float:
    return self.predicted_s / self.measured_s


def score_row(row, published, choices: Sequence, describe: Callable[[object, object], ProgramDescription], model: Model,
              plain: Model) -> RowScore:
  own = describe(row, published)
  predicted = program_seconds(own, model)
  need = own.kernels[0].vmem.total
  times, needs = [predicted], [need]
  for choice in choices:
    if choice == published:
      continue
    program = describe(row, choice)
    if model.switches.vmem_filter and not fits(program.kernels[0], model.chip):
      continue
    times.append(program_seconds(program, model))
    needs.append(program.kernels[0].vmem.total)
  return RowScore(
      family=row.family, predicted_s=predicted, measured_s=row.seconds, roofline_s=program_seconds(own, plain), choices=len(times),
      rank=_rank(times), size_rank=_rank([-n for n in needs]), loss=predicted / min(times))


def _rank(values: Sequence[float]) -> float:
  """Place of the first value among all, as a share."""
  margin = 1e-6 * abs(values[0])
  better = sum(v < values[0] - margin for v in values)
  equal = sum(abs(v - values[0]) <= margin for v in values) - 1
  return (better + 0.5 * equal) / len(values)


@dataclass(frozen=True)
class Summary:
  rows: int
  families: int
  error: float  # mean of |predicted / measured - 1|
  median: float
  low: float  # 10th percentile of predicted / measured
  high: float
  worst: float
  roofline_error: float
  choices: float
  top5: float
  top15: float
  first: float
  size_top5: float
  size_top15: float
  size_first: float
  loss10: float

  def share(self, name: str) -> tuple[float, float]:
    """The model's share and that of "largest block that fits"."""
    return getattr(self, name), getattr(self, "size_" + name)


def summarise(scores: Sequence[RowScore]) -> Summary:
  ratios = np.array([s.ratio for s in scores])
  rank, size = np.array([s.rank for s in scores]), np.array([s.size_rank for s in scores])
  low, high = np.percentile(ratios, [10, 90])
  return Summary(
      rows=len(scores), families=len({s.family for s in scores}), error=float(np.mean(np.abs(ratios - 1))), median=float(np.median(ratios)),
      low=float(low), high=float(high), worst=float(ratios[np.argmax(np.abs(ratios - 1))]),
      roofline_error=float(np.mean([abs(s.roofline_s / s.measured_s - 1) for s in scores])),
      choices=float(np.median([s.choices for s in scores])), top5=float(np.mean(rank <= 0.05)), top15=float(np.mean(rank <= 0.15)),
      first=float(np.mean(rank == 0)), size_top5=float(np.mean(size <= 0.05)), size_top15=float(np.mean(size <= 0.15)),
      size_first=float(np.mean(size == 0)), loss10=float(np.mean([s.loss <= 1.10 for s in scores])))
