#include "maxkernel/score.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace maxkernel {
namespace {

bool IsTime(double seconds) { return std::isfinite(seconds) && seconds > 0; }

bool IsTimed(const CaseResult& result) {
  return !result.samples_seconds.empty() && std::all_of(result.samples_seconds.begin(), result.samples_seconds.end(), IsTime);
}

double Median(std::vector<double> values) {
  const std::size_t middle = values.size() / 2;
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(middle), values.end());
  const double upper = values[middle];
  if (values.size() % 2 == 1) return upper;
  return (*std::max_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(middle)) + upper) / 2;
}

// Variance of the median of the samples' logarithms, from their sample variance: pi/2 times that of the mean for a normal
// distribution. 0 for a single sample, whose spread is unknown.
double LogMedianVariance(const std::vector<double>& samples) {
  if (samples.size() < 2) return 0;
  const double count = static_cast<double>(samples.size());
  double mean = 0;
  for (double sample : samples) mean += std::log(sample) / count;
  double squares = 0;
  for (double sample : samples) squares += (std::log(sample) - mean) * (std::log(sample) - mean);
  constexpr double kHalfPi = 1.5707963267948966;
  return kHalfPi * squares / (count - 1) / count;
}

// The two-sided 95 % quantile of Student's t for 1 to 30 degrees of freedom; any table of the distribution has it.
double StudentQuantile(std::size_t degrees) {
  constexpr std::array<double, 30> kQuantiles{12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
                                              2.201,  2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
                                              2.080,  2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042};
  if (degrees == 0) return 0;
  return degrees <= kQuantiles.size() ? kQuantiles[degrees - 1] : 1.96;
}

const CaseResult* FindCase(const Evaluation& evaluation, const std::string& name) {
  for (const CaseResult& result : evaluation.cases) {
    if (result.name == name) return &result;
  }
  return nullptr;
}

class GeometricMeanSpeedup final : public Objective {
 public:
  std::optional<Score> Evaluate(const Evaluation& baseline, const Evaluation& candidate) const override {
    if (baseline.verdict != Verdict::kCorrect || candidate.verdict != Verdict::kCorrect) return std::nullopt;
    if (baseline.fidelity != candidate.fidelity || baseline.environment != candidate.environment) return std::nullopt;
    double sum = 0;
    double variance = 0;
    std::size_t cases = 0;
    std::size_t fewest_samples = 0;
    for (const CaseResult& base : baseline.cases) {
      if (!IsTimed(base)) continue;
      const CaseResult* mine = FindCase(candidate, base.name);
      if (mine == nullptr || !IsTimed(*mine)) return std::nullopt;
      sum += std::log(Median(base.samples_seconds) / Median(mine->samples_seconds));
      variance += LogMedianVariance(base.samples_seconds) + LogMedianVariance(mine->samples_seconds);
      const std::size_t samples = std::min(base.samples_seconds.size(), mine->samples_seconds.size());
      fewest_samples = cases == 0 ? samples : std::min(fewest_samples, samples);
      ++cases;
    }
    if (cases == 0) return std::nullopt;
    const double count = static_cast<double>(cases);
    const double mean = sum / count;
    const double half_width = StudentQuantile(fewest_samples - 1) * std::sqrt(variance) / count;
    return Score{std::exp(mean), std::exp(mean - half_width), std::exp(mean + half_width), candidate.fidelity};
  }
};

}  // namespace

std::unique_ptr<Objective> MakeGeometricMeanSpeedup() { return std::make_unique<GeometricMeanSpeedup>(); }

std::optional<double> RooflineFraction(const Evaluation& evaluation) {
  double sum = 0;
  std::size_t cases = 0;
  for (const CaseResult& result : evaluation.cases) {
    if (result.samples_seconds.empty()) continue;
    if (!IsTimed(result) || !result.floor_seconds.has_value() || !IsTime(*result.floor_seconds)) return std::nullopt;
    sum += std::log(*result.floor_seconds / Median(result.samples_seconds));
    ++cases;
  }
  if (cases == 0) return std::nullopt;
  return std::exp(sum / static_cast<double>(cases));
}

}  // namespace maxkernel
