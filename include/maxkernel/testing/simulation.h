// A search without a language model and without an accelerator: candidates are strings of bits, and a landscape with a known optimum
// says how fast each is. For tests and comparisons of policies.
#ifndef MAXKERNEL_TESTING_SIMULATION_H_
#define MAXKERNEL_TESTING_SIMULATION_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "maxkernel/evaluator.h"
#include "maxkernel/expansion_policy.h"
#include "maxkernel/testing/fake_clock.h"

namespace maxkernel {

struct LandscapeOptions {
  std::uint64_t seed = 1;
  std::uint32_t bits = 16;          // 1..24
  std::uint32_t partners = 4;       // bits that each bit interacts with, below `bits`: 0 is smooth, bits - 1 uncorrelated
  std::uint32_t invalid_percent = 0;  // candidates that are not correct; all zeros always is
  double noise = 0;                 // standard deviation of the logarithm of a time

  absl::Status Validate() const;
};

// The NK model of Kauffman and Weinberger (1989): the mean over bits of a random number that depends on the bit and its partners.
// Thread-safe (immutable).
class Landscape {
 public:
  static absl::StatusOr<Landscape> Create(const LandscapeOptions& options);

  // In [0, 1); higher is better.
  double Fitness(std::uint32_t point) const;
  bool IsValid(std::uint32_t point) const;
  // exp(-4 x fitness) milliseconds: a factor of 55 between the worst and the best imaginable.
  double Seconds(std::uint32_t point) const;
  // The valid point with the highest fitness, by enumeration.
  std::uint32_t Optimum() const;

  Candidate CandidateOf(std::uint32_t point) const;
  std::optional<std::uint32_t> PointOf(const Candidate& candidate) const;

  const LandscapeOptions& options() const { return options_; }

 private:
  explicit Landscape(const LandscapeOptions& options);

  LandscapeOptions options_;
  std::vector<std::vector<std::uint32_t>> neighbourhoods_;
};

struct SimulationOptions {
  FakeClock* clock = nullptr;                              // null: everything takes no time
  absl::Duration proposal_time = absl::Seconds(30);        // means; each is between half and one and a half of it
  absl::Duration evaluation_time = absl::Seconds(10);
  std::uint32_t flips = 2;                                 // bits that an edit flips, 1 to this number
  std::uint32_t failed_proposals_percent = 0;
  std::uint32_t capacity = 4;                              // of the evaluator
  Fidelity fidelity = Fidelity::kEstimate;
};

// `landscape` outlives both. Latencies, noise and edits are keyed, so that equal requests get equal answers.
std::unique_ptr<Evaluator> MakeSimulatedEvaluator(const Landscape& landscape, const SimulationOptions& options);
// Flips bits of the first parent; of the root if there is none.
std::unique_ptr<ExpansionPolicy> MakeSimulatedExpansion(const Landscape& landscape, const SimulationOptions& options);

}  // namespace maxkernel

#endif  // MAXKERNEL_TESTING_SIMULATION_H_
