#include "lib/llm/prompt_library.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <set>
#include <sstream>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "maxkernel/internal/strings.h"

namespace maxkernel::llm {
namespace {

absl::StatusOr<std::string> ReadFile(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream) return absl::NotFoundError(absl::StrCat("the prompt file ", file.string(), " cannot be read"));
  std::ostringstream contents;
  contents << stream.rdbuf();
  return std::move(contents).str();
}

absl::Status Load(const std::filesystem::path& folder, const char* name, const std::vector<std::string>& known, PromptTemplate* result) {
  const std::filesystem::path file = folder / name;
  absl::StatusOr<std::string> text = ReadFile(file);
  if (!text.ok()) return text.status();
  absl::StatusOr<PromptTemplate> parsed = PromptTemplate::Parse(file.string(), *text, known);
  if (!parsed.ok()) return parsed.status();
  *result = *std::move(parsed);
  return absl::OkStatus();
}

absl::Status Malformed(const std::filesystem::path& file, const YAML::Mark& mark, const std::string& what) {
  return absl::InvalidArgumentError(absl::StrCat(file.string(), ":", mark.line + 1, ": ", what));
}

// yaml-cpp throws; nothing gets past here.
template <typename Use>
auto WithYaml(const std::filesystem::path& file, const Use& use) -> decltype(use(YAML::Node())) {
  absl::StatusOr<std::string> text = ReadFile(file);
  if (!text.ok()) return text.status();
  try {
    return use(YAML::Load(*text));
  } catch (const YAML::Exception& exception) {
    return Malformed(file, exception.mark, exception.msg);
  }
}

bool IsIdentifier(const std::string& text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) { return absl::ascii_islower(c) || absl::ascii_isdigit(c) || c == '_'; });
}

absl::StatusOr<std::vector<Strategy>> ReadStrategies(const std::filesystem::path& file, const YAML::Node& root) {
  const YAML::Node list = root.IsMap() ? root["strategies"] : YAML::Node();
  if (!list.IsDefined() || !list.IsSequence()) return Malformed(file, root.Mark(), "expected a list \"strategies\"");
  std::vector<Strategy> strategies;
  std::set<std::string> ids;
  for (const YAML::Node& entry : list) {
    if (!entry.IsMap()) return Malformed(file, entry.Mark(), "expected a strategy with \"id\" and \"text\"");
    for (const auto& member : entry) {
      const std::string key = member.first.as<std::string>();
      if (key != "id" && key != "text") {
        return Malformed(file, member.first.Mark(), absl::StrCat("unknown key \"", key, "\" of a strategy: expected id, text"));
      }
    }
    if (!entry["id"] || !entry["text"]) return Malformed(file, entry.Mark(), "a strategy needs both \"id\" and \"text\"");
    Strategy strategy{entry["id"].as<std::string>(), entry["text"].as<std::string>()};
    if (!IsIdentifier(strategy.id)) {
      return Malformed(file, entry.Mark(), absl::StrCat("strategy id \"", strategy.id, "\": expected lower-case letters, digits and _"));
    }
    if (!ids.insert(strategy.id).second) return Malformed(file, entry.Mark(), absl::StrCat("strategy \"", strategy.id, "\" is there twice"));
    strategies.push_back(std::move(strategy));
  }
  return strategies;
}

// Keys that tell a program how to drive a chip, not a person how to write for it.
constexpr std::array kNotForPrompts = {"name", "device_kinds", "pci_device_id", "aot", "aot_host", "ici", "sparsecore"};

bool IsForPrompts(const std::string& key) {
  if (key.ends_with("_alt") || key.ends_with("_observed")) return false;  // a second source's figure for the same thing
  return std::find(kNotForPrompts.begin(), kNotForPrompts.end(), key) == kNotForPrompts.end();
}

std::string FlowText(const YAML::Node& node) {
  YAML::Emitter emitter;
  emitter << YAML::Flow << node;
  return emitter.c_str();
}

absl::StatusOr<std::string> ReadChip(const std::filesystem::path& file, const YAML::Node& root, std::string_view chip) {
  if (!root.IsMap() || !root["chips"] || !root["chips"].IsSequence()) return Malformed(file, root.Mark(), "expected a list \"chips\"");
  std::vector<std::string> known;
  for (const YAML::Node& entry : root["chips"]) {
    if (!entry.IsMap() || !entry["name"]) return Malformed(file, entry.Mark(), "expected a chip with a \"name\"");
    known.push_back(entry["name"].as<std::string>());
    if (known.back() != chip) continue;
    std::string text = absl::StrCat(known.back(), ". Figures are per chip unless a name says otherwise.\n");
    for (const auto& member : entry) {
      const std::string key = member.first.as<std::string>();
      if (!IsForPrompts(key)) continue;
      absl::StrAppend(&text, "- ", key, ": ", FlowText(member.second), "\n");
    }
    for (const char* key : {"lanes", "sublanes"}) {
      if (root["common"] && root["common"][key]) absl::StrAppend(&text, "- ", key, ": ", FlowText(root["common"][key]), "\n");
    }
    text.pop_back();
    return text;
  }
  return absl::InvalidArgumentError(absl::StrCat(file.string(), ": there is no chip \"", std::string(chip), "\": expected one of ",
                                                 absl::StrJoin(known, ", "), internal::DidYouMean(chip, known)));
}

}  // namespace

absl::StatusOr<PromptLibrary> LoadPrompts(const std::filesystem::path& folder) {
  PromptLibrary library;
  const std::pair<const char*, std::pair<std::vector<std::string>, PromptTemplate*>> files[] = {
      {"system.md", {{"hardware", "notes", "strategies", "data_tag"}, &library.system}},
      {"task.md", {{"name", "description", "chip", "fidelity", "valid", "cases", "reference", "inputs"}, &library.task}},
      {"improve.md",
       {{"parent", "score", "times", "diagnostics", "lineage", "siblings", "others", "strategy", "hints", "entry"}, &library.improve}},
      {"repair.md", {{"parent", "verdict", "reason", "diagnostics", "lineage", "siblings", "hints", "entry"}, &library.repair}},
      {"draft.md", {{"strategy", "hints", "entry"}, &library.draft}},
      {"mend_edits.md", {{"failures"}, &library.mend_edits}}};
  for (const auto& [name, target] : files) {
    if (absl::Status status = Load(folder, name, target.first, target.second); !status.ok()) return status;
  }
  absl::StatusOr<std::string> notes = ReadFile(folder / "pallas_tpu.md");
  if (!notes.ok()) return notes.status();
  library.notes = std::string(absl::StripTrailingAsciiWhitespace(*notes));
  const std::filesystem::path strategies_file = folder / "strategies.yaml";
  absl::StatusOr<std::vector<Strategy>> strategies =
      WithYaml(strategies_file, [&](const YAML::Node& root) { return ReadStrategies(strategies_file, root); });
  if (!strategies.ok()) return strategies.status();
  library.strategies = *std::move(strategies);
  return library;
}

absl::StatusOr<std::string> DescribeChip(const std::filesystem::path& hardware_file, std::string_view chip) {
  return WithYaml(hardware_file, [&](const YAML::Node& root) { return ReadChip(hardware_file, root, chip); });
}

}  // namespace maxkernel::llm
