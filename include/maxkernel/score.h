#ifndef MAXKERNEL_SCORE_H_
#define MAXKERNEL_SCORE_H_

#include <memory>
#include <optional>

#include "maxkernel/evaluation.h"

namespace maxkernel {

// One comparable number: higher is better, 1 is the baseline. low and high bound a 95 % confidence interval; both equal value
// where the fidelity is deterministic.
struct Score {
  double value = 0;
  double low = 0;
  double high = 0;
  Fidelity fidelity = Fidelity::kEstimate;

  bool operator==(const Score&) const = default;
};

// Turns evaluations into scores.
// Thread-safe (stateless).
class Objective {
 public:
  virtual ~Objective() = default;
  // The score of `candidate` relative to `baseline`, or nullopt where there is none: either is not correct, a scored case has
  // no time, or the fidelities or environments differ.
  virtual std::optional<Score> Evaluate(const Evaluation& baseline, const Evaluation& candidate) const = 0;
};

// The default: the geometric mean over the timed cases of (median baseline time / median candidate time). The interval comes
// from the spread of the samples' logarithms (normal approximation with Student's t; a point where there is one sample).
std::unique_ptr<Objective> MakeGeometricMeanSpeedup();

// The geometric mean over the timed cases of (roofline floor / median time), in (0, 1]: how near to physics a candidate is.
// nullopt if a timed case has no floor or no time.
std::optional<double> RooflineFraction(const Evaluation& evaluation);

}  // namespace maxkernel

#endif  // MAXKERNEL_SCORE_H_
