// The daemon with the real runner and JAX. Takes minutes.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "maxkernel/eval/evaluation_daemon.h"
#include "maxkernel/eval/remote_evaluator.h"
#include "maxkernel/task/load_task.h"
#include "tests/unit/eval/support.h"

namespace maxkernel {
namespace {

namespace fs = std::filesystem;

constexpr int kSkipped = 77;

// The interpreter that scripts/setup makes, or the one that the environment names.
fs::path PythonWithJax() {
  const char* named = std::getenv("MAXKERNEL_PYTHON");
  const fs::path python = named != nullptr ? fs::path(named) : fs::path(MAXKERNEL_SOURCE_DIR) / ".venv" / "bin" / "python";
  if (fs::exists(python)) return python;
  std::cerr << "skipped: no interpreter with jax at " << python << "; run scripts/setup or set MAXKERNEL_PYTHON\n";
  std::exit(kSkipped);
}

std::string Slurp(const fs::path& file) {
  std::ifstream stream(file);
  std::stringstream text;
  text << stream.rdbuf();
  return text.str();
}

// One daemon for all tests: its start probes every fidelity.
EvaluationDaemon& Daemon() {
  static testing::TemporaryFolder folder;
  static std::unique_ptr<EvaluationDaemon> daemon = [] {
    DaemonOptions options = testing::FakeDaemonOptions(folder);
    options.python = PythonWithJax();
    options.runner = fs::path(MAXKERNEL_SOURCE_DIR) / "runner";
    options.stage_deadline = absl::Minutes(4);
    absl::StatusOr<std::unique_ptr<EvaluationDaemon>> started = EvaluationDaemon::Start(options);
    INFO(started.status());
    REQUIRE(started.ok());
    return std::move(*started);
  }();
  return *daemon;
}

std::shared_ptr<const Task> RealTask(const std::string& name) {
  absl::StatusOr<Task> task = LoadTask(fs::path(MAXKERNEL_SOURCE_DIR) / "tasks" / name);
  INFO(task.status());
  REQUIRE(task.ok());
  return std::make_shared<const Task>(std::move(*task));
}

absl::StatusOr<Evaluation> Evaluate(const std::shared_ptr<const Task>& task, std::shared_ptr<const Candidate> candidate,
                                    Fidelity fidelity = Fidelity::kEstimate) {
  RemoteEvaluatorOptions options;
  options.address = Daemon().address();
  auto evaluator = MakeRemoteEvaluator(task, options);
  REQUIRE(evaluator.ok());
  EvaluateRequest request;
  request.idempotency_key = absl::StrCat("key ", absl::ToUnixNanos(absl::Now()));
  request.candidate = std::move(candidate);
  request.fidelity = fidelity;
  request.seed = 7;
  return (*evaluator)->Evaluate({request, {}, absl::InfiniteFuture(), nullptr});
}

std::shared_ptr<const Candidate> Hostile(const std::string& name) {
  return testing::MakeCandidate(Slurp(fs::path(MAXKERNEL_SOURCE_DIR) / "tests" / "candidates" / "hostile" / (name + ".py")));
}

TEST_CASE("The baseline of matmul_epilogue is correct and has an estimated time for every scored case") {
  const auto task = RealTask("matmul_epilogue");
  const absl::StatusOr<Evaluation> evaluation = Evaluate(task, task->baseline);
  INFO(evaluation.status());
  REQUIRE(evaluation.ok());
  INFO(evaluation->reason);
  REQUIRE(evaluation->verdict == Verdict::kCorrect);
  CHECK(evaluation->stages.size() == 4);
  CHECK_FALSE(evaluation->identity.empty());
  CHECK(evaluation->environment.at("jax") != "");
  REQUIRE(evaluation->cases.size() == task->cases.size());
  for (std::size_t i = 0; i < task->cases.size(); ++i) {
    const CaseResult& result = evaluation->cases[i];
    INFO(result.name << ": " << result.absent);
    CHECK(result.name == task->cases[i].name);
    CHECK(result.hidden == task->cases[i].hidden);
    CHECK(result.max_abs_error.has_value() == task->cases[i].test);
    CHECK(result.samples_seconds.size() == (task->cases[i].score ? 1 : 0));
    if (!task->cases[i].score) continue;
    REQUIRE(result.floor_seconds.has_value());
    CHECK(result.samples_seconds[0] >= *result.floor_seconds);
    CHECK(result.samples_seconds[0] < 1.0);
  }
  CHECK(Evaluate(task, task->baseline)->from_cache);
}

TEST_CASE("Candidates that attack the process are caught and the daemon goes on") {
  const auto task = RealTask("softmax");
  struct Row {
    const char* name;
    Verdict verdict;
  };
  for (const Row row : {Row{"c01_zeros", Verdict::kIncorrect}, Row{"c36_system_exit", Verdict::kRejected},
                        Row{"c35_writes_result_descriptor", Verdict::kRejected}, Row{"c40_socket", Verdict::kRejected}}) {
    INFO(row.name);
    const absl::StatusOr<Evaluation> evaluation = Evaluate(task, Hostile(row.name), Fidelity::kInterpret);
    INFO(evaluation.status());
    REQUIRE(evaluation.ok());
    INFO(evaluation->reason);
    CHECK(evaluation->verdict == row.verdict);
    CHECK_FALSE(evaluation->reason.empty());
  }
  const absl::StatusOr<Evaluation> memory = Evaluate(task, Hostile("r04_eats_memory"), Fidelity::kInterpret);
  INFO(memory.status());
  REQUIRE(memory.ok());
  CHECK(memory->verdict != Verdict::kCorrect);
}

TEST_CASE("A task of the library is admitted") {
  RemoteEvaluatorOptions options;
  options.address = Daemon().address();
  const absl::StatusOr<AdmissionReport> report = CheckTask(*RealTask("softmax"), options);
  INFO(report.status());
  REQUIRE(report.ok());
  for (const AdmissionFinding& finding : report->findings) {
    INFO(finding.check << " " << finding.case_name << ": " << finding.message);
    CHECK(finding.level != AdmissionFinding::Level::kFail);
  }
  CHECK(report->admitted);
  CHECK(report->findings.size() >= 5);
}

TEST_CASE("A task's own error is told with file and line") {
  Task task = *RealTask("softmax");
  for (SourceFile& file : task.files) {
    if (file.path == "reference.py") file.text = "def computation(x):\n    return undefined_name\n";
  }
  task.digest = "changed";
  const absl::Status failed = Evaluate(std::make_shared<const Task>(task), task.baseline).status();
  INFO(failed);
  CHECK(absl::IsFailedPrecondition(failed));
  CHECK_THAT(std::string(failed.message()), Catch::Contains("reference.py:2"));
}

}  // namespace
}  // namespace maxkernel
