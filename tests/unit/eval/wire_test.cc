#include <catch2/catch.hpp>
#include <limits>

#include "lib/eval/daemon/bounded_text.h"
#include "lib/eval/daemon/listen_address.h"
#include "lib/eval/daemon/runner_frame.h"
#include "lib/eval/daemon/runner_result.h"
#include "lib/eval/wire/evaluation_conversion.h"
#include "lib/eval/wire/status_conversion.h"

namespace maxkernel::eval {
namespace {

std::string MessageOf(const absl::Status& status) { return std::string(status.message()); }

TEST_CASE("Frames come out as they went in, however the bytes are cut") {
  const std::string bytes = EncodeFrame("first") + EncodeFrame("") + EncodeFrame(std::string(70000, 'x'));
  for (const std::size_t step : {std::size_t{1}, std::size_t{3}, std::size_t{4096}, bytes.size()}) {
    FrameDecoder decoder(1 << 20);
    std::vector<std::string> frames;
    for (std::size_t at = 0; at < bytes.size(); at += step) {
      decoder.Append(std::string_view(bytes).substr(at, step));
      while (true) {
        const absl::StatusOr<std::optional<std::string>> frame = decoder.Next();
        REQUIRE(frame.ok());
        if (!frame->has_value()) break;
        frames.push_back(**frame);
      }
    }
    CHECK(frames == std::vector<std::string>{"first", "", std::string(70000, 'x')});
    CHECK(decoder.pending() == 0);
  }
}

TEST_CASE("A frame beyond the limit is refused by its header alone") {
  FrameDecoder decoder(100);
  decoder.Append(std::string("\xff\xff\xff\xff", 4));
  const absl::StatusOr<std::optional<std::string>> frame = decoder.Next();
  REQUIRE(absl::IsInvalidArgument(frame.status()));
  CHECK(MessageOf(frame.status()) == "a frame of 4294967295 bytes; at most 100 are allowed");
}

TEST_CASE("Bounded text keeps both ends of what is too long") {
  BoundedText text(20);
  for (int i = 0; i < 1000; ++i) text.Append("0123456789");
  text.Append("the end");
  CHECK(text.size() == 10007);
  CHECK(text.Text() == "0123456789\n[... 9987 bytes left out ...]\n789the end");
  BoundedText small(20);
  small.Append("all of it");
  CHECK(small.Text() == "all of it");
}

TEST_CASE("Tails start at a line and are UTF-8 whatever the bytes were") {
  CHECK(Tail("one\ntwo\nthree", 7) == "three");
  CHECK(Tail("short", 100) == "short");
  CHECK(ToUtf8("gr\xc3\xbc\xc3\x9f \xff\xfe \xe2\x82") == "gr\xc3\xbc\xc3\x9f ?? ??");
  CHECK(ToUtf8("\xed\xa0\x80\xc0\xaf") == "?????");
}

TEST_CASE("Only loopback and Unix sockets may be listened on") {
  for (const char* good : {"127.0.0.1:0", "localhost:4000", "[::1]:4000", "127.8.0.1:1", "unix:/tmp/x.sock"}) {
    INFO(good);
    CHECK(ParseListenAddress(good).ok());
  }
  for (const char* bad : {"0.0.0.0:4000", "[::]:4000", "example.org:4000", "127.0.0.1.example.org:80", "4000", ":4000", "127.0.0.1:99999",
                          "127.0.0.1:", "127.0.0.1:x", "unix:", ""}) {
    INFO(bad);
    CHECK(absl::IsInvalidArgument(ParseListenAddress(bad).status()));
  }
  CHECK_THAT(MessageOf(ParseListenAddress("0.0.0.0:4000").status()), Catch::Contains("expected a loopback address"));
}

TEST_CASE("Every status code survives the wire") {
  for (int code = 0; code <= 16; ++code) {
    const absl::Status status(static_cast<absl::StatusCode>(code), code == 0 ? "" : "what went wrong");
    CHECK(FromGrpc(ToGrpc(status)) == status);
  }
  const absl::Status back = FromGrpc(ToGrpc(absl::UnavailableError(std::string(100000, 'x'))));
  CHECK(absl::IsUnavailable(back));
  CHECK(back.message().size() < 8000);
}

Evaluation FullEvaluation() {
  Evaluation evaluation;
  evaluation.fidelity = Fidelity::kAot;
  evaluation.verdict = Verdict::kDoesNotCompile;
  evaluation.reason = "does not fit";
  evaluation.stages = {{Stage::kValidate, StageStatus::kPassed, absl::Milliseconds(1500), {}},
                       {Stage::kCompile,
                        StageStatus::kFailed,
                        absl::Nanoseconds(7),
                        {{Severity::kWarning, "mosaic_vmem_oom", "too big", "candidate.py", 12, "square", "smaller blocks"},
                         {Severity::kNote, "x", "no place", "", std::nullopt, "", ""}}}};
  evaluation.cases = {{"square", true, 0.5, 0.0, {1.5e-5, 2e-5}, 1e-5, "", {{"vmem_bytes", 4096.0}}},
                      {"ragged", false, std::nullopt, std::nullopt, {}, std::nullopt, "not scored", {}}};
  evaluation.identity = "abc";
  evaluation.environment = {{"jax", "0.10.2"}};
  evaluation.facts = {{"kernels", 2.0}};
  evaluation.device_time = absl::Seconds(3) + absl::Nanoseconds(5);
  evaluation.from_cache = true;
  return evaluation;
}

TEST_CASE("An evaluation survives the wire unchanged") {
  v1::Evaluation message;
  ToProto(FullEvaluation(), message);
  v1::Evaluation parsed;
  REQUIRE(parsed.ParseFromString(message.SerializeAsString()));
  const absl::StatusOr<Evaluation> back = FromProto(parsed);
  REQUIRE(back.ok());
  CHECK(*back == FullEvaluation());
}

TEST_CASE("Messages with values that mean nothing are refused by field") {
  v1::Evaluation message;
  ToProto(FullEvaluation(), message);
  SECTION("an unspecified verdict") {
    message.set_verdict(v1::VERDICT_UNSPECIFIED);
    CHECK_THAT(MessageOf(FromProto(message).status()), Catch::Contains("verdict"));
  }
  SECTION("a stage from the future") {
    message.mutable_stages(0)->set_stage(static_cast<v1::Stage>(77));
    CHECK_THAT(MessageOf(FromProto(message).status()), Catch::Contains("stage: 77"));
  }
  SECTION("a time that is none") {
    message.mutable_cases(0)->set_samples_seconds(0, 0);
    CHECK_THAT(MessageOf(FromProto(message).status()), Catch::Contains("samples_seconds"));
  }
  SECTION("an unspecified severity") {
    message.mutable_stages(1)->mutable_diagnostics(0)->set_severity(v1::SEVERITY_UNSPECIFIED);
    CHECK_THAT(MessageOf(FromProto(message).status()), Catch::Contains("severity"));
  }
}

TEST_CASE("An admission report survives the wire unchanged") {
  const AdmissionReport report{true, {{AdmissionFinding::Level::kWarning, "null candidate: zeros", "square", "close"}}, true};
  v1::AdmissionReport message;
  ToProto(report, message);
  const absl::StatusOr<AdmissionReport> back = FromProto(message);
  REQUIRE(back.ok());
  CHECK(back->admitted);
  CHECK(back->from_cache);
  REQUIRE(back->findings.size() == 1);
  CHECK(back->findings[0].level == AdmissionFinding::Level::kWarning);
  CHECK(back->findings[0].check == "null candidate: zeros");
  CHECK(back->findings[0].case_name == "square");
}

absl::StatusOr<RunnerResult> ParseResult(const std::string& json, Role role = Role::kTest) {
  auto frame = ParseRunnerFrame(json, role);
  if (!frame.ok()) return frame.status();
  return std::get<RunnerResult>(*frame);
}

TEST_CASE("A runner's result is read with all its parts") {
  const auto result = ParseResult(R"({"kind": "result", "protocol": 1, "role": "test", "status": "failed", "verdict": "incorrect",
    "reason": "off by one", "diagnostics": [{"severity": "error", "class": "numerics", "fault": "candidate", "message": "m",
    "file": "candidate.py", "line": 0, "case": "square", "hint": "h"}], "cases": [{"name": "square", "status": "failed",
    "max_abs_error": 1.5, "samples_s": [], "facts": {"deterministic": 1, "flags": "a b"}, "absent": ""}],
    "facts": {"kernels": 2, "note": "text"}, "identity": "id", "environment": {"jax": "1"}, "timing_s": {"work": 0.5}, "new_field": 7})");
  REQUIRE(result.ok());
  CHECK(result->status == RunnerResult::Status::kFailed);
  CHECK(result->verdict == Verdict::kIncorrect);
  REQUIRE(result->diagnostics.size() == 1);
  CHECK_FALSE(result->diagnostics[0].line.has_value());
  CHECK(result->cases[0].result.max_abs_error == 1.5);
  CHECK_FALSE(result->cases[0].result.max_rel_error.has_value());
  CHECK(result->cases[0].result.facts == std::map<std::string, double>{{"deterministic", 1.0}});
  CHECK(result->cases[0].notes == std::map<std::string, std::string>{{"flags", "a b"}});
  CHECK(result->timing.at("work") == absl::Milliseconds(500));
}

TEST_CASE("Results outside of the protocol are refused by field") {
  struct Row {
    const char* json;
    const char* expected;
  };
  const std::string head = R"({"kind": "result", "protocol": 1, "role": "test", )";
  for (const Row row : {
           Row{"not json", "no JSON"},
           Row{"[]", "an object"},
           Row{R"({"kind": "verdict"})", "kind: expected"},
           Row{R"({"kind": "result", "protocol": 2, "role": "test", "status": "passed"})", "protocol: expected 1"},
           Row{R"({"kind": "result", "protocol": 1, "role": "author", "status": "passed"})", "role: expected \"test\""},
           Row{R"({"kind": "result", "protocol": 1, "role": "test", "status": "fine"})", "status: expected"},
           Row{R"({"kind": "result", "protocol": 1, "role": "test", "status": "failed", "verdict": "correct"})", "verdict: expected"},
           Row{R"({"kind": "result", "protocol": 1, "role": "test", "status": "passed", "cases": [{"name": "a", "samples_s": [0]}]})",
               "cases.samples_s: expected positive"},
           Row{R"({"kind": "result", "protocol": 1, "role": "test", "status": "passed", "cases": [{"name": "a", "samples_s": [-1]}]})",
               "cases.samples_s: expected positive"},
           Row{R"({"kind": "result", "protocol": 1, "role": "test", "status": "passed", "cases": [{"samples_s": [1]}]})",
               "cases.name: expected"},
           Row{R"({"kind": "result", "protocol": 1, "role": "test", "status": "passed", "cases": [{"name": "a", "max_abs_error": NaN}]})",
               "no JSON"},
           Row{R"({"kind": "result", "protocol": 1, "role": "test", "status": "passed", "facts": {"a": [1]}})", "facts.a: expected"},
           Row{R"({"kind": "result", "protocol": 1, "role": "test", "status": "passed", "diagnostics": [{"severity": "bad"}]})",
               "diagnostics.severity: expected"},
       }) {
    INFO(row.json);
    const absl::Status status = ParseResult(row.json).status();
    CHECK(absl::IsInvalidArgument(status));
    CHECK_THAT(MessageOf(status), Catch::Contains(row.expected));
  }
  CHECK(absl::IsInvalidArgument(ParseResult(head + R"("status": "passed", "reason": ")" + std::string(20000, 'x') + "\"}").status()));
}

}  // namespace
}  // namespace maxkernel::eval
