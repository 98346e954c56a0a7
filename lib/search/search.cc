#include "maxkernel/search.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "lib/search/coordinator.h"

namespace maxkernel {
namespace {

absl::Status Missing(std::string_view part) {
  return absl::InvalidArgumentError(absl::StrCat("search parts: ", std::string(part), " is missing"));
}

absl::Status CheckParts(const SearchParts& parts) {
  if (parts.baseline == nullptr) return Missing("baseline");
  if (parts.selection == nullptr) return Missing("selection");
  if (parts.expansion == nullptr) return Missing("expansion");
  if (parts.evaluator == nullptr) return Missing("evaluator");
  if (parts.journal == nullptr) return Missing("journal");
  if (parts.clock == nullptr) return Missing("clock");
  for (const SearchObserver* observer : parts.observers) {
    if (observer == nullptr) return Missing("an observer");
  }
  return absl::OkStatus();
}

absl::Status Invalid(std::string_view name, std::string_view expected) {
  return absl::InvalidArgumentError(
      absl::StrCat("search options: ", std::string(name), " is out of range; expected ", std::string(expected)));
}

template <typename T>
bool IsNegative(const std::optional<T>& limit, const T& zero) {
  return limit.has_value() && *limit < zero;
}

}  // namespace

absl::Status SearchOptions::Validate() const {
  constexpr std::uint32_t kMaximumWorkers = 1024;
  if (expand_workers == 0 || expand_workers > kMaximumWorkers) return Invalid("expand_workers", "1..1024");
  if (evaluate_workers.has_value() && (*evaluate_workers == 0 || *evaluate_workers > kMaximumWorkers)) {
    return Invalid("evaluate_workers", "1..1024");
  }
  if (evaluation_queue == 0) return Invalid("evaluation_queue", "at least 1");
  if (repeats == 0) return Invalid("repeats", "at least 1");
  if (retry_delay < absl::ZeroDuration()) return Invalid("retry_delay", "a time of 0 or more");
  if (proposal_deadline <= absl::ZeroDuration()) return Invalid("proposal_deadline", "a time above 0");
  if (evaluation_deadline <= absl::ZeroDuration()) return Invalid("evaluation_deadline", "a time above 0");
  const std::int64_t zero = 0;
  if (IsNegative(budget.tokens, zero)) return Invalid("budget.tokens", "0 or more");
  if (IsNegative(budget.microdollars, zero)) return Invalid("budget.microdollars", "0 or more");
  if (IsNegative(budget.evaluations, zero)) return Invalid("budget.evaluations", "0 or more");
  if (IsNegative(budget.nodes, zero)) return Invalid("budget.nodes", "0 or more");
  if (IsNegative(budget.device_time, absl::ZeroDuration())) return Invalid("budget.device_time", "0 or more");
  if (IsNegative(budget.wall_time, absl::ZeroDuration())) return Invalid("budget.wall_time", "0 or more");
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Search>> Search::Create(SearchOptions options, SearchParts parts) {
  if (absl::Status status = options.Validate(); !status.ok()) return status;
  if (absl::Status status = CheckParts(parts); !status.ok()) return status;
  auto coordinator = std::make_unique<Coordinator>(std::move(options), std::move(parts));
  if (absl::Status status = coordinator->Replay(); !status.ok()) return status;
  return coordinator;
}

}  // namespace maxkernel
