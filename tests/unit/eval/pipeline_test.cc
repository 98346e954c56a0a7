// The pipeline over a runner that misbehaves as told, in real processes in the real sandbox.
#include "lib/eval/daemon/pipeline.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "lib/eval/daemon/file_descriptor.h"
#include "lib/eval/daemon/process_launcher.h"
#include "lib/eval/daemon/sandbox.h"
#include "tests/unit/eval/support.h"

namespace maxkernel::eval {
namespace {

using testing::MakeCandidate;
using testing::MakeTask;
using testing::TemporaryFolder;

struct World {
  explicit World(SandboxOptions::Isolation isolation = SandboxOptions::Isolation::kBubblewrap, SandboxLimits limits = {}) {
    SandboxOptions options;
    options.isolation = isolation;
    options.python = testing::Python();
    options.runner = testing::FakeRunner();
    options.limits = limits;
    absl::StatusOr<std::unique_ptr<Sandbox>> made = Sandbox::Create(options, launcher);
    INFO(made.status());
    REQUIRE(made.ok());
    sandbox = std::move(*made);
    runner = MakeSandboxedRoleRunner(launcher, *sandbox, 1 << 16);
    state = *StateFolder::Open(folder.path());
    hardware = std::make_unique<HardwareFile>(*HardwareFile::Load(testing::FakeDaemonOptions(folder).hardware_file));
    references = std::make_unique<ReferenceStore>(state->references(), std::uint64_t{1} << 30);
    PipelineOptions pipeline_options;
    pipeline_options.stage_deadline = absl::Seconds(20);
    pipeline_options.environment = {{"jax", "fake"}, {"host", "this one"}};
    pipeline = std::make_unique<Pipeline>(pipeline_options, *hardware, *runner, *state, *references, gate);
  }

  absl::StatusOr<Evaluation> Evaluate(std::string_view actions, std::string_view reference = "", std::stop_token stop = {},
                                      Fidelity fidelity = Fidelity::kEstimate, absl::Duration deadline = absl::Seconds(20)) {
    const Task task = MakeTask(reference);
    EvaluationJob job{*TaskSnapshot::Create(task.name, task.configuration, task.files), *MakeCandidate(actions)};
    job.fidelity = fidelity;
    job.repeats = 2;
    job.stage_deadline = deadline;
    return pipeline->Evaluate(job, stop, {});
  }

