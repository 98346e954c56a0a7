#include "tools/maxkernel/settings.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "maxkernel/internal/strings.h"

namespace maxkernel {
namespace {

using Apply = std::function<absl::Status(const SettingValues&, SearchSettings&)>;

absl::Status Expected(std::string_view given, std::string_view expected) {
  return absl::InvalidArgumentError(absl::StrCat("'", std::string(given), "' is not valid; expected ", std::string(expected)));
}

absl::StatusOr<std::int64_t> ParseCount(const std::string& text, std::int64_t minimum, std::int64_t maximum) {
  std::int64_t value = 0;
  if (!absl::SimpleAtoi(text, &value) || value < minimum || value > maximum) {
    return Expected(text, absl::StrCat("a whole number, ", minimum, "..", maximum));
  }
  return value;
}

// Counts that people write with an exponent: "2e6".
absl::StatusOr<std::int64_t> ParseLargeCount(const std::string& text) {
  double value = 0;
  if (!absl::SimpleAtod(text, &value) || !(value >= 0) || value > 9e15 || value != std::floor(value)) {
    return Expected(text, "a whole number of 0 or more, such as 200000 or 2e5");
  }
  return static_cast<std::int64_t>(value);
}

absl::StatusOr<absl::Duration> ParseTime(const std::string& text) {
  absl::Duration value;
  if (!absl::ParseDuration(text, &value) || value < absl::ZeroDuration()) return Expected(text, "a time such as 90s, 10m or 1h30m");
  return value;
}

constexpr double kMaximumDollars = 1e9;

absl::StatusOr<std::int64_t> ParseDollars(const std::string& text) {
  double value = 0;
  if (!absl::SimpleAtod(text, &value) || !(value >= 0) || value > kMaximumDollars) {
    return Expected(text, "an amount in US dollars of 0 or more, such as 2.50");
  }
  return static_cast<std::int64_t>(std::llround(value * 1e6));
}

// Calls `set` for every "name=value" in the values, which may hold several with commas between them.
absl::Status ForEachAssignment(const SettingValues& values, const std::vector<std::string>& names,
                               const std::function<absl::Status(const std::string&, const std::string&)>& set) {
  for (const std::string& value : values) {
    for (const absl::string_view part : absl::StrSplit(value, ',')) {
      const std::pair<absl::string_view, absl::string_view> assignment = absl::StrSplit(part, absl::MaxSplits('=', 1));
      const std::string name(absl::StripAsciiWhitespace(assignment.first));
      const std::string text(absl::StripAsciiWhitespace(assignment.second));
      if (std::find(names.begin(), names.end(), name) == names.end()) {
        return absl::InvalidArgumentError(absl::StrCat("unknown name '", name, "'; valid: ", absl::StrJoin(names, ", "),
                                                       internal::DidYouMean(name, names)));
      }
      if (text.empty()) return absl::InvalidArgumentError(absl::StrCat("'", name, "' has no value; expected ", name, "=VALUE"));
      if (absl::Status status = set(name, text); !status.ok()) {
        return absl::InvalidArgumentError(absl::StrCat(name, ": ", std::string(status.message())));
      }
    }
  }
  return absl::OkStatus();
}

template <typename Source, typename Target>
absl::Status Store(const absl::StatusOr<Source>& value, Target& target) {
  if (!value.ok()) return value.status();
  target = *value;
  return absl::OkStatus();
}

absl::Status ApplyBudget(const SettingValues& values, SearchSettings& settings) {
  Budget& budget = settings.budget;
  return ForEachAssignment(values, {"evaluations", "nodes", "wall", "tokens", "money", "device"},
                           [&](const std::string& name, const std::string& text) -> absl::Status {
                             if (name == "evaluations") return Store(ParseLargeCount(text), budget.evaluations);
                             if (name == "nodes") return Store(ParseLargeCount(text), budget.nodes);
                             if (name == "tokens") return Store(ParseLargeCount(text), budget.tokens);
                             if (name == "money") return Store(ParseDollars(text), budget.microdollars);
                             if (name == "wall") return Store(ParseTime(text), budget.wall_time);
                             return Store(ParseTime(text), budget.device_time);
                           });
}

absl::Status ApplyPrice(const SettingValues& values, SearchSettings& settings) {
  ModelPrice& price = settings.llm.price;
  return ForEachAssignment(values, {"input", "cached", "output"}, [&](const std::string& name, const std::string& text) {
    return Store(ParseDollars(text), name == "input" ? price.input : name == "cached" ? price.cached_input : price.output);
  });
}

absl::Status ApplyCassette(const SettingValues& values, SearchSettings& settings) {
  const std::string& text = values.back();
  const std::pair<std::string, std::string> parts = absl::StrSplit(text, absl::MaxSplits(':', 1));
  if (parts.second.empty() || (parts.first != "record" && parts.first != "replay")) {
    return Expected(text, "record:FILE or replay:FILE");
  }
  settings.llm.cassette = parts.first == "record" ? LlmOptions::Cassette::kRecord : LlmOptions::Cassette::kReplay;
  settings.llm.cassette_file = parts.second;
  return absl::OkStatus();
}

absl::Status ApplySpecs(const SettingValues& values, std::vector<PolicySpec>& specs) {
  for (const std::string& value : values) {
    absl::StatusOr<PolicySpec> spec = PolicySpec::Parse(value);
    if (!spec.ok()) return spec.status();
    specs.push_back(*std::move(spec));
  }
  return absl::OkStatus();
}

// A setting that is a whole number: `get` gives what it is stored in.
template <typename Get>
Apply Count(std::int64_t minimum, std::int64_t maximum, Get get) {
  return [=](const SettingValues& values, SearchSettings& settings) {
    return Store(ParseCount(values.back(), minimum, maximum), get(settings));
  };
}

template <typename Get>
Apply Text(Get get) {
  return [=](const SettingValues& values, SearchSettings& settings) {
    get(settings) = values.back();
    return absl::OkStatus();
  };
}

constexpr char kSearchGroup[] = "Search";
constexpr char kLlmGroup[] = "Language model";
constexpr std::int64_t kMaximumTokens = 100'000'000;

void AddSearchSettings(std::vector<Setting>& table) {
  table.push_back({"evaluator", "ADDRESS", "Evaluation daemon, such as 127.0.0.1:4000; default: a private one in this process", false,
                   kSearchGroup, Text([](SearchSettings& s) -> auto& { return s.evaluator; })});
  table.push_back({"select", "POLICY", "Which nodes to work on next: best_first, beam, random; default best_first", false, kSearchGroup,
                   [](const SettingValues& values, SearchSettings& settings) {
                     return Store(PolicySpec::Parse(values.back()), settings.select);
                   }});
  table.push_back({"expand", "POLICY",
                   "How to make candidates: autotune, script, llm_edit; several make a portfolio; default autotune(method=neighbour), and "
                   "llm_edit if a model is named",
                   true, kSearchGroup,
                   [](const SettingValues& values, SearchSettings& settings) { return ApplySpecs(values, settings.expand); }});
  table.push_back({"stop", "POLICY", "When to stop early: patience, target; several: the first that applies", true, kSearchGroup,
                   [](const SettingValues& values, SearchSettings& settings) { return ApplySpecs(values, settings.stop); }});
  table.push_back({"budget", "LIMITS",
                   "evaluations=N,nodes=N,wall=10m,tokens=N,money=DOLLARS,device=1h; default evaluations=64", true, kSearchGroup,
                   ApplyBudget});
  table.push_back({"seed", "NUMBER", "Of all randomness; default: from the clock, recorded", false, kSearchGroup,
                   Count(0, std::numeric_limits<std::int64_t>::max(), [](SearchSettings& s) -> auto& { return s.seed; })});
  table.push_back({"repeats", "NUMBER", "Timed samples per case; default 5", false, kSearchGroup,
                   Count(1, 1000, [](SearchSettings& s) -> auto& { return s.repeats; })});
  table.push_back({"expand_workers", "NUMBER", "Proposals at once; default 8", false, kSearchGroup,
                   Count(1, 1024, [](SearchSettings& s) -> auto& { return s.expand_workers; })});
  table.push_back({"evaluate_workers", "NUMBER", "Evaluations at once; default: what the daemon can do, and one more", false, kSearchGroup,
                   Count(1, 1024, [](SearchSettings& s) -> auto& { return s.evaluate_workers; })});
  table.push_back({"prompts", "FOLDER", "Prompts to use instead of the built-in ones", false, kSearchGroup,
                   Text([](SearchSettings& s) -> auto& { return s.prompt_folder; })});
}

void AddLlmSettings(std::vector<Setting>& table) {
  table.push_back({"llm.base_url", "URL", "OpenAI-compatible service, such as http://127.0.0.1:8000/v1", false, kLlmGroup,
                   Text([](SearchSettings& s) -> auto& { return s.llm.base_url; })});
  table.push_back({"llm.model", "NAME", "Model, as the service calls it", false, kLlmGroup,
                   Text([](SearchSettings& s) -> auto& { return s.llm.model; })});
  table.push_back({"llm.key_env", "VARIABLE", "Environment variable that holds the key; default MAXKERNEL_LLM_API_KEY, if set", false,
                   kLlmGroup, Text([](SearchSettings& s) -> auto& { return s.llm_key_variable; })});
  table.push_back({"llm.key_file", "FILE", "File that holds the key", false, kLlmGroup,
                   Text([](SearchSettings& s) -> auto& { return s.llm_key_file; })});
  table.push_back({"llm.price", "PRICES", "input=,cached=,output= in US dollars per million tokens; default: free", true, kLlmGroup,
                   ApplyPrice});
  table.push_back({"llm.context_tokens", "NUMBER", "Context of the model; default 32768", false, kLlmGroup,
                   Count(512, kMaximumTokens, [](SearchSettings& s) -> auto& { return s.llm.context_tokens; })});
  table.push_back({"llm.max_output_tokens", "NUMBER", "Longest reply; default 8192", false, kLlmGroup,
                   Count(16, kMaximumTokens, [](SearchSettings& s) -> auto& { return s.llm.max_output_tokens; })});
  table.push_back({"llm.temperature", "NUMBER", "0..2; default: the service's", false, kLlmGroup,
                   [](const SettingValues& values, SearchSettings& settings) -> absl::Status {
                     double value = 0;
                     if (!absl::SimpleAtod(values.back(), &value) || !(value >= 0 && value <= 2)) {
                       return Expected(values.back(), "a number, 0..2");
                     }
                     settings.llm.temperature = value;
                     return absl::OkStatus();
                   }});
  table.push_back({"llm.retries", "NUMBER", "Of one call, when the service fails; default 4", false, kLlmGroup,
                   Count(0, 100, [](SearchSettings& s) -> auto& { return s.llm.retries; })});
  table.push_back({"llm.requests_per_minute", "NUMBER", "Limit on calls; default 0: none", false, kLlmGroup,
                   Count(0, 1'000'000, [](SearchSettings& s) -> auto& { return s.llm.requests_per_minute; })});
  table.push_back({"llm.plain_http", "allow|refuse", "http to other machines, unencrypted; default refuse", false, kLlmGroup,
                   [](const SettingValues& values, SearchSettings& settings) -> absl::Status {
                     if (values.back() != "allow" && values.back() != "refuse") return Expected(values.back(), "allow or refuse");
                     settings.llm.allow_plain_http = values.back() == "allow";
                     return absl::OkStatus();
                   }});
  table.push_back({"llm.cassette", "MODE:FILE", "record:FILE keeps the exchanges, replay:FILE answers from them without a network", false,
                   kLlmGroup, ApplyCassette});
}

}  // namespace

std::string Setting::flag() const { return "--" + absl::StrReplaceAll(key, {{".", "-"}, {"_", "-"}}); }

std::vector<Setting> SettingTable() {
  std::vector<Setting> table;
  AddSearchSettings(table);
  AddLlmSettings(table);
  return table;
}

std::vector<std::string> SettingKeys() {
  std::vector<std::string> keys;
  for (const Setting& setting : SettingTable()) keys.push_back(setting.key);
  return keys;
}

SettingMap DefaultSettings() {
  return {{"select", {"best_first"}}, {"budget", {"evaluations=64"}}, {"repeats", {"5"}}, {"expand_workers", {"8"}}};
}

SettingSource MergeSources(const std::vector<SettingSource>& sources) {
  SettingSource merged;
  for (const SettingSource& source : sources) {
    for (const auto& [key, values] : source.values) {
      merged.values[key] = values;
      const auto origin = source.origins.find(key);
      merged.origins[key] = origin == source.origins.end() ? key : origin->second;
    }
  }
  if (!merged.values.contains("expand")) {
    SettingValues expand = {"autotune(method=neighbour)"};
    if (merged.values.contains("llm.model")) expand.push_back("llm_edit");
    merged.values["expand"] = std::move(expand);
    merged.origins["expand"] = "expand";
  }
  return merged;
}

absl::StatusOr<SearchSettings> ParseSettings(const SettingSource& source) {
  SearchSettings settings;
  std::vector<std::string> known;
  for (const Setting& setting : SettingTable()) {
    known.push_back(setting.key);
    const auto values = source.values.find(setting.key);
    if (values == source.values.end() || values->second.empty()) continue;
    const auto origin = source.origins.find(setting.key);
    const std::string name = origin == source.origins.end() ? setting.key : origin->second;
    if (!setting.repeats && values->second.size() > 1) {
      return absl::InvalidArgumentError(absl::StrCat(name, ": given ", values->second.size(), " times; expected once"));
    }
    if (absl::Status status = setting.apply(values->second, settings); !status.ok()) {
      return absl::InvalidArgumentError(absl::StrCat(name, ": ", std::string(status.message())));
    }
  }
  for (const auto& [key, values] : source.values) {
    if (std::find(known.begin(), known.end(), key) == known.end()) {
      return absl::InvalidArgumentError(absl::StrCat("unknown setting '", key, "'", internal::DidYouMean(key, known)));
    }
  }
  return settings;
}

absl::Status ReadLlmKey(SearchSettings& settings) {
  if (!settings.llm_key_file.empty()) {
    std::ifstream file(settings.llm_key_file);
    std::string key;
    if (!file || !std::getline(file, key)) {
      return absl::NotFoundError(absl::StrCat("llm.key_file: cannot read ", settings.llm_key_file.string(),
                                              "; expected a readable file whose first line is the key"));
    }
    settings.llm.api_key = std::string(absl::StripAsciiWhitespace(key));
    return absl::OkStatus();
  }
  const bool named = !settings.llm_key_variable.empty();
  const std::string variable = named ? settings.llm_key_variable : "MAXKERNEL_LLM_API_KEY";
  const char* key = std::getenv(variable.c_str());
  if (key != nullptr) {
    settings.llm.api_key = std::string(absl::StripAsciiWhitespace(key));
  } else if (named) {
    return absl::NotFoundError(absl::StrCat("llm.key_env: the environment variable ", variable, " is not set; expected the key in it"));
  }
  return absl::OkStatus();
}

std::string BudgetText(const Budget& budget) {
  std::vector<std::string> parts;
  if (budget.evaluations.has_value()) parts.push_back(absl::StrCat("evaluations=", *budget.evaluations));
  if (budget.nodes.has_value()) parts.push_back(absl::StrCat("nodes=", *budget.nodes));
  if (budget.wall_time.has_value()) parts.push_back("wall=" + absl::FormatDuration(*budget.wall_time));
  if (budget.tokens.has_value()) parts.push_back(absl::StrCat("tokens=", *budget.tokens));
  if (budget.microdollars.has_value()) parts.push_back(absl::StrCat("money=", static_cast<double>(*budget.microdollars) / 1e6));
  if (budget.device_time.has_value()) parts.push_back("device=" + absl::FormatDuration(*budget.device_time));
  return parts.empty() ? "none" : absl::StrJoin(parts, ", ");
}

}  // namespace maxkernel
