#include "absl/strings/str_cat.h"
#include "lib/testing/contract_run.h"
#include "maxkernel/testing/contract.h"

namespace maxkernel {
namespace {

bool AreEqual(const StopVerdict& a, const StopVerdict& b) { return a.kind == b.kind && a.reason == b.reason; }

void CheckRun(const std::function<std::unique_ptr<StopPolicy>()>& make, std::uint64_t seed, std::vector<std::string>& violations) {
  const ContractRun run = RunSimulation(seed, nullptr, make());
  if (!run.result.status.ok()) {
    violations.push_back(absl::StrCat("seed ", seed, ": the run ended with ", run.result.status.ToString()));
  }
  const auto policy = make();
  const auto fresh = make();
  Fold fold(seed);
  for (const Event& event : run.events) {
    if (!fold.Apply(event)) return;
    policy->OnEvent(fold.ArgsOf(event));
    fresh->OnEvent(fold.ArgsOf(event));
    const StopVerdict verdict = policy->Check(fold.Stop());
    if (!AreEqual(verdict, policy->Check(fold.Stop()))) {
      violations.push_back(absl::StrCat("seed ", seed, ": Check answers differently when asked twice"));
      return;
    }
    if (!AreEqual(verdict, fresh->Check(fold.Stop()))) {
      violations.push_back(absl::StrCat("seed ", seed, ": a policy that was not asked before answers differently"));
      return;
    }
    if (verdict.kind != StopVerdict::Kind::kContinue && verdict.reason.empty()) {
      violations.push_back(absl::StrCat("seed ", seed, ": stops without a reason"));
      return;
    }
  }
}

}  // namespace

std::vector<std::string> CheckStopContract(const std::function<std::unique_ptr<StopPolicy>()>& make) {
  std::vector<std::string> violations;
  const std::optional<std::string> exception = TextOfException([&] {
    for (std::uint64_t seed = 1; seed <= 3; ++seed) CheckRun(make, seed, violations);
  });
  if (exception.has_value()) violations.push_back(absl::StrCat("the policy threw: ", *exception));
  return violations;
}

}  // namespace maxkernel
