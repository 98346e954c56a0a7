#include "maxkernel/testing/simulation.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "maxkernel/random.h"
#include "maxkernel/testing/fake_evaluator.h"

namespace maxkernel {
namespace {

constexpr char kOperator[] = "flip_bits";

std::uint64_t NumberOf(const std::string& key) { return std::stoull(Sha256Hex(key).substr(0, 15), nullptr, 16); }

absl::Duration Jitter(absl::Duration mean, KeyedRandom& random) { return mean * (0.5 + random.NextDouble()); }

// Box and Muller (1958).
double Normal(KeyedRandom& random) {
  const double radius = std::sqrt(-2 * std::log(1 - random.NextDouble()));
  return radius * std::cos(6.283185307179586 * random.NextDouble());
}

class SimulatedEvaluator final : public Evaluator {
 public:
  SimulatedEvaluator(const Landscape& landscape, const SimulationOptions& options) : landscape_(landscape), options_(options) {}

  absl::StatusOr<EvaluatorInfo> Describe() override {
    EvaluatorInfo info;
    info.name = "simulated landscape";
    info.fidelities = {options_.fidelity};
    info.capacity = options_.capacity;
    return info;
  }

  absl::StatusOr<Evaluation> Evaluate(const EvaluateArgs& args) override {
    const std::uint64_t number = NumberOf(args.request.idempotency_key);
    KeyedRandom random(landscape_.options().seed, RandomStream::kSimulator, number);
    if (options_.clock != nullptr) {
      const absl::Status slept = options_.clock->SleepFor(Jitter(options_.evaluation_time, random), number, args.stop);
      if (!slept.ok()) return slept;
    }
    const std::optional<std::uint32_t> point = landscape_.PointOf(*args.request.candidate);
    if (!point.has_value()) {
      return MakeFailedEvaluation(Verdict::kDoesNotCompile, "the source is no string of bits", options_.fidelity);
    }
    if (!landscape_.IsValid(*point)) return MakeFailedEvaluation(Verdict::kIncorrect, "a point that is not valid", options_.fidelity);
    std::vector<double> samples;
    const double seconds = landscape_.Seconds(*point);
    const std::uint32_t count = landscape_.options().noise > 0 ? args.request.repeats : 1;
    for (std::uint32_t i = 0; i < count; ++i) samples.push_back(seconds * std::exp(landscape_.options().noise * Normal(random)));
    return MakeTimedEvaluation(std::move(samples), options_.fidelity);
  }

 private:
  const Landscape& landscape_;
  const SimulationOptions options_;
};

class SimulatedExpansion final : public ExpansionPolicy, private Proposer {
 public:
  SimulatedExpansion(const Landscape& landscape, const SimulationOptions& options) : landscape_(landscape), options_(options) {}

  void OnEvent(const OnEventArgs&) override {}

  absl::StatusOr<std::optional<ProposeRequest>> Prepare(const PrepareArgs& args) const override {
    ProposeRequest request;
    request.operator_name = kOperator;
    request.parents.push_back(MakeParentContext(args.graph, args.order.parents.empty() ? kRootNode : args.order.parents.front()));
    return request;
  }

  Proposer& proposer() override { return *this; }
  std::vector<std::string> operators() const override { return {kOperator}; }

 private:
  absl::StatusOr<ProposeResult> Propose(const ProposeArgs& args) override {
    KeyedRandom random = args.random;
    if (options_.clock != nullptr) {
      const absl::Status slept =
          options_.clock->SleepFor(Jitter(options_.proposal_time, random), NumberOf(args.reply_key), args.stop);
      if (!slept.ok()) return slept;
    }
    ProposeResult result;
    if (random.NextBelow(100) < options_.failed_proposals_percent) {
      result.failure = "the edit does not apply";
      return result;
    }
    const std::optional<std::uint32_t> parent = landscape_.PointOf(*args.request.parents.front().candidate);
    if (!parent.has_value()) {
      result.failure = "the parent is no string of bits";
      return result;
    }
    std::vector<std::uint32_t> bits(landscape_.options().bits);
    for (std::uint32_t bit = 0; bit < bits.size(); ++bit) bits[bit] = bit;
    random.Shuffle(bits);
    const std::uint32_t flips = 1 + random.NextBelow(std::clamp<std::uint32_t>(options_.flips, 1, landscape_.options().bits));
    std::uint32_t point = *parent;
    for (std::uint32_t i = 0; i < flips; ++i) point ^= 1U << bits[i];
    result.proposals.push_back({std::make_shared<const Candidate>(landscape_.CandidateOf(point)),
                                absl::StrCat("flip ", flips, " bits"), {}});
    return result;
  }

  const Landscape& landscape_;
  const SimulationOptions options_;
};

}  // namespace

std::unique_ptr<Evaluator> MakeSimulatedEvaluator(const Landscape& landscape, const SimulationOptions& options) {
  return std::make_unique<SimulatedEvaluator>(landscape, options);
}

std::unique_ptr<ExpansionPolicy> MakeSimulatedExpansion(const Landscape& landscape, const SimulationOptions& options) {
  return std::make_unique<SimulatedExpansion>(landscape, options);
}

}  // namespace maxkernel
