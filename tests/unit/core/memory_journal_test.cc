#include <catch2/catch.hpp>

#include "maxkernel/journal.h"

namespace maxkernel {
namespace {

Event PausedAt(std::uint64_t sequence) { return {EventSequence{sequence}, absl::FromUnixSeconds(0), Paused{}}; }

TEST_CASE("The memory journal keeps events in order and refuses a gap") {
  const auto journal = MakeMemoryJournal();
  const std::vector<Event> group{PausedAt(1), PausedAt(2)};
  REQUIRE(journal->Append(group).ok());
  CHECK(journal->Append(std::vector<Event>{PausedAt(4)}).code() == absl::StatusCode::kInvalidArgument);
  REQUIRE(journal->Append(std::vector<Event>{PausedAt(3)}).ok());
  std::vector<std::uint64_t> seen;
  REQUIRE(journal->ForEach([&](const Event& event) {
    seen.push_back(ToNumber(event.sequence));
    return absl::OkStatus();
  }).ok());
  CHECK(seen == std::vector<std::uint64_t>{1, 2, 3});
}

TEST_CASE("The memory journal's reply log keeps the first reply") {
  const auto journal = MakeMemoryJournal();
  CHECK(journal->replies().Find("k").status().code() == absl::StatusCode::kNotFound);
  REQUIRE(journal->replies().Record("k", "first").ok());
  REQUIRE(journal->replies().Record("k", "second").ok());
  CHECK(*journal->replies().Find("k") == "first");
}

TEST_CASE("Every event kind has a name of its own") {
  CHECK(EventName(RunStarted{}) == "run_started");
  CHECK(EventName(HintAdded{}) == "hint_added");
  CHECK(EventName(LateResult{}) == "late_result");
}

}  // namespace
}  // namespace maxkernel
