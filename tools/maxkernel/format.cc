#include "tools/maxkernel/format.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

namespace maxkernel {
namespace {

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

std::string Grouped(std::int64_t value) {
  std::string digits = absl::StrCat(value);
  for (std::size_t position = digits.size(); position > 3;) {
    position -= 3;
    digits.insert(position, ",");
  }
  return digits;
}

}  // namespace

std::string ScoreText(const Score& score) {
  std::string text = absl::StrFormat("%.3gx (%s", score.value, std::string(ToString(score.fidelity)));
  if (score.low != score.high) absl::StrAppendFormat(&text, ", 95%% between %.3g and %.3g", score.low, score.high);
  return text + ")";
}

std::string SecondsText(double seconds) {
  if (seconds < 1e-3) return absl::StrFormat("%.3g us", seconds * 1e6);
  if (seconds < 1) return absl::StrFormat("%.3g ms", seconds * 1e3);
  return absl::StrFormat("%.3g s", seconds);
}

std::string DurationText(absl::Duration duration) {
  const std::int64_t seconds = absl::ToInt64Seconds(duration);
  if (seconds < 60) return absl::StrCat(seconds, "s");
  if (seconds < 3600) return absl::StrFormat("%dm%02ds", seconds / 60, seconds % 60);
  return absl::StrFormat("%dh%02dm", seconds / 3600, seconds / 60 % 60);
}

std::string CostText(const Cost& cost) {
  std::vector<std::string> parts = {absl::StrCat(cost.evaluations, " evaluations"), absl::StrCat(cost.nodes, " nodes")};
  if (cost.input_tokens + cost.output_tokens > 0) {
    parts.push_back(absl::StrCat(Grouped(cost.input_tokens), " input and ", Grouped(cost.output_tokens), " output tokens"));
  }
  if (cost.microdollars > 0) parts.push_back(absl::StrFormat("$%.4g", static_cast<double>(cost.microdollars) / 1e6));
  if (cost.device_time > absl::ZeroDuration()) parts.push_back(DurationText(cost.device_time) + " of device time");
  return absl::StrJoin(parts, ", ");
}

std::string TimesText(const Evaluation& evaluation) {
  std::vector<std::string> parts;
  for (const CaseResult& entry : evaluation.cases) {
    if (!entry.samples_seconds.empty()) parts.push_back(absl::StrCat(entry.name, " ", SecondsText(Median(entry.samples_seconds))));
  }
  return absl::StrJoin(parts, ", ");
}

std::string ParametersText(const Parameters& parameters) {
  std::vector<std::string> parts;
  for (const auto& [name, value] : parameters) parts.push_back(absl::StrCat(name, "=", value));
  return absl::StrJoin(parts, " ");
}

std::vector<std::string> DiagnosticLines(const Evaluation& evaluation) {
  std::vector<std::string> lines;
  for (const StageReport& stage : evaluation.stages) {
    for (const Diagnostic& diagnostic : stage.diagnostics) {
      std::string line = diagnostic.file;
      if (diagnostic.line.has_value()) absl::StrAppend(&line, ":", *diagnostic.line);
      absl::StrAppend(&line, line.empty() ? "" : ": ", std::string(ToString(diagnostic.severity)), ": ", diagnostic.message);
      if (!diagnostic.case_name.empty()) absl::StrAppend(&line, " (case ", diagnostic.case_name, ")");
      if (!diagnostic.hint.empty()) absl::StrAppend(&line, "; ", diagnostic.hint);
      lines.push_back(std::move(line));
    }
  }
  return lines;
}

}  // namespace maxkernel
