#include "lib/llm/edit_prompt.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "lib/llm/prompt_data.h"
#include "maxkernel/internal/strings.h"
#include "nlohmann/json.hpp"

namespace maxkernel::llm {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kLongDiagnostics = 8000;   // bytes
constexpr std::size_t kShortDiagnostics = 1500;
constexpr std::size_t kLongMessage = 2000;
constexpr std::size_t kMostDiagnostics = 12;
constexpr std::size_t kMostFacts = 8;            // of one case

std::string FindFile(const Task& task, const std::string& path) {
  for (const SourceFile& file : task.files) {
    if (file.path == path) return file.text;
  }
  return "";
}

// The file that a setting of the task's configuration names.
std::string ConfiguredFile(const Json& configuration, const char* setting, const char* usual) {
  const auto found = configuration.is_object() ? configuration.find(setting) : configuration.end();
  return found != configuration.end() && found->is_string() ? found->get<std::string>() : usual;
}

std::string CaseParameters(const Json& configuration, const std::string& name) {
  const auto cases = configuration.is_object() ? configuration.find("cases") : configuration.end();
  if (cases == configuration.end() || !cases->is_array()) return "";
  for (const Json& entry : *cases) {
    if (!entry.is_object() || entry.value("name", Json()) != name) continue;
    const auto parameters = entry.find("params");
    if (parameters == entry.end() || !parameters->is_object()) return "";
    std::string text;
    for (const auto& [key, value] : parameters->items()) absl::StrAppend(&text, text.empty() ? "" : ", ", key, "=", value.dump());
    return text;
  }
  return "";
}

std::string DescribeCases(const Task& task, const Json& configuration) {
  std::string text;
  for (const TaskCase& one : task.cases) {
    if (one.hidden) continue;
    const std::string parameters = CaseParameters(configuration, one.name);
    absl::StrAppend(&text, "- ", one.name, parameters.empty() ? "" : absl::StrCat(": ", parameters), " (",
                    one.test ? (one.score ? "tested and timed" : "tested") : "timed", ")\n");
  }
  return text;
}

std::string FidelityNames(const std::vector<Fidelity>& fidelities) {
  return absl::StrJoin(fidelities, ", ", [](std::string* out, Fidelity fidelity) { absl::StrAppend(out, std::string(ToString(fidelity))); });
}

double Median(std::vector<double> samples) {
  const auto middle = samples.begin() + static_cast<std::ptrdiff_t>(samples.size() / 2);
  std::nth_element(samples.begin(), middle, samples.end());
  return *middle;
}

// Four digits: enough to compare, few enough for equal prompts where times differ by noise.
std::string ShowSeconds(double seconds) {
  if (seconds < 1e-3) return absl::StrFormat("%.4g us", seconds * 1e6);
  return absl::StrFormat("%.4g ms", seconds * 1e3);
}

std::string DescribeTimes(const Evaluation& evaluation) {
  std::string text;
  for (const CaseResult& result : evaluation.cases) {
    if (result.hidden || result.samples_seconds.empty()) continue;
    const double seconds = Median(result.samples_seconds);
    absl::StrAppend(&text, "- ", result.name, ": ", ShowSeconds(seconds));
    if (result.floor_seconds.has_value() && seconds > 0) {
      absl::StrAppend(&text, "; the hardware's lower bound is ", ShowSeconds(*result.floor_seconds),
                      absl::StrFormat(", %.3g %% of it is reached", 100 * *result.floor_seconds / seconds));
    }
    std::size_t shown = 0;
    for (const auto& [name, value] : result.facts) {
      if (shown++ == kMostFacts) break;
      absl::StrAppend(&text, "; ", name, " ", absl::StrFormat("%.6g", value));
    }
    absl::StrAppend(&text, "\n");
  }
  return text.empty() ? "" : absl::StrCat("Times (", std::string(ToString(evaluation.fidelity)), "):\n", text);
}

std::string DescribeDiagnostic(const Diagnostic& diagnostic) {
  std::string text = absl::StrCat("- ", std::string(ToString(diagnostic.severity)));
  if (!diagnostic.class_name.empty()) absl::StrAppend(&text, " [", diagnostic.class_name, "]");
  if (!diagnostic.file.empty()) absl::StrAppend(&text, " ", diagnostic.file);
  if (diagnostic.line.has_value()) absl::StrAppend(&text, " line ", *diagnostic.line);
  if (!diagnostic.case_name.empty()) absl::StrAppend(&text, " (case ", diagnostic.case_name, ")");
  absl::StrAppend(&text, ": ", KeepEnds(diagnostic.message, kLongMessage), "\n");
  if (!diagnostic.hint.empty()) absl::StrAppend(&text, "  hint: ", diagnostic.hint, "\n");
  return text;
}

// Errors first, no message twice.
std::string DescribeDiagnostics(const Evaluation& evaluation, std::size_t limit) {
  std::string text;
  std::set<std::string> seen;
  for (const Severity severity : {Severity::kError, Severity::kWarning, Severity::kNote}) {
    for (const StageReport& stage : evaluation.stages) {
      for (const Diagnostic& diagnostic : stage.diagnostics) {
        if (diagnostic.severity != severity || seen.size() == kMostDiagnostics) continue;
        std::string line = DescribeDiagnostic(diagnostic);
        if (seen.insert(line).second) text += line;
      }
    }
  }
  return KeepEnds(text, limit);
}

std::string Bullets(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) absl::StrAppend(&text, "- ", line, "\n");
  return text;
}

