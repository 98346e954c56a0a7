// What the daemon costs beyond the runner's own time, with a runner that does nothing but answer.
// Usage: evald_benchmark [--evaluations N] [--json FILE]
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "lib/eval/daemon/pipeline.h"
#include "lib/eval/daemon/process_runner.h"
#include "lib/eval/daemon/runner_frame.h"
#include "maxkernel/eval/evaluation_daemon.h"
#include "maxkernel/eval/remote_evaluator.h"
#include "nlohmann/json.hpp"
#include "tests/unit/eval/support.h"

namespace maxkernel {
namespace {

using testing::MakeCandidate;
using testing::MakeTask;
using testing::TemporaryFolder;

struct Options {
  int evaluations = 200;
  std::string json;
};

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

double MillisecondsSince(absl::Time start) { return absl::ToDoubleMilliseconds(absl::Now() - start); }

template <typename Value>
Value Expect(absl::StatusOr<Value> value, const char* what) {
  if (!value.ok()) {
    std::cerr << what << ": " << value.status() << "\n";
    std::exit(1);
  }
  return std::move(*value);
}

// The peer: the same runner processes, started as they are, without sandbox, limits, queue, cache or network.
class BareRunner : public eval::RoleRunner {
 public:
  explicit BareRunner(eval::ProcessLauncher& launcher) : launcher_(launcher) {}

  eval::RoleOutcome Run(const eval::RoleRequest& request) override {
    nlohmann::json job = request.job;
    job["protocol"] = 1;
    job["role"] = std::string(eval::ToString(request.role));
    for (const eval::RoleFolder& folder : request.folders) {
      nlohmann::json* field = &job;
      for (const std::string& name : folder.field) field = &(*field)[name];
      *field = folder.mount.source.string();
    }
    const std::string frame = eval::EncodeFrame(job.dump());
    eval::RoleOutcome outcome;
    const absl::Time start = absl::Now();
    eval::ProcessRequest process;
    process.command = {{testing::Python().string(), "-I", (testing::FakeRunner() / "maxkernel_runner" / "__main__.py").string(), "--job-fd",
                        "3", "--result-fd", "4"},
                       {"PATH=/usr/bin:/bin"}};
    process.job = frame;
    process.on_frame = [&](std::string text) {
      auto parsed = eval::ParseRunnerFrame(text, request.role);
      if (!parsed.ok()) return eval::FrameAction::kMalformed;
      if (auto* result = std::get_if<eval::RunnerResult>(&*parsed)) {
        outcome.result = std::move(*result);
        return eval::FrameAction::kEnd;
      }
      if (request.role == eval::Role::kAuthor && wants_first_line) first_line_ms.push_back(MillisecondsSince(start));
      wants_first_line = false;
      return eval::FrameAction::kContinue;
    };
    const eval::ProcessOutcome ended = eval::RunProcess(launcher_, process);
    outcome.end = ended.end == eval::ProcessOutcome::End::kResult ? eval::RoleOutcome::End::kResult : eval::RoleOutcome::End::kDied;
    outcome.duration = ended.duration;
    spent_ms += absl::ToDoubleMilliseconds(ended.duration);
    return outcome;
  }

  double spent_ms = 0;
  bool wants_first_line = false;
  std::vector<double> first_line_ms;

 private:
  eval::ProcessLauncher& launcher_;
};

struct Figures {
  double evaluation_ms = 0;
  double first_line_ms = 0;
};

std::shared_ptr<const Candidate> CandidateNumber(int number) { return MakeCandidate(absl::StrCat("# number ", number)); }

// Evaluates with bare processes, one after the other.
class BareEvaluations {
 public:
  BareEvaluations()
      : runner_(launcher_),
        state_(Expect(eval::StateFolder::Open(folder_.path()), "state folder")),
        hardware_(Expect(eval::HardwareFile::Load(testing::FakeDaemonOptions(folder_).hardware_file), "hardware file")),
        references_(state_->references(), std::uint64_t{1} << 30),
        pipeline_({}, hardware_, runner_, *state_, references_, gate_) {
    Evaluate(-1);
    times_.clear();
    runner_.first_line_ms.clear();
  }

  void Evaluate(int number) {
    const Task task = MakeTask();
    eval::EvaluationJob job{Expect(eval::TaskSnapshot::Create(task.name, task.configuration, task.files), "task"),
                            *CandidateNumber(number)};
    runner_.spent_ms = 0;
    runner_.wants_first_line = true;
    Expect(pipeline_.Evaluate(job, {}, {}), "bare evaluation");
    times_.push_back(runner_.spent_ms);
  }

  Figures Medians() const { return {Median(times_), Median(runner_.first_line_ms)}; }

