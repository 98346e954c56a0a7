#include "maxkernel/policies/script.h"

#include <signal.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "maxkernel/journal.h"

namespace maxkernel {
namespace {

using Catch::Matchers::Contains;

class Fixture {
 public:
  explicit Fixture(std::vector<std::string> command) {
    ScriptOptions options;
    options.command = std::move(command);
    options.maximum_output = 100'000;
    policy_ = *MakeScript(options);
    request_.operator_name = "script";
    ParentContext parent;
    parent.candidate = std::make_shared<const Candidate>(*Candidate::FromText("kernel.py", "X = 1\n"));
    parent.score = Score{1.5, 1.4, 1.6, Fidelity::kEstimate};
    request_.parents = {parent};
  }
  explicit Fixture(const std::string& shell) : Fixture(std::vector<std::string>{"sh", "-c", shell}) {}

  absl::StatusOr<ProposeResult> Propose(std::stop_token stop = {}, absl::Duration patience = absl::Seconds(20)) {
    return policy_->proposer().Propose(
        {request_, "d1/o0/s0", journal_->replies(), stop, absl::Now() + patience, KeyedRandom(1, RandomStream::kPropose, 1)});
  }

  std::string Failure() {
    const absl::StatusOr<ProposeResult> result = Propose();
    if (!result.ok()) return "status: " + result.status().ToString();
    return result->proposals.empty() ? result->failure : "a proposal";
  }

 private:
  std::unique_ptr<ExpansionPolicy> policy_;
  std::unique_ptr<Journal> journal_ = MakeMemoryJournal();
  ProposeRequest request_;
};

TEST_CASE("a script sees its parents and gives a candidate") {
  Fixture fixture({"python3", "-c", R"py(
import json, sys
request = json.load(sys.stdin)
assert request["version"] == 1 and request["reply_key"] == "d1/o0/s0"
parent = request["parents"][0]
assert parent["node"] == "n0" and parent["score"]["value"] == 1.5 and parent["evaluation"] is None
text = parent["files"][0]["text"].replace("1", "2")
json.dump({"files": [{"path": "kernel.py", "text": text}], "rationale": "two", "tunables": {"X": 2},
           "cost": {"input_tokens": 10, "microdollars": 5}}, sys.stdout)
)py"});
  const absl::StatusOr<ProposeResult> result = fixture.Propose();
  REQUIRE(result.ok());
  INFO(result->failure);
  REQUIRE(result->proposals.size() == 1);
  CHECK(result->proposals[0].candidate->entry().text == "X = 2\n");
  CHECK(result->proposals[0].rationale == "two");
  CHECK(result->proposals[0].tunables.at("X") == "2");
  CHECK(result->cost.input_tokens == 10);
  CHECK(result->cost.microdollars == 5);
}

TEST_CASE("a good answer is recorded and not paid for again") {
  const auto folder = std::filesystem::temp_directory_path() / absl::StrCat("maxkernel-script-", getpid());
  std::filesystem::create_directories(folder);
  const std::string count = (folder / "count").string();
  Fixture fixture(absl::StrCat("echo run >> ", count, R"(; echo '{"files": [{"path": "k.py", "text": "x"}]}')"));
  REQUIRE(fixture.Propose()->proposals.size() == 1);
  REQUIRE(fixture.Propose()->proposals.size() == 1);
  std::ifstream stream(count);
  CHECK(std::string(std::istreambuf_iterator<char>(stream), {}) == "run\n");
  std::filesystem::remove_all(folder);
}

TEST_CASE("what is wrong with an answer is said with its place") {
  const auto failure = [](const std::string& answer) { return Fixture("cat > /dev/null; printf '%s' '" + answer + "'").Failure(); };
  CHECK_THAT(failure(""), Contains("standard output is empty"));
  CHECK_THAT(failure("hello"), Contains("not JSON"));
  CHECK_THAT(failure("[]"), Contains("the answer is array; expected an object"));
  CHECK_THAT(failure("{}"), Contains("none of files, candidates and failure"));
  CHECK_THAT(failure(R"({"file": []})"), Contains("unknown field 'file'") && Contains("did you mean 'files'?"));
  CHECK_THAT(failure(R"({"files": [{"path": "a.py"}]})"), Contains("files[0].text is missing"));
  CHECK_THAT(failure(R"({"files": [{"path": "a.py", "text": 3}]})"), Contains("files[0].text is number; expected a string"));
  CHECK_THAT(failure(R"({"files": [{"path": "/a.py", "text": "x"}]})"), Contains("the path is absolute"));
  CHECK_THAT(failure(R"({"candidates": [{"rationale": "x"}]})"), Contains("candidates[0].files is missing"));
  CHECK_THAT(failure(R"({"failure": "f", "cost": {"microdollars": -1}})"), Contains("cost.microdollars is -1"));
  CHECK(failure(R"({"failure": "no idea"})") == "no idea");
}

TEST_CASE("a command that fails, is too loud or is not there says so") {
  CHECK_THAT(Fixture("echo broken >&2; exit 3").Failure(), Contains("ended with status 3") && Contains("standard error: broken"));
  CHECK_THAT(Fixture("kill -9 $$").Failure(), Contains("was killed by signal 9"));
  CHECK_THAT(Fixture("head -c 300000 /dev/zero; sleep 60").Failure(), Contains("more than 100000 bytes"));
  CHECK(Fixture("echo later >&2; exit 75").Propose().status().code() == absl::StatusCode::kUnavailable);
  const absl::Status missing = Fixture(std::vector<std::string>{"/no/such/program"}).Propose().status();
  CHECK(missing.code() == absl::StatusCode::kNotFound);
  CHECK_THAT(std::string(missing.message()), Contains("cannot start '/no/such/program'"));
}

TEST_CASE("a megabyte of standard error does not block a command") {
  CHECK(Fixture(R"(head -c 1000000 /dev/zero | tr '\0' x >&2; echo '{"failure": "done"}')").Failure() == "done");
}

// Waits until the process is gone, for at most a few seconds.
bool IsGone(pid_t process) {
  for (int i = 0; i < 300; ++i) {
    if (kill(process, 0) != 0) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

TEST_CASE("cancellation and deadline kill the whole process group") {
  const auto folder = std::filesystem::temp_directory_path() / absl::StrCat("maxkernel-group-", getpid());
  std::filesystem::create_directories(folder);
  const std::string file = (folder / "pid").string();
  const std::string script = absl::StrCat("sleep 100 & echo $! > ", file, ".new; mv ", file, ".new ", file, "; wait");
  const auto grandchild = [&] {
    for (int i = 0; i < 500 && !std::filesystem::exists(file); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    std::ifstream stream(file);
    pid_t process = 0;
    stream >> process;
    return process;
  };
  SECTION("cancelled") {
    std::stop_source stop;
    pid_t process = 0;
    std::thread canceller([&] {
      process = grandchild();
      stop.request_stop();
    });
    const absl::Status status = Fixture(script).Propose(stop.get_token()).status();
    canceller.join();
    CHECK(status.code() == absl::StatusCode::kCancelled);
    REQUIRE(process > 0);
    CHECK(IsGone(process));
  }
  SECTION("too late") {
    const absl::Status status = Fixture(script).Propose({}, absl::Seconds(1)).status();
    CHECK(status.code() == absl::StatusCode::kDeadlineExceeded);
    const pid_t process = grandchild();
    REQUIRE(process > 0);
    CHECK(IsGone(process));
  }
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace maxkernel
