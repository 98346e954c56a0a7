#include "maxkernel/policies/stop_rules.h"

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace maxkernel {
namespace {

class Patience final : public StopPolicy {
 public:
  explicit Patience(PatienceOptions options) : options_(options) {}

  void OnEvent(const OnEventArgs& args) override {
    if (std::holds_alternative<NewChampion>(args.event.body)) {
      settled_ = 0;
    } else if (const auto* order = std::get_if<OrderSettled>(&args.event.body)) {
      if (!order->exhausted || !order->children.empty()) ++settled_;
    }
  }

  StopVerdict Check(const StopArgs&) const override {
    if (settled_ < options_.orders) return {};
    return {StopVerdict::Kind::kDrain, absl::StrCat("patience: ", settled_, " orders without a new champion")};
  }

 private:
  const PatienceOptions options_;
  std::uint32_t settled_ = 0;
};

class Target final : public StopPolicy {
 public:
  explicit Target(TargetOptions options) : options_(options) {}

  void OnEvent(const OnEventArgs&) override {}

  StopVerdict Check(const StopArgs& args) const override {
    const std::optional<NodeId> champion = args.graph.champion();
    if (!champion.has_value()) return {};
    const std::optional<Score>& score = args.graph.node(*champion).score;
    if (!score.has_value() || score->low < options_.score) return {};
    return {StopVerdict::Kind::kDrain,
            absl::StrCat("target: ", ToString(*champion), " has a score of at least ", score->low, "; ", options_.score, " was asked for")};
  }

 private:
  const TargetOptions options_;
};

class AnyStop final : public StopPolicy {
 public:
  explicit AnyStop(std::vector<std::unique_ptr<StopPolicy>> rules) : rules_(std::move(rules)) {}

  void OnEvent(const OnEventArgs& args) override {
    for (const auto& rule : rules_) rule->OnEvent(args);
  }

  StopVerdict Check(const StopArgs& args) const override {
    for (const auto& rule : rules_) {
      if (StopVerdict verdict = rule->Check(args); verdict.kind != StopVerdict::Kind::kContinue) return verdict;
    }
    return {};
  }

 private:
  const std::vector<std::unique_ptr<StopPolicy>> rules_;
};

}  // namespace

absl::Status PatienceOptions::Validate() const {
  if (orders == 0) return absl::InvalidArgumentError("patience: orders is 0; expected at least 1");
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<StopPolicy>> MakePatience(const PatienceOptions& options) {
  if (absl::Status status = options.Validate(); !status.ok()) return status;
  return std::make_unique<Patience>(options);
}

absl::StatusOr<std::unique_ptr<StopPolicy>> MakePatience(const PolicySpec& spec) {
  PatienceOptions options;
  std::int64_t orders = options.orders;
  OptionReader reader(spec);
  reader.Read("orders", "that may settle in a row without a new champion", &orders, 1, 1'000'000);
  if (absl::Status status = reader.Finish(); !status.ok()) return status;
  options.orders = static_cast<std::uint32_t>(orders);
  return MakePatience(options);
}

absl::Status TargetOptions::Validate() const {
  if (std::isfinite(score) && score > 0) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("target: score is ", score, "; expected a number above 0, e.g. target(score=2.5)"));
}

absl::StatusOr<std::unique_ptr<StopPolicy>> MakeTarget(const TargetOptions& options) {
  if (absl::Status status = options.Validate(); !status.ok()) return status;
  return std::make_unique<Target>(options);
}

absl::StatusOr<std::unique_ptr<StopPolicy>> MakeTarget(const PolicySpec& spec) {
  TargetOptions options;
  OptionReader reader(spec);
  reader.Read("score", "that the champion has to reach", &options.score, 0, 1e12);
  if (absl::Status status = reader.Finish(); !status.ok()) return status;
  return MakeTarget(options);
}

absl::StatusOr<std::unique_ptr<StopPolicy>> MakeAnyStop(const PolicySpec& spec, const PolicyRegistry& registry) {
  std::string text;
  OptionReader reader(spec);
  reader.Read("rules", "stop policies, separated by ';'", &text);
  if (absl::Status status = reader.Finish(); !status.ok()) return status;
  std::vector<std::unique_ptr<StopPolicy>> rules;
  for (const std::string& part : std::vector<std::string>(absl::StrSplit(text, ';', absl::SkipWhitespace()))) {
    const absl::StatusOr<PolicySpec> rule = PolicySpec::Parse(part);
    if (!rule.ok()) return rule.status();
    absl::StatusOr<std::unique_ptr<StopPolicy>> made = registry.MakeStop(*rule);
    if (!made.ok()) return made.status();
    rules.push_back(*std::move(made));
  }
  if (rules.empty()) {
    return absl::InvalidArgumentError("policy 'any': no rules; expected e.g. any(rules=\"patience(orders=20); target(score=3)\")");
  }
  return std::make_unique<AnyStop>(std::move(rules));
}

}  // namespace maxkernel
