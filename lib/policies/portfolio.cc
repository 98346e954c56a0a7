#include "maxkernel/policies/portfolio.h"

#include <map>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "maxkernel/internal/strings.h"

namespace maxkernel {
namespace {

using MemberByOperator = std::map<std::string, ExpansionPolicy*, std::less<>>;

class PortfolioProposer : public Proposer {
 public:
  explicit PortfolioProposer(MemberByOperator members) : members_(std::move(members)) {}

  absl::StatusOr<ProposeResult> Propose(const ProposeArgs& args) override {
    const auto member = members_.find(args.request.operator_name);
    if (member == members_.end()) {
      return absl::InvalidArgumentError(absl::StrCat("portfolio: no member has the operator '", args.request.operator_name, "'"));
    }
    return member->second->proposer().Propose(args);
  }

 private:
  const MemberByOperator members_;
};

class Portfolio : public ExpansionPolicy {
 public:
  Portfolio(std::vector<std::unique_ptr<ExpansionPolicy>> members, MemberByOperator by_operator)
      : members_(std::move(members)), by_operator_(by_operator), proposer_(std::move(by_operator)) {}

  void OnEvent(const OnEventArgs& args) override {
    for (const auto& member : members_) member->OnEvent(args);
  }

  absl::StatusOr<std::optional<ProposeRequest>> Prepare(const PrepareArgs& args) const override {
    if (args.earlier != nullptr) return PrepareWith(args.earlier->operator_name, args);
    if (!args.order.operator_name.empty()) return PrepareWith(args.order.operator_name, args);
    KeyedRandom random = args.random;
    std::vector<const ExpansionPolicy*> members;
    for (const auto& member : members_) members.push_back(member.get());
    random.Shuffle(members);
    PrepareArgs member_args = args;
    member_args.random = random;
    for (const ExpansionPolicy* member : members) {
      absl::StatusOr<std::optional<ProposeRequest>> request = member->Prepare(member_args);
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
  absl::StatusOr<std::optional<ProposeRequest>> PrepareWith(const std::string& operator_name, const PrepareArgs& args) const {
    const auto member = by_operator_.find(operator_name);
    if (member == by_operator_.end()) {
      const std::vector<std::string> known = operators();
      return absl::InvalidArgumentError(absl::StrCat("portfolio: unknown operator '", operator_name, "'; valid: ",
                                                     absl::StrJoin(known, ", "), internal::DidYouMean(operator_name, known)));
    }
    return member->second->Prepare(args);
  }

  const std::vector<std::unique_ptr<ExpansionPolicy>> members_;
  const MemberByOperator by_operator_;
  PortfolioProposer proposer_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ExpansionPolicy>> MakePortfolio(std::vector<std::unique_ptr<ExpansionPolicy>> members) {
  if (members.empty()) return absl::InvalidArgumentError("portfolio: no member; at least one expansion policy is needed");
  MemberByOperator by_operator;
  for (const auto& member : members) {
    for (const std::string& name : member->operators()) {
      if (!by_operator.emplace(name, member.get()).second) {
        return absl::InvalidArgumentError(absl::StrCat("portfolio: two members have the operator '", name, "'; name each operator once"));
      }
    }
  }
  return std::make_unique<Portfolio>(std::move(members), std::move(by_operator));
}

}  // namespace maxkernel
