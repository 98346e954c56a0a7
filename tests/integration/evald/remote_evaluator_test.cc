// A real daemon, with the fake runner in the real sandbox, and the real client over loopback.
#include <signal.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "maxkernel/eval/evaluation_daemon.h"
#include "maxkernel/eval/remote_evaluator.h"
#include "maxkernel/testing/contract.h"
#include "tests/integration/evald/daemon_process.h"
#include "tests/unit/eval/support.h"

namespace maxkernel {
namespace {

using testing::DaemonProcess;
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

std::unique_ptr<Evaluator> Connect(const std::string& address, const Task& task = MakeTask()) {
  RemoteEvaluatorOptions options;
  options.address = address;
  absl::StatusOr<std::unique_ptr<Evaluator>> evaluator = MakeRemoteEvaluator(std::make_shared<const Task>(task), options);
  REQUIRE(evaluator.ok());
  return std::move(*evaluator);
}

EvaluateRequest Request(const std::string& key, std::string_view actions) {
  EvaluateRequest request;
  request.idempotency_key = key;
  request.candidate = MakeCandidate(actions);
  request.repeats = 3;
  request.seed = 42;
  return request;
}

absl::StatusOr<Evaluation> Evaluate(Evaluator& evaluator, const EvaluateRequest& request, std::stop_token stop = {},
                                    const std::function<void(std::string_view)>& progress = nullptr) {
  return evaluator.Evaluate({request, stop, absl::Now() + absl::Seconds(40), progress});
}

std::string MessageOf(const absl::Status& status) { return std::string(status.message()); }

template <typename Condition>
bool Eventually(Condition condition, absl::Duration patience = absl::Seconds(10)) {
  const absl::Time end = absl::Now() + patience;
  while (absl::Now() < end) {
    if (condition()) return true;
    absl::SleepFor(absl::Milliseconds(5));
  }
  return condition();
}

TEST_CASE("A correct candidate passes all stages and gets its times") {
  TemporaryFolder folder;
  const auto daemon = StartDaemon(FakeDaemonOptions(folder));
  const auto evaluator = Connect(daemon->address());
  std::vector<std::string> progress;
  const absl::StatusOr<Evaluation> evaluation =
      Evaluate(*evaluator, Request("a", ""), {}, [&](std::string_view text) { progress.emplace_back(text); });
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

TEST_CASE("The same key, and the same question under another key, are answered from the cache") {
  TemporaryFolder folder;
  const auto daemon = StartDaemon(FakeDaemonOptions(folder));
  const auto evaluator = Connect(daemon->address());
  const absl::StatusOr<Evaluation> first = Evaluate(*evaluator, Request("a", "# x"));
  REQUIRE(first.ok());
  for (const char* key : {"a", "b"}) {
    const absl::StatusOr<Evaluation> again = Evaluate(*evaluator, Request(key, "# x"));
    REQUIRE(again.ok());
    Evaluation expected = *first;
    expected.from_cache = true;
    CHECK(*again == expected);
  }
  EvaluateRequest other_seed = Request("c", "# x");
  other_seed.seed = 43;
  CHECK_FALSE(Evaluate(*evaluator, other_seed)->from_cache);
  CHECK(absl::IsInvalidArgument(Evaluate(*evaluator, Request("a", "# y")).status()));
}

TEST_CASE("Wall-clock times and time-outs are answered by key alone") {
  TemporaryFolder folder;
  DaemonOptions options = FakeDaemonOptions(folder);
  options.stage_deadline = absl::Seconds(1);
  const auto daemon = StartDaemon(options);
  const auto evaluator = Connect(daemon->address());
  EvaluateRequest timed = Request("a", "");
  timed.fidelity = Fidelity::kCpu;
  REQUIRE(Evaluate(*evaluator, timed).ok());
  CHECK(Evaluate(*evaluator, timed)->from_cache);
  timed.idempotency_key = "b";
  CHECK_FALSE(Evaluate(*evaluator, timed)->from_cache);
  CHECK(Evaluate(*evaluator, Request("c", "# author: hang"))->verdict == Verdict::kTimedOut);
  CHECK(Evaluate(*evaluator, Request("c", "# author: hang"))->from_cache);
  CHECK_FALSE(Evaluate(*evaluator, Request("d", "# author: hang"))->from_cache);
}

TEST_CASE("Capabilities tell what works and why the rest does not") {
  TemporaryFolder folder;
  const auto daemon = StartDaemon(FakeDaemonOptions(folder));
  RemoteEvaluatorOptions options;
  options.address = daemon->address();
  const absl::StatusOr<DaemonProbe> probe = ProbeDaemon(options);
  REQUIRE(probe.ok());
  CHECK(probe->version == "0.1.0");
  CHECK(probe->cpu_slots == 2);
  CHECK(probe->devices == 0);
  CHECK(probe->isolation == "bubblewrap");
  REQUIRE(probe->fidelities.size() == 6);
  CHECK(probe->fidelities[5].fidelity == Fidelity::kDevice);
  CHECK_FALSE(probe->fidelities[5].works);
  CHECK(probe->fidelities[5].detail == "no accelerator");
  const auto evaluator = Connect(daemon->address());
  const absl::StatusOr<EvaluatorInfo> info = evaluator->Describe();
  REQUIRE(info.ok());
  CHECK(info->capacity == 2);
  CHECK(info->fidelities.size() == 5);
  CHECK(info->environment.count("runner") == 1);
  EvaluateRequest request = Request("a", "");
  request.fidelity = Fidelity::kDevice;
  const absl::Status refused = Evaluate(*evaluator, request).status();
  CHECK(absl::IsUnimplemented(refused));
  CHECK(MessageOf(refused) == "fidelity device: no accelerator");
}

TEST_CASE("A task is checked for admission") {
  TemporaryFolder folder;
  const auto daemon = StartDaemon(FakeDaemonOptions(folder));
  RemoteEvaluatorOptions options;
  options.address = daemon->address();
  const absl::StatusOr<AdmissionReport> report = CheckTask(MakeTask(), options);
  REQUIRE(report.ok());
  CHECK(report->admitted);
  CHECK(report->findings.size() == 2);
  CHECK_FALSE(report->from_cache);
  CHECK(CheckTask(MakeTask(), options)->from_cache);
  CHECK_FALSE(CheckTask(MakeTask("# admit: task_failed zeros pass"), options)->admitted);
}

TEST_CASE("Requests that make no sense are refused by field") {
  TemporaryFolder folder;
  const auto daemon = StartDaemon(FakeDaemonOptions(folder));
  EvaluateRequest request = Request("", "");
  CHECK_THAT(MessageOf(Evaluate(*Connect(daemon->address()), request).status()), Catch::Contains("idempotency_key"));
  request = Request("a", "");
  request.repeats = 0;
  CHECK_THAT(MessageOf(Evaluate(*Connect(daemon->address()), request).status()), Catch::Contains("repeats: expected 1 to 1000, got 0"));
  Task task = MakeTask();
  task.configuration = "{}";
  CHECK_THAT(MessageOf(Evaluate(*Connect(daemon->address(), task), Request("b", "")).status()), Catch::Contains("field cases"));
  task = MakeTask();
  task.configuration.replace(task.configuration.find("v6e"), 3, "v9x");
  const absl::Status chip = Evaluate(*Connect(daemon->address(), task), Request("c", "")).status();
  CHECK(absl::IsInvalidArgument(chip));
  CHECK_THAT(MessageOf(chip), Catch::Contains("chip 'v9x': not in the hardware file"));
}

TEST_CASE("A fault of the task reaches the client with file and line") {
  TemporaryFolder folder;
  const auto daemon = StartDaemon(FakeDaemonOptions(folder));
  const absl::Status failed =
      Evaluate(*Connect(daemon->address(), MakeTask("# reference: task_failed shapes differ")), Request("a", "")).status();
  CHECK(absl::IsFailedPrecondition(failed));
  CHECK(MessageOf(failed) == "task: reference.py:7: shapes differ");
}

TEST_CASE("A host fault reaches the client at once, without taking the stream up again") {
  TemporaryFolder folder;
  const auto daemon = StartDaemon(FakeDaemonOptions(folder));
  std::atomic<int> starts = 0;
  const absl::Status failed = Evaluate(*Connect(daemon->address()), Request("a", "# test: exit 1"), {}, [&](std::string_view text) {
                                if (text == "started") ++starts;
                              }).status();
  CHECK(absl::IsUnavailable(failed));
  CHECK_THAT(MessageOf(failed), Catch::Contains("the test process: twice, it ended with exit status 1"));
  CHECK(starts == 1);
}

TEST_CASE("Cancelling kills the candidate's processes within a second and frees the slot") {
  TemporaryFolder folder;
  DaemonOptions options = FakeDaemonOptions(folder);
  options.cpu_slots = 1;
  const auto daemon = StartDaemon(options);
  const auto evaluator = Connect(daemon->address());
  std::stop_source stop;
  absl::Time stopped;
  std::thread canceller([&] {
    Eventually([] { return testing::CountProcesses("remotecancel") == 3; });
    stopped = absl::Now();
    stop.request_stop();
  });
  const absl::StatusOr<Evaluation> cancelled = Evaluate(*evaluator, Request("a", "# author: survivors remotecancel hang"), stop.get_token());
  canceller.join();
  CHECK(absl::IsCancelled(cancelled.status()));
  CHECK(Eventually([] { return testing::CountProcesses("remotecancel") == 0; }));
  CHECK(absl::Now() - stopped < absl::Seconds(1));
  CHECK(Evaluate(*evaluator, Request("b", "")).ok());
}

TEST_CASE("A deadline of the client is no verdict and stops the work") {
  TemporaryFolder folder;
  const auto daemon = StartDaemon(FakeDaemonOptions(folder));
  const auto evaluator = Connect(daemon->address());
  const EvaluateRequest request = Request("a", "# author: survivors lateclient hang");
  const absl::StatusOr<Evaluation> late = evaluator->Evaluate({request, {}, absl::Now() + absl::Seconds(2), nullptr});
  CHECK(absl::IsDeadlineExceeded(late.status()));
  CHECK(Eventually([] { return testing::CountProcesses("lateclient") == 0; }, absl::Seconds(2)));
}

TEST_CASE("A full queue is said so") {
  TemporaryFolder folder;
  DaemonOptions options = FakeDaemonOptions(folder);
  options.cpu_slots = 1;
  options.queue_limit = 1;
  const auto daemon = StartDaemon(options);
  std::stop_source stop;
  std::vector<std::thread> clients;
  std::atomic<int> accepted = 0;
  std::vector<std::unique_ptr<Evaluator>> evaluators;
  for (int i = 0; i < 3; ++i) evaluators.push_back(Connect(daemon->address()));
  for (int i = 0; i < 2; ++i) {
    clients.emplace_back([&, i] {
      (void)Evaluate(*evaluators[i], Request(absl::StrCat("k", i), "# author: hang"), stop.get_token(), [&](std::string_view text) {
        if (text == "hanging" || text == "queued at position 1") ++accepted;
      });
    });
    Eventually([&] { return accepted > i; });
  }
  Eventually([&] { return accepted >= 3; });
  const absl::Status refused = Evaluate(*evaluators[2], Request("full", "")).status();
  stop.request_stop();
  for (std::thread& client : clients) client.join();
  CHECK(absl::IsResourceExhausted(refused));
  CHECK_THAT(MessageOf(refused), Catch::Contains("the queue is full"));
}

TEST_CASE("Two clients with one key share one evaluation") {
  TemporaryFolder folder;
  const auto daemon = StartDaemon(FakeDaemonOptions(folder));
  std::vector<absl::StatusOr<Evaluation>> answers(4, absl::UnknownError(""));
  std::vector<std::thread> clients;
  std::vector<std::unique_ptr<Evaluator>> evaluators;
  for (std::size_t i = 0; i < answers.size(); ++i) evaluators.push_back(Connect(daemon->address()));
  for (std::size_t i = 0; i < answers.size(); ++i) {
    clients.emplace_back([&, i] { answers[i] = Evaluate(*evaluators[i], Request("shared", "# author: sleep 1")); });
  }
  for (std::thread& client : clients) client.join();
  for (const auto& answer : answers) {
    REQUIRE(answer.ok());
    // The durations of the stages agree only if it was run once.
    CHECK(answer->stages == answers[0]->stages);
  }
}

TEST_CASE("The remote evaluator keeps the contract of evaluators") {
  TemporaryFolder folder;
  const auto daemon = StartDaemon(FakeDaemonOptions(folder));
  const auto evaluator = Connect(daemon->address());
  EvaluatorContractOptions options;
  options.correct = MakeCandidate("# right");
  options.wrong = MakeCandidate("# test: failed incorrect off by one");
  options.patience = absl::Seconds(30);
  CHECK(CheckEvaluatorContract(*evaluator, options) == std::vector<std::string>{});
}

TEST_CASE("A daemon on a Unix socket serves") {
  TemporaryFolder folder;
  DaemonOptions options = FakeDaemonOptions(folder);
  options.listen = "unix:" + (folder.path() / "evald.sock").string();
  const auto daemon = StartDaemon(options);
  CHECK(daemon->port() == 0);
  CHECK(Evaluate(*Connect(daemon->address()), Request("a", "")).ok());
  options.state_folder = folder.path() / "other";
  CHECK(absl::IsUnavailable(EvaluationDaemon::Start(options).status()));
  CHECK(Evaluate(*Connect(daemon->address()), Request("b", "")).ok());
}

TEST_CASE("Shutdown lets running evaluations finish, and their clients hear it") {
  TemporaryFolder folder;
  const auto daemon = StartDaemon(FakeDaemonOptions(folder));
  const auto evaluator = Connect(daemon->address());
  std::atomic<bool> sleeping = false;
  absl::StatusOr<Evaluation> answer = absl::UnknownError("");
  std::thread client([&] {
    answer = Evaluate(*evaluator, Request("a", "# author: sleep 1"), {}, [&](std::string_view text) { sleeping = sleeping || text == "sleeping"; });
  });
  REQUIRE(Eventually([&] { return sleeping.load(); }));
  daemon->Shutdown();
  client.join();
  INFO(answer.status());
  REQUIRE(answer.ok());
  CHECK(answer->verdict == Verdict::kCorrect);
}

TEST_CASE("Options that cannot work are refused before anything starts") {
  TemporaryFolder folder;
  const DaemonOptions good = FakeDaemonOptions(folder);
  DaemonOptions options = good;
  options.listen = "0.0.0.0:0";
  CHECK(absl::IsInvalidArgument(EvaluationDaemon::Start(options).status()));
  options = good;
  options.state_folder = "";
  CHECK_THAT(MessageOf(EvaluationDaemon::Start(options).status()), Catch::Contains("state_folder"));
  options = good;
  options.hardware_file = "/nonexistent";
  CHECK(absl::IsFailedPrecondition(EvaluationDaemon::Start(options).status()));
  const auto daemon = StartDaemon(good);
  options = good;
  CHECK_THAT(MessageOf(EvaluationDaemon::Start(options).status()), Catch::Contains("another daemon uses it"));
  options.state_folder = folder.path() / "other";
  options.listen = daemon->address();
  const absl::Status taken = EvaluationDaemon::Start(options).status();
  CHECK(absl::IsUnavailable(taken));
  CHECK_THAT(MessageOf(taken), Catch::Contains("cannot be bound"));
}

TEST_CASE("A killed daemon's finished results are answered from disk, its scratch is gone, its processes too") {
  TemporaryFolder folder;
  std::string address;
  std::vector<StageReport> stages;
  {
    DaemonProcess daemon(folder.path(), "127.0.0.1:0");
    REQUIRE(daemon.running());
    address = daemon.address();
    const auto evaluator = Connect(address);
    const absl::StatusOr<Evaluation> finished = Evaluate(*evaluator, Request("finished", "# a"));
    REQUIRE(finished.ok());
    stages = finished->stages;
    std::stop_source stop;
    std::thread client([&] { (void)Evaluate(*evaluator, Request("running", "# author: survivors orphaned hang"), stop.get_token()); });
    REQUIRE(Eventually([] { return testing::CountProcesses("orphaned") == 3; }));
    daemon.Signal(SIGKILL);
    CHECK(daemon.Wait() == 128 + SIGKILL);
    CHECK(Eventually([] { return testing::CountProcesses("orphaned") == 0; }, absl::Seconds(2)));
    stop.request_stop();
    client.join();
  }
  CHECK_FALSE(std::filesystem::is_empty(folder.path() / "state" / "scratch"));
  DaemonProcess daemon(folder.path(), address);
  REQUIRE(daemon.running());
  CHECK(std::filesystem::is_empty(folder.path() / "state" / "scratch"));
  const absl::StatusOr<Evaluation> again = Evaluate(*Connect(address), Request("finished", "# a"));
  INFO(again.status());
  REQUIRE(again.ok());
  CHECK(again->from_cache);
  CHECK(again->stages == stages);
}

TEST_CASE("A daemon killed while sandboxes start leaves no process behind once it is started again") {
  TemporaryFolder folder;
  const std::string state = (folder.path() / "state").string();
  for (int round = 0; round < 20; ++round) {
    DaemonProcess daemon(folder.path(), "127.0.0.1:0");
    REQUIRE(daemon.running());
    std::stop_source stop;
    std::vector<std::unique_ptr<Evaluator>> evaluators;
    std::vector<std::thread> clients;
    std::atomic<bool> started = false;
    for (int i = 0; i < 2; ++i) {
      evaluators.push_back(Connect(daemon.address()));
      clients.emplace_back([&, i, evaluator = evaluators.back().get()] {
        (void)Evaluate(*evaluator, Request(absl::StrCat(round, " ", i), absl::StrCat("# ", round, " ", i)), stop.get_token(),
                       [&](std::string_view) { started = true; });
      });
    }
    Eventually([&] { return started.load(); });
    absl::SleepFor(absl::Microseconds(700 * round));
    daemon.Signal(SIGKILL);
    daemon.Wait();
    stop.request_stop();
    for (std::thread& client : clients) client.join();
  }
  if (const DaemonProcess last(folder.path(), "127.0.0.1:0"); last.Log().find("\"control_groups\":\"none\"") != std::string::npos) return;
  CHECK(testing::CountProcessesWithArgument(state + "/scratch") == 0);
}

TEST_CASE("A client outlives the death of its daemon in the middle of an evaluation") {
  TemporaryFolder folder;
  auto daemon = std::make_unique<DaemonProcess>(folder.path(), "127.0.0.1:0");
  REQUIRE(daemon->running());
  const std::string address = daemon->address();
  const auto evaluator = Connect(address);
  std::atomic<int> sleeps = 0;
  absl::StatusOr<Evaluation> answer = absl::UnknownError("");
  std::thread client([&] {
    answer = Evaluate(*evaluator, Request("a", "# author: sleep 1"), {}, [&](std::string_view text) { sleeps += text == "sleeping"; });
  });
  REQUIRE(Eventually([&] { return sleeps == 1; }));
  daemon->Signal(SIGKILL);
  daemon->Wait();
  daemon = std::make_unique<DaemonProcess>(folder.path(), address);
  client.join();
  INFO(answer.status());
  REQUIRE(answer.ok());
  CHECK(answer->verdict == Verdict::kCorrect);
  CHECK(sleeps == 2);
}

TEST_CASE("SIGTERM drains the daemon's program") {
  TemporaryFolder folder;
  DaemonProcess daemon(folder.path(), "127.0.0.1:0");
  REQUIRE(daemon.running());
  const auto evaluator = Connect(daemon.address());
  std::atomic<bool> sleeping = false;
  absl::StatusOr<Evaluation> answer = absl::UnknownError("");
  std::thread client([&] {
    answer = Evaluate(*evaluator, Request("a", "# author: sleep 1"), {}, [&](std::string_view text) { sleeping = sleeping || text == "sleeping"; });
  });
  REQUIRE(Eventually([&] { return sleeping.load(); }));
  daemon.Signal(SIGTERM);
  CHECK(daemon.Wait() == 0);
  client.join();
  CHECK(answer.ok());
  const std::string log = daemon.Log();
  for (const char* event : {"\"event\":\"listening\"", "\"event\":\"submitted\"", "\"event\":\"draining\"", "\"answer\":\"correct\"",
                            "\"event\":\"stopped\""}) {
    CHECK_THAT(log, Catch::Contains(event));
  }
}

TEST_CASE("The daemon's program explains itself and its errors") {
  TemporaryFolder folder;
  const testing::ProgramOutput help = testing::RunEvald({"--help"}, folder.path());
  CHECK(help.exit_code == 0);
  CHECK_THAT(help.text, Catch::Contains("Examples:") && Catch::Contains("--unsafe-no-sandbox") && Catch::Contains("--port-file"));
  CHECK(testing::RunEvald({"--version"}, folder.path()).text == "maxkernel-evald 0.1.0\n");
  CHECK(testing::RunEvald({"--no-such-flag"}, folder.path()).exit_code == 1);
  const testing::ProgramOutput refused = testing::RunEvald({"--listen", "0.0.0.0:1"}, folder.path());
  CHECK(refused.exit_code == 1);
  CHECK_THAT(refused.text, Catch::Contains("expected a loopback address"));
  const testing::ProgramOutput missing =
      testing::RunEvald({"--python", "/nonexistent", "--state", (folder.path() / "s").string()}, folder.path());
  CHECK(missing.exit_code == 2);
  CHECK_THAT(missing.text, Catch::Contains("--python or MAXKERNEL_PYTHON"));
}

}  // namespace
}  // namespace maxkernel
