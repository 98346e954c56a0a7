#include "maxkernel/policies/portfolio.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace maxkernel {
namespace {

// Hands a request to the proposer of the member that made it.
class RoutingProposer final : public Proposer {
 public:
  explicit RoutingProposer(std::map<std::string, Proposer*> by_operator) : by_operator_(std::move(by_operator)) {}

  absl::StatusOr<ProposeResult> Propose(const ProposeArgs& args) override {
    const auto found = by_operator_.find(args.request.operator_name);
    if (found != by_operator_.end()) return found->second->Propose(args);
    return absl::FailedPreconditionError(
        absl::StrCat("portfolio: a member prepared a request for the operator '", args.request.operator_name,
                     "', which it does not list among its own"));
  }

 private:
  const std::map<std::string, Proposer*> by_operator_;
};

class Portfolio final : public ExpansionPolicy {
 public:
  Portfolio(std::vector<PortfolioMember> members, std::map<std::string, std::size_t> by_operator, const PortfolioOptions& options)
      : options_(options), members_(std::move(members)), by_operator_(std::move(by_operator)), counts_(members_.size()),
        proposer_(Proposers()) {}

  void OnEvent(const OnEventArgs& args) override {
    for (const PortfolioMember& member : members_) member.policy->OnEvent(args);
    const auto* dispatched = std::get_if<ProposalDispatched>(&args.event.body);
    if (dispatched == nullptr || dispatched->attempt > 0) return;
    if (const auto owner = by_operator_.find(dispatched->operator_name); owner != by_operator_.end()) ++counts_[owner->second];
  }

  absl::StatusOr<std::optional<ProposeRequest>> Prepare(const PrepareArgs& args) const override {
    if (!args.order.operator_name.empty()) {
      const auto owner = by_operator_.find(args.order.operator_name);
      if (owner != by_operator_.end()) return members_[owner->second].policy->Prepare(args);
      return absl::NotFoundError(absl::StrCat("portfolio: no member has the operator '", args.order.operator_name, "'"));
    }
    if (args.earlier != nullptr) {
      const auto owner = by_operator_.find(args.earlier->operator_name);
      if (owner != by_operator_.end()) return members_[owner->second].policy->Prepare(args);
    }
    KeyedRandom random = args.random;
    for (std::size_t member : Turns(random)) {
      absl::StatusOr<std::optional<ProposeRequest>> request = members_[member].policy->Prepare(args);
      if (!request.ok() || request->has_value()) return request;
    }
    return std::nullopt;
  }

  Proposer& proposer() override { return proposer_; }

  std::vector<std::string> operators() const override {
    std::vector<std::string> names;
    for (const auto& [name, member] : by_operator_) names.push_back(name);
    return names;
  }

 private:
  std::map<std::string, Proposer*> Proposers() {
    std::map<std::string, Proposer*> proposers;
    for (const auto& [name, member] : by_operator_) proposers[name] = &members_[member].policy->proposer();
    return proposers;
  }

  // All members, in the order in which they are asked.
  std::vector<std::size_t> Turns(KeyedRandom& random) const {
    std::vector<std::pair<double, std::size_t>> keys;
    for (std::size_t i = 0; i < members_.size(); ++i) {
      // Round robin: who is furthest behind its share. Random: keys u^(1/weight), largest first, draw without replacement (Efraimidis and
      // Spirakis, "Weighted random sampling with a reservoir", 2006).
      const double key = options_.schedule == PortfolioOptions::Schedule::kRoundRobin
                             ? (static_cast<double>(counts_[i]) + 1) / members_[i].weight
                             : -std::log(1 - random.NextDouble()) / members_[i].weight;
      keys.emplace_back(key, i);
    }
    std::sort(keys.begin(), keys.end());
    std::vector<std::size_t> turns;
    for (const auto& [key, member] : keys) turns.push_back(member);
    return turns;
  }

  const PortfolioOptions options_;
  const std::vector<PortfolioMember> members_;
  const std::map<std::string, std::size_t> by_operator_;
  std::vector<std::uint64_t> counts_;  // first attempts dispatched, by member
  RoutingProposer proposer_;
};

absl::StatusOr<std::vector<double>> ParseWeights(const std::string& text) {
  std::vector<double> weights;
  for (const std::string& part : std::vector<std::string>(absl::StrSplit(text, ',', absl::SkipWhitespace()))) {
    double weight = 0;
    if (!absl::SimpleAtod(part, &weight)) {
      return absl::InvalidArgumentError(absl::StrCat("policy 'portfolio': option 'weights' has '", part, "'; expected numbers like 3, 1"));
    }
    weights.push_back(weight);
  }
  return weights;
}

}  // namespace

absl::StatusOr<std::unique_ptr<ExpansionPolicy>> MakePortfolio(std::vector<PortfolioMember> members, const PortfolioOptions& options) {
  if (members.empty()) return absl::InvalidArgumentError("portfolio: no members; expected at least one");
  std::map<std::string, std::size_t> by_operator;
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (!std::isfinite(members[i].weight) || members[i].weight <= 0) {
      return absl::InvalidArgumentError(absl::StrCat("portfolio: the weight of member ", i + 1, " is ", members[i].weight,
                                                     "; expected a number above 0"));
    }
    for (const std::string& name : members[i].policy->operators()) {
      if (by_operator.emplace(name, i).second) continue;
      return absl::InvalidArgumentError(absl::StrCat("portfolio: members ", by_operator[name] + 1, " and ", i + 1,
                                                     " both have the operator '", name, "'"));
    }
  }
  return std::make_unique<Portfolio>(std::move(members), std::move(by_operator), options);
}

absl::StatusOr<std::unique_ptr<ExpansionPolicy>> MakePortfolio(const PolicySpec& spec, const PolicyRegistry& registry) {
  std::string names;
  std::string weight_text;
  std::string schedule = "round_robin";
  OptionReader reader(spec);
  reader.Read("members", "expansion policies, separated by ';'", &names);
  reader.Read("weights", "one number per member, separated by ',', all 1 if empty", &weight_text);
  reader.ReadChoice("schedule", "whose turn it is", &schedule, {"round_robin", "random"});
  if (absl::Status status = reader.Finish(); !status.ok()) return status;

  const absl::StatusOr<std::vector<double>> weights = ParseWeights(weight_text);
  if (!weights.ok()) return weights.status();
  std::vector<PortfolioMember> members;
  for (const std::string& part : std::vector<std::string>(absl::StrSplit(names, ';', absl::SkipWhitespace()))) {
    const absl::StatusOr<PolicySpec> member = PolicySpec::Parse(part);
    if (!member.ok()) return member.status();
    absl::StatusOr<std::unique_ptr<ExpansionPolicy>> made = registry.MakeExpansion(*member);
    if (!made.ok()) return made.status();
    members.push_back({*std::move(made), 1});
  }
  if (!weights->empty() && weights->size() != members.size()) {
    return absl::InvalidArgumentError(absl::StrCat("policy 'portfolio': ", weights->size(), " weights for ", members.size(), " members"));
  }
  for (std::size_t i = 0; i < weights->size(); ++i) members[i].weight = (*weights)[i];
  PortfolioOptions options;
  if (schedule == "random") options.schedule = PortfolioOptions::Schedule::kRandom;
  return MakePortfolio(std::move(members), options);
}

}  // namespace maxkernel