  TemporaryFolder folder;
  ProcessLauncher launcher;
  ExecutionGate gate;
  std::unique_ptr<Sandbox> sandbox;
  std::unique_ptr<RoleRunner> runner;
  std::unique_ptr<StateFolder> state;
  std::unique_ptr<HardwareFile> hardware;
  std::unique_ptr<ReferenceStore> references;
  std::unique_ptr<Pipeline> pipeline;
};

std::string TextOf(const Evaluation& evaluation) {
  std::string text = absl::StrCat(std::string(ToString(evaluation.verdict)), ": ", evaluation.reason);
  for (const StageReport& report : evaluation.stages) {
    for (const Diagnostic& diagnostic : report.diagnostics) absl::StrAppend(&text, "\n[", diagnostic.class_name, "] ", diagnostic.message);
  }
  return text;
}

struct Expectation {
  const char* actions;
  Verdict verdict;
  std::size_t stages;  // the last of which failed
  const char* text;    // in the reason or a diagnostic
};

TEST_CASE("Whatever the author's process does is the candidate's verdict", "[sandbox]") {
  World world;
  for (const Expectation& row : {
           Expectation{"# author: failed does_not_compile candidate.py:3: no", Verdict::kDoesNotCompile, 2, "candidate.py:3: no"},
           Expectation{"# author: failed rejected exec is not allowed", Verdict::kRejected, 1, "exec is not allowed"},
           Expectation{"# author: signal 11", Verdict::kCrashed, 1, "killed by SIGSEGV"},
           Expectation{"# author: signal 6", Verdict::kCrashed, 1, "about to die"},
           Expectation{"# author: exit 0", Verdict::kCrashed, 1, "exit status 0 before it gave a result"},
           Expectation{"# author: exit 7", Verdict::kCrashed, 1, "exit status 7"},
           Expectation{"# author: forge", Verdict::kCrashed, 1, "before it gave a result"},
           Expectation{"# author: garbage", Verdict::kCrashed, 1, "outside of the runner protocol"},
           Expectation{"# author: oversized", Verdict::kCrashed, 1, "a frame of 4294967295 bytes"},
           Expectation{"# author: half", Verdict::kCrashed, 1, "an unfinished frame"},
           Expectation{"# author: close", Verdict::kCrashed, 1, "before it gave a result"},
           Expectation{"# author: wrong", Verdict::kCrashed, 1, "cases.samples_s: expected positive"},
           Expectation{"# author: flood 40", Verdict::kCrashed, 1, "last words"},
           Expectation{"# author: progress_flood", Verdict::kCrashed, 1, "more than 10000 frames"},
           Expectation{"# author: task_failed the task is bad", Verdict::kRejected, 1, "the task is bad"},
           Expectation{"# author: infra_failed the machine is bad", Verdict::kRejected, 1, "the machine is bad"},
       }) {
    INFO(row.actions);
    const absl::StatusOr<Evaluation> evaluation = world.Evaluate(row.actions);
    INFO(evaluation.status());
    REQUIRE(evaluation.ok());
    INFO(TextOf(*evaluation));
    CHECK(evaluation->verdict == row.verdict);
    REQUIRE(evaluation->stages.size() == row.stages);
    CHECK(evaluation->stages.back().status == StageStatus::kFailed);
    CHECK_THAT(TextOf(*evaluation), Catch::Contains(row.text));
    CHECK(TextOf(*evaluation).size() < 20000);
    for (const CaseResult& result : evaluation->cases) CHECK(result.samples_seconds.empty());
  }
}

TEST_CASE("What trusted processes find is the verdict of their stage", "[sandbox]") {
  World world;
  for (const Expectation& row : {
           Expectation{"# compile: failed does_not_compile vmem", Verdict::kDoesNotCompile, 2, "vmem"},
           Expectation{"# compile: signal 6", Verdict::kDoesNotCompile, 2, "compiler_crash"},
           Expectation{"# test: failed incorrect off by one", Verdict::kIncorrect, 3, "off by one"},
           Expectation{"# test: interpreter_limit", Verdict::kRejected, 3, "it cannot be judged here: the interpreter cannot"},
           Expectation{"# measure: failed rejected below the floor", Verdict::kRejected, 4, "below the floor"},
       }) {
    INFO(row.actions);
    const absl::StatusOr<Evaluation> evaluation = world.Evaluate(row.actions);
    INFO(evaluation.status());
    REQUIRE(evaluation.ok());
    CHECK(evaluation->verdict == row.verdict);
    CHECK(evaluation->stages.size() == row.stages);
    CHECK_THAT(TextOf(*evaluation), Catch::Contains(row.text));
  }
}

TEST_CASE("A trusted process that fails twice is the host's fault, not the candidate's", "[sandbox]") {
  World world;
  for (const char* actions : {"# test: signal 9", "# test: exit 0", "# test: garbage", "# measure: exit 3", "# measure: wrong",
                              "# compile: exit 1", "# test: infra_failed no disk", "# measure: unknown_case"}) {
    INFO(actions);
    const absl::StatusOr<Evaluation> evaluation = world.Evaluate(actions);
    INFO(evaluation.status());
    CHECK(absl::IsUnavailable(evaluation.status()));
  }
}

TEST_CASE("A fault of the task names its file and line", "[sandbox]") {
  World world;
  const absl::Status failed = world.Evaluate("", "# reference: task_failed shape mismatch").status();
  CHECK(absl::IsFailedPrecondition(failed));
  CHECK(std::string(failed.message()) == "task: reference.py:7: shape mismatch");
  CHECK(absl::IsUnavailable(world.Evaluate("", "# reference: exit 1").status()));
}

TEST_CASE("Each fidelity runs the stages that it asks for", "[sandbox]") {
  World world;
  const auto statuses = [&](Fidelity fidelity) {
    const absl::StatusOr<Evaluation> evaluation = world.Evaluate("", "", {}, fidelity);
    INFO(evaluation.status());
    REQUIRE(evaluation.ok());
    CHECK(evaluation->verdict == Verdict::kCorrect);
    std::vector<StageStatus> found;
    for (const StageReport& report : evaluation->stages) found.push_back(report.status);
    CHECK(evaluation->cases[0].samples_seconds.size() == (fidelity == Fidelity::kEstimate || fidelity == Fidelity::kCpu ? 2 : 0));
    CHECK(evaluation->environment.count("host") == (fidelity == Fidelity::kCpu ? 1 : 0));
    return found;
  };
  using enum StageStatus;
  CHECK(statuses(Fidelity::kLower) == std::vector{kPassed, kPassed, kSkipped});
  CHECK(statuses(Fidelity::kAot) == std::vector{kPassed, kPassed, kSkipped});
  CHECK(statuses(Fidelity::kInterpret) == std::vector{kPassed, kPassed, kPassed});
  CHECK(statuses(Fidelity::kEstimate) == std::vector{kPassed, kPassed, kPassed, kPassed});
  CHECK(statuses(Fidelity::kCpu) == std::vector{kPassed, kPassed, kPassed, kPassed});
  CHECK(absl::IsUnimplemented(world.Evaluate("", "", {}, Fidelity::kDevice).status()));
}

TEST_CASE("A time that the runner cannot give stays absent, with its reason", "[sandbox]") {
  World world;
  const absl::StatusOr<Evaluation> evaluation = world.Evaluate("# measure: absent the model ends here");
  REQUIRE(evaluation.ok());
  CHECK(evaluation->verdict == Verdict::kCorrect);
  CHECK(evaluation->cases[0].samples_seconds.empty());
  CHECK(evaluation->cases[0].absent == "the model ends here");
}

TEST_CASE("A process that hangs is ended at its deadline and judged by its role", "[sandbox]") {
  World world;
  for (const char* actions : {"# author: hang", "# test: hang"}) {
    const absl::Time start = absl::Now();
    const absl::StatusOr<Evaluation> evaluation = world.Evaluate(actions, "", {}, Fidelity::kEstimate, absl::Milliseconds(1500));
    REQUIRE(evaluation.ok());
    CHECK(evaluation->verdict == Verdict::kTimedOut);
    CHECK_THAT(evaluation->reason, Catch::Contains("still running after 1.5s"));
    CHECK(absl::Now() - start < absl::Seconds(8));
  }
}

TEST_CASE("Cancellation kills the whole tree within a second", "[sandbox]") {
  World world;
  std::stop_source stop;
  std::thread canceller([&] {
    for (int i = 0; i < 1000 && testing::CountProcesses("cancelledtree") < 3; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    stop.request_stop();
  });
  // The processes are in sessions of their own, hold every descriptor and ignore signals.
  const absl::StatusOr<Evaluation> evaluation = world.Evaluate("# author: survivors cancelledtree hang", "", stop.get_token());
  canceller.join();
  const absl::Time killed = absl::Now();
  CHECK(absl::IsCancelled(evaluation.status()));
  while (testing::CountProcesses("cancelledtree") > 0 && absl::Now() - killed < absl::Seconds(1)) absl::SleepFor(absl::Milliseconds(5));
  CHECK(testing::CountProcesses("cancelledtree") == 0);
}

TEST_CASE("Processes that outlive the author are killed with it", "[sandbox]") {
  World world;
  const absl::StatusOr<Evaluation> left = world.Evaluate("# author: survivors leftbehind exit");
  REQUIRE(left.ok());
  CHECK(left->verdict == Verdict::kCrashed);
  const absl::StatusOr<Evaluation> passed = world.Evaluate("# author: survivors leftbehind pass");
  REQUIRE(passed.ok());
  CHECK(passed->verdict == Verdict::kCorrect);
  CHECK(testing::CountProcesses("leftbehind") == 0);
}

TEST_CASE("A fork bomb is bounded and ends as the candidate's crash", "[sandbox]") {
  SandboxLimits limits;
  limits.processes = 64;
  World world(SandboxOptions::Isolation::kBubblewrap, limits);
  if (world.sandbox->control_groups() == nullptr && ::geteuid() == 0) {
    WARN("root without control groups: the kernel does not limit its processes");
    return;
  }
  const absl::StatusOr<Evaluation> evaluation = world.Evaluate("# author: forkbomb");
  REQUIRE(evaluation.ok());
  INFO(TextOf(*evaluation));
  CHECK(evaluation->verdict == Verdict::kCrashed);
  CHECK_THAT(TextOf(*evaluation), Catch::Contains("processes"));
}

TEST_CASE("Memory beyond the limit is a crash that says so", "[sandbox]") {
  SandboxLimits limits;
  limits.memory_bytes = std::uint64_t{1} << 30;
  World world(SandboxOptions::Isolation::kBubblewrap, limits);
  const absl::StatusOr<Evaluation> evaluation = world.Evaluate("# author: allocate");
  REQUIRE(evaluation.ok());
  CHECK(evaluation->verdict == Verdict::kCrashed);
  CHECK_THAT(evaluation->reason, Catch::Contains("out of memory; the limit is 1 GiB"));
}

TEST_CASE("An author that fills the disk is stopped", "[sandbox]") {
  World world;
  const absl::StatusOr<Evaluation> evaluation = world.Evaluate("# author: fill");
  REQUIRE(evaluation.ok());
  CHECK(evaluation->verdict == Verdict::kCrashed);
  CHECK_THAT(evaluation->reason, Catch::Contains("it wrote more than"));
}

TEST_CASE("Trusted processes see only regular files of the author's", "[sandbox]") {
  World world;
  const absl::StatusOr<Evaluation> evaluation = world.Evaluate("# author: links\n# compile: list_modules");
  REQUIRE(evaluation.ok());
  CHECK(evaluation->reason == "ragged.cpu.module square.cpu.module");
}

TEST_CASE("The author's process reaches nothing but its own files", "[sandbox]") {
  World world;
  const FileDescriptor listener(::socket(AF_INET, SOCK_STREAM, 0));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  REQUIRE(::bind(listener.get(), reinterpret_cast<sockaddr*>(&address), size) == 0);
  REQUIRE(::listen(listener.get(), 1) == 0);
  REQUIRE(::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &size) == 0);
  const absl::StatusOr<Evaluation> evaluation = world.Evaluate(absl::StrCat("# author: look_around ", ntohs(address.sin_port)));
  REQUIRE(evaluation.ok());
  REQUIRE(evaluation->verdict == Verdict::kRejected);
  const nlohmann::json seen = nlohmann::json::parse(evaluation->reason, nullptr, false);
  INFO(evaluation->reason);
  REQUIRE(seen.is_object());
  CHECK(seen["uid"] == 65534);
  CHECK(seen["effective"] == "0000000000000000");
  CHECK(seen["no_new_privileges"] == "1");
  CHECK_THAT(seen["write_root"].get<std::string>(), Catch::StartsWith("no"));
  CHECK_THAT(seen["write_runner"].get<std::string>(), Catch::StartsWith("no"));
  CHECK_THAT(seen["write_candidate"].get<std::string>(), Catch::StartsWith("no"));
  CHECK(seen["write_tmp"] == "yes");
  CHECK_THAT(seen["connect"].get<std::string>(), Catch::StartsWith("no"));
  CHECK(seen["interfaces"] == "lo");
  CHECK(seen["home"] == "/tmp");
  // Neither the reference nor its outputs nor the seed: the types alone, and what a candidate may import.
  CHECK(seen["reference"] == "signature.json");
  CHECK(seen["task"] == "common.py");
  CHECK(seen["seed"] == false);
  // Standard ones, the job, the result, and the one that lists them; not the listener, although it is inheritable.
  CHECK(seen["descriptors"] == "0,1,2,3,4,5");
  CHECK_THAT(seen["root"].get<std::string>(), !Catch::Contains("home") && !Catch::Contains("root") && !Catch::Contains("var"));
}

TEST_CASE("Nothing is left on disk after an evaluation but the reference outputs", "[sandbox]") {
  World world;
  REQUIRE(world.Evaluate("").ok());
  REQUIRE(world.Evaluate("# author: links").ok());
  CHECK(std::filesystem::is_empty(world.folder.path() / "scratch"));
  CHECK(std::distance(std::filesystem::directory_iterator(world.state->references()), {}) == 1);
}

TEST_CASE("Without a sandbox the same outcomes hold, by process group and control group", "[sandbox]") {
  World world(SandboxOptions::Isolation::kNone);
  CHECK(world.sandbox->Describe() == "none (asked for by --unsafe-no-sandbox)");
  const absl::StatusOr<Evaluation> good = world.Evaluate("");
  REQUIRE(good.ok());
  CHECK(good->verdict == Verdict::kCorrect);
  CHECK_THAT(TextOf(*world.Evaluate("# author: signal 11")), Catch::Contains("killed by SIGSEGV"));
  CHECK(world.Evaluate("# author: hang", "", {}, Fidelity::kEstimate, absl::Seconds(1))->verdict == Verdict::kTimedOut);
  if (world.sandbox->control_groups() == nullptr) return;
  CHECK(world.Evaluate("# author: survivors unboxed exit")->verdict == Verdict::kCrashed);
  CHECK(testing::CountProcesses("unboxed") == 0);
}

TEST_CASE("A paired candidate is timed in between, where there is a clock", "[sandbox]") {
  World world;
  const Task task = MakeTask();
  EvaluationJob job{*TaskSnapshot::Create(task.name, task.configuration, task.files), *MakeCandidate("")};
  job.paired = *MakeCandidate("# the other one");
  job.repeats = 2;
  job.fidelity = Fidelity::kCpu;
  const absl::StatusOr<Evaluation> evaluation = world.pipeline->Evaluate(job, {}, {});
  INFO(evaluation.status());
  REQUIRE(evaluation.ok());
  CHECK(evaluation->cases[0].samples_seconds.size() == 4);
  CHECK(evaluation->cases[0].facts.at("paired_median_s") == 0.002);
  job.paired = *MakeCandidate("# author: failed does_not_compile broken");
  CHECK(absl::IsFailedPrecondition(world.pipeline->Evaluate(job, {}, {}).status()));
}

TEST_CASE("Admission findings become a report, whether or not the task is at fault", "[sandbox]") {
  World world;
  const auto admit = [&](std::string_view reference) {
    const Task task = MakeTask(reference);
    return world.pipeline->Admit({*TaskSnapshot::Create(task.name, task.configuration, task.files), 1}, {}, {});
  };
  const absl::StatusOr<AdmissionReport> good = admit("");
  REQUIRE(good.ok());
  CHECK(good->admitted);
  REQUIRE(good->findings.size() == 2);
  CHECK(good->findings[0].level == AdmissionFinding::Level::kPass);
  CHECK(good->findings[1].level == AdmissionFinding::Level::kWarning);
  CHECK(good->findings[1].message == "task.yaml:4: wide");
  const absl::StatusOr<AdmissionReport> bad = admit("# admit: task_failed zeros pass");
  REQUIRE(bad.ok());
  CHECK_FALSE(bad->admitted);
  CHECK(bad->findings[0].message == "reference.py:7: zeros pass");
}

TEST_CASE("A sandbox that cannot work is refused with what is missing", "[sandbox]") {
  ProcessLauncher launcher;
  SandboxOptions options;
  options.runner = testing::FakeRunner();
  options.python = "/nonexistent/python";
  absl::Status status = Sandbox::Create(options, launcher).status();
  CHECK(absl::IsFailedPrecondition(status));
  CHECK_THAT(std::string(status.message()), Catch::Contains("--python or MAXKERNEL_PYTHON"));
  options.python = "/bin/true";
  status = Sandbox::Create(options, launcher).status();
  CHECK_THAT(std::string(status.message()), Catch::Contains("it does not work"));
  options.python = testing::Python();
  options.runner = "/tmp";
  status = Sandbox::Create(options, launcher).status();
  CHECK_THAT(std::string(status.message()), Catch::Contains("--runner"));
}

}  // namespace
}  // namespace maxkernel::eval
