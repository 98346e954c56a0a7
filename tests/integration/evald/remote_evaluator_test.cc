// A real daemon, with the fake runner in the real sandbox, and the real client over loopback.
#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <vector>

#include "maxkernel/eval/evaluation_daemon.h"
#include "maxkernel/eval/remote_evaluator.h"
#include "tests/unit/eval/support.h"

namespace maxkernel {
namespace {

using testing::FakeDaemonOptions;
using testing::MakeCandidate;
using testing::MakeTask;
using testing::TemporaryFolder;

std::unique_ptr<EvaluationDaemon> StartDaemon(const DaemonOptions& options) {
  absl::StatusOr<std::unique_ptr<EvaluationDaemon>> daemon = EvaluationDaemon::Start(options);
  INFO(daemon.status());
  REQUIRE(daemon.ok());
  return std::move(*daemon);
}

std::unique_ptr<Evaluator> Connect(const std::string& address, const Task& task) {
  RemoteEvaluatorOptions options;
  options.address = address;
  absl::StatusOr<std::unique_ptr<Evaluator>> evaluator = MakeRemoteEvaluator(std::make_shared<const Task>(task), options);
  REQUIRE(evaluator.ok());
  return std::move(*evaluator);
}

EvaluateRequest Request(const std::string& key, std::shared_ptr<const Candidate> candidate) {
  EvaluateRequest request;
  request.idempotency_key = key;
  request.candidate = std::move(candidate);
  request.repeats = 3;
  request.seed = 42;
  return request;
}

absl::StatusOr<Evaluation> Evaluate(Evaluator& evaluator, const EvaluateRequest& request, std::vector<std::string>* progress = nullptr) {
  return evaluator.Evaluate({request, {}, absl::Now() + absl::Seconds(30), [&](std::string_view text) {
                               if (progress != nullptr) progress->emplace_back(text);
                             }});
}

TEST_CASE("A correct candidate passes all stages and gets its times") {
  TemporaryFolder folder;
  const auto daemon = StartDaemon(FakeDaemonOptions(folder));
  const auto evaluator = Connect(daemon->address(), MakeTask());
  std::vector<std::string> progress;
  const absl::StatusOr<Evaluation> evaluation = Evaluate(*evaluator, Request("a", MakeCandidate("")), &progress);
  INFO(evaluation.status());
  REQUIRE(evaluation.ok());
  CHECK(evaluation->verdict == Verdict::kCorrect);
  CHECK(evaluation->fidelity == Fidelity::kEstimate);
  REQUIRE(evaluation->stages.size() == 4);
  for (const StageReport& report : evaluation->stages) CHECK(report.status == StageStatus::kPassed);
  REQUIRE(evaluation->cases.size() == 2);
  CHECK(evaluation->cases[0].samples_seconds == std::vector<double>{0.002, 0.002, 0.002});
  CHECK(evaluation->cases[0].floor_seconds == 0.001);
  CHECK(evaluation->cases[0].facts.at("hbm_bytes") == 4096);
  CHECK(evaluation->cases[1].hidden);
  CHECK(evaluation->cases[1].samples_seconds.empty());
  CHECK(evaluation->cases[1].absent == "the task does not score this case");
  CHECK(evaluation->identity == "fake-identity");
  CHECK(evaluation->environment.at("jax") == "fake");
  CHECK(evaluation->environment.at("chip") == "v6e");
  CHECK_FALSE(evaluation->from_cache);
  CHECK(std::find(progress.begin(), progress.end(), "tracing and lowering square") != progress.end());
}

}  // namespace
}  // namespace maxkernel
