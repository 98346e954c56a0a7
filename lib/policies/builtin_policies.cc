#include "maxkernel/policies/builtin_policies.h"

#include "maxkernel/policies/autotune.h"
#include "maxkernel/policies/beam.h"
#include "maxkernel/policies/best_first.h"
#include "maxkernel/policies/portfolio.h"
#include "maxkernel/policies/random_selection.h"
#include "maxkernel/policies/script.h"
#include "maxkernel/policies/stop_rules.h"

namespace maxkernel {
namespace {

absl::Status RegisterSelections(PolicyRegistry& registry) {
  absl::Status status = registry.AddSelection("best_first", "the best node that is not done with (stable)",
                                              [](const PolicySpec& spec) { return MakeBestFirst(spec); });
  status.Update(registry.AddSelection("beam", "the best few nodes of each depth, without barriers (stable)",
                                      [](const PolicySpec& spec) { return MakeBeam(spec); }));
  status.Update(registry.AddSelection("random", "any valid node: the baseline for comparisons (stable)",
                                      [](const PolicySpec& spec) { return MakeRandomSelection(spec); }));
  return status;
}

absl::Status RegisterExpansions(PolicyRegistry& registry) {
  absl::Status status = registry.AddExpansion("autotune", "other values for the tunables that a source declares (stable)",
                                              [](const PolicySpec& spec) { return MakeAutotune(spec); });
  status.Update(registry.AddExpansion("script", "a command that reads and writes JSON (stable)",
                                      [](const PolicySpec& spec) { return MakeScript(spec); }));
  status.Update(registry.AddExpansion("portfolio", "several expansion policies in turn (experimental)",
                                      [&registry](const PolicySpec& spec) { return MakePortfolio(spec, registry); }));
  return status;
}

absl::Status RegisterStops(PolicyRegistry& registry) {
  absl::Status status = registry.AddStop("patience", "so many orders without a new champion (stable)",
                                         [](const PolicySpec& spec) { return MakePatience(spec); });
  status.Update(registry.AddStop("target", "a champion that is good enough (stable)",
                                 [](const PolicySpec& spec) { return MakeTarget(spec); }));
  status.Update(registry.AddStop("any", "the first of several rules (stable)",
                                 [&registry](const PolicySpec& spec) { return MakeAnyStop(spec, registry); }));
  return status;
}

}  // namespace

absl::Status RegisterBuiltinPolicies(PolicyRegistry& registry) {
  absl::Status status = RegisterSelections(registry);
  status.Update(RegisterExpansions(registry));
  status.Update(RegisterStops(registry));
  return status;
}

}  // namespace maxkernel