std::string StrategyList(const std::vector<Strategy>& strategies) {
  std::string text;
  for (const Strategy& strategy : strategies) absl::StrAppend(&text, "- ", strategy.text, "\n");
  if (!text.empty()) text.pop_back();
  return text;
}

}  // namespace

bool NeedsRepair(const ParentContext& parent) {
  return parent.evaluation != nullptr && parent.evaluation->verdict != Verdict::kCorrect;
}

EditPromptWriter::EditPromptWriter(std::shared_ptr<const Task> task, PromptLibrary library, std::string hardware)
    : task_(std::move(task)), library_(std::move(library)), tag_(MakeDataTag(task_->digest)) {
  PromptValues values{{"hardware", std::move(hardware)}, {"data_tag", tag_}};
  minimal_system_ = library_.system.Render(values);
  values["notes"] = library_.notes;
  values["strategies"] = StrategyList(library_.strategies);
  system_ = library_.system.Render(values);
  task_text_ = WriteTask();
}

std::vector<LlmMessage> EditPromptWriter::Write(const EditPromptInput& input, PromptDetail detail) const {
  const std::string& system = detail == PromptDetail::kMinimal ? minimal_system_ : system_;
  return {{LlmMessage::Role::kSystem, system}, {LlmMessage::Role::kUser, absl::StrCat(task_text_, "\n", WriteOrder(input, detail))}};
}

std::string EditPromptWriter::WriteMendEdits(const std::string& failures) const {
  return library_.mend_edits.Render({{"failures", DataBlock(tag_, "failures", failures)}});
}

std::string EditPromptWriter::WriteTask() const {
  const Json configuration = Json::parse(task_->configuration, nullptr, false);
  const std::string reference = FindFile(*task_, ConfiguredFile(configuration, "reference", "reference.py"));
  const std::string inputs = FindFile(*task_, ConfiguredFile(configuration, "inputs", "inputs.py"));
  const auto block = [&](const char* name, const std::string& text) { return text.empty() ? "" : DataBlock(tag_, name, text); };
  return library_.task.Render({{"name", task_->name},
                               {"description", task_->description},
                               {"chip", task_->chip},
                               {"fidelity", std::string(ToString(task_->score))},
                               {"valid", FidelityNames(task_->valid)},
                               {"cases", DescribeCases(*task_, configuration)},
                               {"reference", block("reference.py", reference)},
                               {"inputs", block("inputs.py", inputs)}});
}

std::string EditPromptWriter::WriteOrder(const EditPromptInput& input, PromptDetail detail) const {
  PromptValues values{{"strategy", input.strategy}, {"hints", Bullets(input.hints)}};
  if (input.parents.empty()) {
    values["entry"] = task_->baseline->entry().path;
    return library_.draft.Render(values);
  }
  const auto block = [&](const char* name, const std::string& text) { return text.empty() ? "" : DataBlock(tag_, name, text); };
  const ParentContext& parent = input.parents.front();
  values["entry"] = parent.candidate->entry().path;
  values["parent"] = ShowCandidate(*parent.candidate);
  if (detail == PromptDetail::kAll) {
    values["lineage"] = block("lineage", Bullets(input.lineage));
    values["siblings"] = block("tried", Bullets(input.siblings));
    for (std::size_t i = 1; i < input.parents.size(); ++i) {
      const ParentContext& other = input.parents[i];
      if (other.score.has_value()) absl::StrAppend(&values["others"], absl::StrFormat("%.4g times as fast as the baseline:\n", other.score->value));
      values["others"] += ShowCandidate(*other.candidate);
    }
  }
  if (parent.score.has_value()) values["score"] = absl::StrFormat("%.4g", parent.score->value);
  if (parent.evaluation != nullptr) {
    const bool is_short = detail >= PromptDetail::kShortLogs;
    values["times"] = DescribeTimes(*parent.evaluation);
    values["diagnostics"] = block("diagnostics", DescribeDiagnostics(*parent.evaluation, is_short ? kShortDiagnostics : kLongDiagnostics));
    values["verdict"] = ToString(parent.evaluation->verdict);
    values["reason"] = block("reason", KeepEnds(parent.evaluation->reason, is_short ? kShortDiagnostics : kLongMessage));
  }
  return (NeedsRepair(parent) ? library_.repair : library_.improve).Render(values);
}

std::string EditPromptWriter::ShowCandidate(const Candidate& candidate) const {
  std::string text;
  for (const SourceFile& file : candidate.files()) text += DataBlock(tag_, file.path, file.text);
  return text;
}

}  // namespace maxkernel::llm
