#include "lib/eval/daemon/role_policy.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "maxkernel/internal/check.h"
#include "maxkernel/internal/strings.h"

namespace maxkernel::eval {
namespace {

using End = RoleOutcome::End;
using Status = RunnerResult::Status;
using internal::ToAbsl;

constexpr int kAttempts = 2;

absl::StatusOr<RoleOutcome> RunUnderGate(RoleRunner& runner, ExecutionGate& gate, ExecutionGate::Use use, const RoleRequest& request) {
  std::optional<ExecutionGate::Lease> lease = gate.Acquire(use, request.stop);
  if (!lease.has_value()) return absl::CancelledError("cancelled");
  RoleOutcome outcome = runner.Run(request);
  if (outcome.end == End::kCancelled) return absl::CancelledError("cancelled");
  return outcome;
}

std::string Subject(const RoleRequest& request) { return absl::StrCat("the ", ToAbsl(ToString(request.role)), " process: "); }

Diagnostic DeathDiagnostic(std::string class_name, const RoleOutcome& outcome) {
  Diagnostic diagnostic;
  diagnostic.class_name = std::move(class_name);
  diagnostic.message = outcome.reason;
  if (!outcome.error_output.empty()) absl::StrAppend(&diagnostic.message, "\nstandard error:\n", outcome.error_output);
  diagnostic.case_name = outcome.last_case;
  return diagnostic;
}

RoleVerdict FailedBy(Verdict verdict, std::string class_name, const RoleRequest& request, const RoleOutcome& outcome) {
  RoleVerdict failed;
  failed.verdict = verdict;
  failed.reason = Subject(request) + outcome.reason;
  failed.diagnostics.push_back(DeathDiagnostic(std::move(class_name), outcome));
  failed.duration = outcome.duration;
  failed.interpreted = !outcome.last_case.empty();
  return failed;
}

RoleVerdict FromResult(RoleOutcome outcome) {
  RoleVerdict verdict;
  verdict.result = std::move(*outcome.result);
  verdict.passed = verdict.result.status == Status::kPassed;
  verdict.verdict = verdict.result.verdict.value_or(Verdict::kRejected);
  verdict.reason = verdict.result.reason;
  verdict.diagnostics = verdict.result.diagnostics;
  verdict.duration = outcome.duration;
  verdict.interpreted = !outcome.last_case.empty();
  return verdict;
}

bool HasDiagnostic(const RunnerResult& result, std::string_view class_name) {
  return std::any_of(result.diagnostics.begin(), result.diagnostics.end(),
                     [&](const Diagnostic& diagnostic) { return diagnostic.class_name == class_name; });
}

std::string WithErrorOutput(const RoleOutcome& outcome) {
  return outcome.error_output.empty() ? outcome.reason : absl::StrCat(outcome.reason, "; standard error ends: ", outcome.error_output);
}

}  // namespace

absl::Status TaskFault(const RunnerResult& result) {
  for (const Diagnostic& diagnostic : result.diagnostics) {
    if (diagnostic.file.empty()) continue;
    const std::string line = diagnostic.line.has_value() ? absl::StrCat(":", *diagnostic.line) : "";
    return absl::FailedPreconditionError(absl::StrCat("task: ", diagnostic.file, line, ": ", result.reason));
  }
  return absl::FailedPreconditionError(absl::StrCat("task: ", result.reason));
}

absl::StatusOr<RoleVerdict> RunAuthor(RoleRunner& runner, ExecutionGate& gate, const RoleRequest& request) {
  for (int attempt = 1;; ++attempt) {
    absl::StatusOr<RoleOutcome> outcome = RunUnderGate(runner, gate, ExecutionGate::Use::kShared, request);
    if (!outcome.ok()) return outcome.status();
    const bool may_retry = attempt < kAttempts;
    switch (outcome->end) {
      case End::kResult:
        break;
      case End::kNotStarted:
        if (may_retry) continue;
        return absl::UnavailableError(Subject(request) + outcome->reason);
      case End::kTimedOut:
        return FailedBy(Verdict::kTimedOut, "timeout", request, *outcome);
      case End::kOverLimit:
        return FailedBy(Verdict::kCrashed, "resource_limit", request, *outcome);
      case End::kDied:
      case End::kMalformed:
        return FailedBy(Verdict::kCrashed, "no_result", request, *outcome);
      case End::kCancelled:
        MAXKERNEL_CHECK(false);
    }
    const Status status = outcome->result->status;
    if (status == Status::kPassed || status == Status::kFailed) return FromResult(std::move(*outcome));
    if (status == Status::kInfraFailed && may_retry) continue;
    // Candidate code could have said so: it may cost the candidate its evaluation, but not others theirs.
    RoleVerdict verdict = FromResult(std::move(*outcome));
    verdict.verdict = Verdict::kRejected;
    verdict.reason = absl::StrCat("it cannot be judged here: ", verdict.reason);
    return verdict;
  }
}

absl::StatusOr<RoleVerdict> RunTrusted(RoleRunner& runner, ExecutionGate& gate, ExecutionGate::Use use, const RoleRequest& request,
                                       OnTaskFault on_task_fault) {
  for (int attempt = 1;; ++attempt) {
    absl::StatusOr<RoleOutcome> outcome = RunUnderGate(runner, gate, use, request);
    if (!outcome.ok()) return outcome.status();
    const bool may_retry = attempt < kAttempts;
    switch (outcome->end) {
      case End::kResult:
        break;
      case End::kTimedOut:
        return FailedBy(Verdict::kTimedOut, "timeout", request, *outcome);
      case End::kOverLimit:
        if (may_retry) continue;
        return FailedBy(Verdict::kCrashed, "resource_limit", request, *outcome);
      case End::kDied:
        if (may_retry) continue;
        if (request.role == Role::kCompile && outcome->by_signal) {
          return FailedBy(Verdict::kDoesNotCompile, "compiler_crash", request, *outcome);
        }
        return absl::UnavailableError(absl::StrCat(Subject(request), "twice, ", WithErrorOutput(*outcome)));
      case End::kMalformed:
      case End::kNotStarted:
        if (may_retry) continue;
        return absl::UnavailableError(absl::StrCat(Subject(request), "twice, ", WithErrorOutput(*outcome)));
      case End::kCancelled:
        MAXKERNEL_CHECK(false);
    }
    switch (outcome->result->status) {
      case Status::kPassed:
      case Status::kFailed:
        return FromResult(std::move(*outcome));
      case Status::kTaskFailed:
        if (on_task_fault == OnTaskFault::kVerdict) return FromResult(std::move(*outcome));
        return TaskFault(*outcome->result);
      case Status::kInfraFailed:
        break;
    }
    if (HasDiagnostic(*outcome->result, "interpreter_limit")) {
      // What the interpreter cannot run today it cannot run tomorrow.
      RoleVerdict verdict = FromResult(std::move(*outcome));
      verdict.verdict = Verdict::kRejected;
      verdict.reason = absl::StrCat("it cannot be judged here: ", verdict.reason);
      return verdict;
    }
    if (!may_retry) return absl::UnavailableError(absl::StrCat(Subject(request), "twice, ", outcome->result->reason));
  }
}

}  // namespace maxkernel::eval
