#ifndef MAXKERNEL_POLICY_REGISTRY_H_
#define MAXKERNEL_POLICY_REGISTRY_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "maxkernel/expansion_policy.h"
#include "maxkernel/policy_spec.h"
#include "maxkernel/selection_policy.h"
#include "maxkernel/stop_policy.h"

namespace maxkernel {

// Policies by name. Built in main and filled by calls, never by static initialisers, which linkers drop from static libraries.
// A factory reads its options with OptionReader; what else it needs (the task, an LLM client) it captures.
// Thread-compatible.
class PolicyRegistry {
 public:
  template <typename Policy>
  using Factory = std::function<absl::StatusOr<std::unique_ptr<Policy>>(const PolicySpec&)>;

  // AlreadyExists if the name is taken.
  absl::Status AddSelection(std::string name, std::string help, Factory<SelectionPolicy> factory);
  absl::Status AddExpansion(std::string name, std::string help, Factory<ExpansionPolicy> factory);
  absl::Status AddStop(std::string name, std::string help, Factory<StopPolicy> factory);

  // NotFound lists the known names and the nearest one.
  absl::StatusOr<std::unique_ptr<SelectionPolicy>> MakeSelection(const PolicySpec& spec) const;
  absl::StatusOr<std::unique_ptr<ExpansionPolicy>> MakeExpansion(const PolicySpec& spec) const;
  absl::StatusOr<std::unique_ptr<StopPolicy>> MakeStop(const PolicySpec& spec) const;

  // Name and one-line help, in name order.
  std::vector<std::pair<std::string, std::string>> selections() const;
  std::vector<std::pair<std::string, std::string>> expansions() const;
  std::vector<std::pair<std::string, std::string>> stops() const;

 private:
  template <typename Policy>
  struct Entry {
    std::string help;
    Factory<Policy> factory;
  };
  std::map<std::string, Entry<SelectionPolicy>, std::less<>> selections_;
  std::map<std::string, Entry<ExpansionPolicy>, std::less<>> expansions_;
  std::map<std::string, Entry<StopPolicy>, std::less<>> stops_;
};

}  // namespace maxkernel

#endif  // MAXKERNEL_POLICY_REGISTRY_H_
