#ifndef MAXKERNEL_POLICIES_STOP_RULES_H_
#define MAXKERNEL_POLICIES_STOP_RULES_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "maxkernel/policy_registry.h"
#include "maxkernel/policy_spec.h"
#include "maxkernel/stop_policy.h"

namespace maxkernel {

struct PatienceOptions {
  std::uint32_t orders = 50;   // expand orders that may settle in a row without a new champion; those that were exhausted do not count

  absl::Status Validate() const;
};
// Drains when nothing has improved for long.
absl::StatusOr<std::unique_ptr<StopPolicy>> MakePatience(const PatienceOptions& options);
// patience(orders=50)
absl::StatusOr<std::unique_ptr<StopPolicy>> MakePatience(const PolicySpec& spec);

struct TargetOptions {
  double score = 0;            // that the lower confidence bound of the champion's score has to reach

  absl::Status Validate() const;
};
// Drains when the champion is good enough.
absl::StatusOr<std::unique_ptr<StopPolicy>> MakeTarget(const TargetOptions& options);
// target(score=2.5)
absl::StatusOr<std::unique_ptr<StopPolicy>> MakeTarget(const PolicySpec& spec);

// any(rules="patience(orders=20); target(score=3)"): stops when one of them does. Members are made by `registry`.
absl::StatusOr<std::unique_ptr<StopPolicy>> MakeAnyStop(const PolicySpec& spec, const PolicyRegistry& registry);

}  // namespace maxkernel

#endif  // MAXKERNEL_POLICIES_STOP_RULES_H_
