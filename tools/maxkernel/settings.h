// The settings of a search, as text. One table gives the command-line flags, the keys of configuration files and what a journal records
// for resume.
#ifndef MAXKERNEL_TOOLS_MAXKERNEL_SETTINGS_H_
#define MAXKERNEL_TOOLS_MAXKERNEL_SETTINGS_H_

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "maxkernel/cost.h"
#include "maxkernel/llm/llm_factory.h"
#include "maxkernel/policy_spec.h"

namespace maxkernel {

struct SearchSettings {
  std::string evaluator;                 // address; empty: a private daemon in this process
  PolicySpec select;
  std::vector<PolicySpec> expand;
  std::vector<PolicySpec> stop;
  Budget budget;
  std::optional<std::uint64_t> seed;     // nullopt: from the clock
  std::uint32_t repeats = 5;
  std::uint32_t expand_workers = 8;
  std::optional<std::uint32_t> evaluate_workers;
  LlmOptions llm;                        // without the key
  std::string llm_key_variable;
  std::filesystem::path llm_key_file;
  std::optional<std::filesystem::path> prompt_folder;

  bool uses_llm() const { return !llm.model.empty(); }
};

using SettingValues = std::vector<std::string>;
// Key to values; more than one where a setting repeats.
using SettingMap = std::map<std::string, SettingValues>;

struct Setting {
  std::string key;         // "llm.base_url"
  std::string value_name;  // "URL"
  std::string help;
  bool repeats = false;
  std::string group;       // of the help text
  std::function<absl::Status(const SettingValues&, SearchSettings&)> apply;

  std::string flag() const;  // "--llm-base-url"
};

std::vector<Setting> SettingTable();
std::vector<std::string> SettingKeys();

// What applies to a run when nothing is said.
SettingMap DefaultSettings();

// `origin` prefixes errors: "--budget" or "search.yaml:3: budget".
struct SettingSource {
  SettingMap values;
  std::map<std::string, std::string> origins;
};
// Later sources win.
SettingSource MergeSources(const std::vector<SettingSource>& sources);
// InvalidArgument says which setting is wrong, what it is and what is expected.
absl::StatusOr<SearchSettings> ParseSettings(const SettingSource& source);

// Reads the key from environment or file into settings.llm.api_key. The error never shows it.
absl::Status ReadLlmKey(SearchSettings& settings);

// "evaluations=100, wall=10m", or "none".
std::string BudgetText(const Budget& budget);

}  // namespace maxkernel

#endif  // MAXKERNEL_TOOLS_MAXKERNEL_SETTINGS_H_