 private:
  TemporaryFolder folder_;
  eval::ProcessLauncher launcher_;
  BareRunner runner_;
  std::unique_ptr<eval::StateFolder> state_;
  eval::HardwareFile hardware_;
  eval::ReferenceStore references_;
  eval::ExecutionGate gate_;
  eval::Pipeline pipeline_;
  std::vector<double> times_;
};

std::unique_ptr<Evaluator> Connect(const EvaluationDaemon& daemon) {
  RemoteEvaluatorOptions options;
  options.address = daemon.address();
  return Expect(MakeRemoteEvaluator(std::make_shared<const Task>(MakeTask()), options), "connect");
}

Evaluation Evaluate(Evaluator& evaluator, const std::string& key, int candidate, const std::function<void(std::string_view)>& progress) {
  EvaluateRequest request;
  request.idempotency_key = key;
  request.candidate = CandidateNumber(candidate);
  return Expect(evaluator.Evaluate({request, {}, absl::InfiniteFuture(), progress}), "evaluation");
}

// Evaluates at the daemon, one after the other.
class ServedEvaluations {
 public:
  explicit ServedEvaluations(const EvaluationDaemon& daemon) : evaluator_(Connect(daemon)) {
    maxkernel::Evaluate(*evaluator_, "warm-up", -1, nullptr);
  }

  void Evaluate(int number) {
    const absl::Time start = absl::Now();
    maxkernel::Evaluate(*evaluator_, absl::StrCat("key ", number), number, [&](std::string_view text) {
      if (text == "first line") first_lines_.push_back(MillisecondsSince(start));
    });
    times_.push_back(MillisecondsSince(start));
  }

  Figures Medians() const { return {Median(times_), Median(first_lines_)}; }

 private:
  const std::unique_ptr<Evaluator> evaluator_;
  std::vector<double> times_;
  std::vector<double> first_lines_;
};

double CachedPerSecond(const EvaluationDaemon& daemon, int evaluations, int clients) {
  constexpr int kEach = 500;
  std::vector<std::unique_ptr<Evaluator>> evaluators;
  for (int i = 0; i < clients; ++i) evaluators.push_back(Connect(daemon));
  for (const auto& evaluator : evaluators) Evaluate(*evaluator, "key 0", 0, nullptr);
  std::vector<std::thread> threads;
  const absl::Time start = absl::Now();
  for (const auto& evaluator : evaluators) {
    threads.emplace_back([&] {
      for (int i = 0; i < kEach; ++i) {
        if (!Evaluate(*evaluator, absl::StrCat("key ", i % evaluations), i % evaluations, nullptr).from_cache) std::abort();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return kEach * clients / absl::ToDoubleSeconds(absl::Now() - start);
}

nlohmann::json Row(const std::string& metric, double value, const std::string& unit) {
  return {{"metric", metric}, {"value", value}, {"unit", unit}, {"peer", nullptr}, {"peer_value", nullptr}, {"ratio", nullptr}};
}

nlohmann::json Row(const std::string& metric, double value, const std::string& unit, const std::string& peer, double peer_value) {
  return {{"metric", metric}, {"value", value}, {"unit", unit}, {"peer", peer}, {"peer_value", peer_value}, {"ratio", value / peer_value}};
}

int Main(const Options& options) {
  TemporaryFolder folder;
  const auto daemon = Expect(EvaluationDaemon::Start(testing::FakeDaemonOptions(folder)), "start");
  BareEvaluations bare_evaluations;
  ServedEvaluations served_evaluations(*daemon);
  // In turns, so that whatever else the machine does hits both alike.
  for (int i = 0; i < options.evaluations; ++i) {
    bare_evaluations.Evaluate(i);
    served_evaluations.Evaluate(i);
  }
  const Figures bare = bare_evaluations.Medians();
  const Figures served = served_evaluations.Medians();
  const char* peer = "the same runner processes started bare";
  const nlohmann::json rows = {
      Row("evaluation of four no-op roles, median", served.evaluation_ms, "ms", peer, bare.evaluation_ms),
      Row("overhead per evaluation beyond the runner's own time, median", served.evaluation_ms - bare.evaluation_ms, "ms"),
      Row("Evaluate to the candidate's first line, median", served.first_line_ms, "ms", peer, bare.first_line_ms),
      Row("cached answers, 1 client", CachedPerSecond(*daemon, options.evaluations, 1), "1/s"),
      Row("cached answers, 8 clients", CachedPerSecond(*daemon, options.evaluations, 8), "1/s"),
  };
  const nlohmann::json document = {{"rows", rows}};
  if (options.json.empty()) {
    std::cout << document.dump(1) << "\n";
    return 0;
  }
  std::ofstream stream(options.json);
  stream << document.dump(1) << "\n";
  stream.close();
  return stream.good() ? 0 : 1;
}

}  // namespace
}  // namespace maxkernel

int main(int argc, char** argv) {
  maxkernel::Options options;
  for (int i = 1; i < argc; i += 2) {
    const std::string name = argv[i];
    const bool has_value = i + 1 < argc;
    if (name == "--json" && has_value) {
      options.json = argv[i + 1];
    } else if (name != "--evaluations" || !has_value || !absl::SimpleAtoi(argv[i + 1], &options.evaluations) || options.evaluations < 1) {
      std::cerr << "usage: evald_benchmark [--evaluations N] [--json FILE]\n";
      return 1;
    }
  }
  return maxkernel::Main(options);
}
