#include "maxkernel/policy_spec.h"

#include <catch2/catch.hpp>

#include "maxkernel/policy_registry.h"

namespace maxkernel {
namespace {

TEST_CASE("PolicySpec parses names, options and quoted values") {
  const auto spec = PolicySpec::Parse(" script ( command=\"run, \\\"it\\\" (now)\", timeout=3.5 ) ");
  REQUIRE(spec.ok());
  CHECK(spec->name == "script");
  CHECK(spec->options.at("command") == "run, \"it\" (now)");
  CHECK(spec->options.at("timeout") == "3.5");
  CHECK(PolicySpec::Parse("random")->options.empty());
  CHECK(PolicySpec::Parse("random()")->options.empty());
}

TEST_CASE("PolicySpec text round-trips") {
  for (const char* text : {"random", "beam(branches=2, width=4)", "script(command=\"a b\")", "x(y=\"\")", "x(y=\"a\\\\b\\\"\")"}) {
    const auto spec = PolicySpec::Parse(text);
    REQUIRE(spec.ok());
    CHECK(spec->ToString() == text);
    CHECK(*PolicySpec::Parse(spec->ToString()) == *spec);
  }
}

TEST_CASE("PolicySpec errors say where and what was expected") {
  const auto message = [](const char* text) { return std::string(PolicySpec::Parse(text).status().message()); };
  CHECK(message("") .find("a policy's name") != std::string::npos);
  CHECK(message("beam(width)").find("'=' after 'width'") != std::string::npos);
  CHECK(message("beam(width=)").find("a value for 'width'") != std::string::npos);
  CHECK(message("beam(width=4").find("',' or ')'") != std::string::npos);
  CHECK(message("beam(width=4) x").find("the end of the text") != std::string::npos);
  CHECK(message("beam(width=4, width=5)").find("twice") != std::string::npos);
  CHECK(message("beam(x=\"open)").find("a value for 'x'") != std::string::npos);
}

TEST_CASE("OptionReader reads what is given and leaves the rest at its default") {
  const auto spec = PolicySpec::Parse("p(width=7, rate=0.25, kind=b)");
  std::int64_t width = 4;
  std::int64_t depth = 2;
  double rate = 1;
  std::string kind = "a";
  OptionReader reader(*spec);
  reader.Read("width", "members", &width, 1, 10);
  reader.Read("depth", "levels", &depth, 1, 10);
  reader.Read("rate", "share", &rate, 0, 1);
  reader.ReadChoice("kind", "which", &kind, {"a", "b"});
  CHECK(reader.Finish().ok());
  CHECK(width == 7);
  CHECK(depth == 2);
  CHECK(rate == 0.25);
  CHECK(kind == "b");
}

TEST_CASE("OptionReader reports every wrong option at once") {
  const auto spec = PolicySpec::Parse("p(widht=7, rate=2, kind=c, depth=x)");
  std::int64_t width = 4;
  std::int64_t depth = 2;
  double rate = 1;
  std::string kind = "a";
  OptionReader reader(*spec);
  reader.Read("width", "members", &width, 1, 10);
  reader.Read("depth", "levels", &depth, 1, 10);
  reader.Read("rate", "share", &rate, 0, 1);
  reader.ReadChoice("kind", "which", &kind, {"a", "b"});
  const absl::Status status = reader.Finish();
  CHECK(status.code() == absl::StatusCode::kInvalidArgument);
  const std::string message(status.message());
  CHECK(message.find("unknown option 'widht'; did you mean 'width'?") != std::string::npos);
  CHECK(message.find("'rate' is '2'; expected a number in 0..1") != std::string::npos);
  CHECK(message.find("'kind' is 'c'; expected one of a | b") != std::string::npos);
  CHECK(message.find("'depth' is 'x'; expected a whole number in 1..10") != std::string::npos);
}

class IdlePolicy final : public SelectionPolicy {
 public:
  void OnEvent(const OnEventArgs&) override {}
  Decision Select(const SelectArgs&) const override { return Decision::Wait("idle"); }
};

TEST_CASE("PolicyRegistry makes policies by name and suggests for a wrong one") {
  PolicyRegistry registry;
  const auto factory = [](const PolicySpec&) -> absl::StatusOr<std::unique_ptr<SelectionPolicy>> {
    return std::make_unique<IdlePolicy>();
  };
  REQUIRE(registry.AddSelection("idle", "does nothing", factory).ok());
  CHECK(registry.AddSelection("idle", "again", factory).code() == absl::StatusCode::kAlreadyExists);
  CHECK(registry.MakeSelection({"idle", {}}).ok());
  const absl::Status status = registry.MakeSelection({"idel", {}}).status();
  CHECK(status.code() == absl::StatusCode::kNotFound);
  CHECK(std::string(status.message()).find("did you mean 'idle'?") != std::string::npos);
  CHECK(registry.selections() == std::vector<std::pair<std::string, std::string>>{{"idle", "does nothing"}});
}

}  // namespace
}  // namespace maxkernel
