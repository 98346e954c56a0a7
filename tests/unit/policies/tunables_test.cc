#include "maxkernel/policies/tunables.h"

#include <catch2/catch.hpp>

namespace maxkernel {
namespace {

Candidate Source(std::string_view text) { return *Candidate::FromText("kernel.py", text); }

std::string ErrorOf(std::string_view text) {
  const auto tunables = FindTunables(Source(text));
  return tunables.ok() ? "no error" : std::string(tunables.status().message());
}

TEST_CASE("tunables of every kind are found with their places") {
  const Candidate candidate = Source(
      "import jax\n"
      "ROWS = 8  # tunable: 8, 16\n"
      "SCALE=0.5# tunable: 0.5, 1e-3, -2\n"
      "ORDER = 'r,c'  #tunable : 'r,c', \"c\"\n"
      "FLAG = True  # tunable: True, False\n");
  const auto tunables = FindTunables(candidate);
  REQUIRE(tunables.ok());
  REQUIRE(tunables->size() == 4);
  CHECK((*tunables)[0].name == "ROWS");
  CHECK((*tunables)[0].line == 2);
  CHECK((*tunables)[0].choices == std::vector<std::string>{"8", "16"});
  CHECK((*tunables)[1].choices == std::vector<std::string>{"0.5", "1e-3", "-2"});
  CHECK((*tunables)[2].value == "'r,c'");
  CHECK((*tunables)[2].choices == std::vector<std::string>{"'r,c'", "\"c\""});
  CHECK((*tunables)[3].name == "FLAG");
}

TEST_CASE("strings, docstrings and other comments declare nothing") {
  const auto tunables = FindTunables(Source(
      "\"\"\"Example:\n"
      "BLOCK = 3  # tunable: 1, 2\n"
      "\"\"\"\n"
      "TEXT = '# tunable: nonsense'\n"
      "OTHER = \"it's \\\" # tunable: nonsense\"\n"
      "# tunables are declared below\n"
      "BLOCK = 1  # tunable: 1, 2\n"));
  REQUIRE(tunables.ok());
  REQUIRE(tunables->size() == 1);
  CHECK(tunables->front().line == 7);
}

TEST_CASE("an ill-formed declaration is an error that names file and line") {
  const auto contains = [](const std::string& part) { return Catch::Matchers::Contains(part); };
  CHECK_THAT(ErrorOf("\n  BLOCK = 8  # tunable: 8\n"), contains("kernel.py:2: ") && contains("indented"));
  CHECK_THAT(ErrorOf("block = 8  # tunable: 8\n"), contains("kernel.py:1: ") && contains("'block' is not a name in capitals"));
  CHECK_THAT(ErrorOf("# tunable: 8\n"), contains("no assignment"));
  CHECK_THAT(ErrorOf("BLOCK = 4 * 2  # tunable: 8\n"), contains("'4 * 2' is not an integer"));
  CHECK_THAT(ErrorOf("BLOCK = 8  # tunable: 8, x\n"), contains("the choice 'x'"));
  CHECK_THAT(ErrorOf("BLOCK = 8  # tunable: 8, 16, 8\n"), contains("'8' is listed twice"));
  CHECK_THAT(ErrorOf("BLOCK = 8  # tunable: 16, 32\n"), contains("8 of BLOCK is not among its choices (16, 32)"));
  CHECK_THAT(ErrorOf("BLOCK = 8  # tunable:\n"), contains("the choice ''"));
  CHECK_THAT(ErrorOf("A = 8  # tunable: 8\nA = 8  # tunable: 8\n"), contains("kernel.py:2: ") && contains("kernel.py:1"));
}

TEST_CASE("setting tunables changes their values and nothing else") {
  const Candidate candidate = *Candidate::Create({{"kernel.py", "A = 8  # tunable: 8, 16\nB = 'x'  # tunable: 'x', 'long'  \n"},
                                                  {"more.py", "C = 1  # tunable: 1, 2\n"},
                                                  {"notes.txt", "C = 1  # tunable: 1, 2\n"}});
  const auto changed = SetTunables(candidate, {{"A", "16"}, {"B", "'long'"}, {"C", "2"}});
  REQUIRE(changed.ok());
  CHECK(changed->files()[0].text == "A = 16  # tunable: 8, 16\nB = 'long'  # tunable: 'x', 'long'  \n");
  CHECK(changed->files()[1].text == "C = 2  # tunable: 1, 2\n");
  CHECK(changed->files()[2].text == candidate.files()[2].text);
  CHECK_THAT(std::string(SetTunables(candidate, {{"A", "9"}}).status().message()), Catch::Matchers::Contains("'9' is not among its choices"));
  CHECK_THAT(std::string(SetTunables(candidate, {{"D", "9"}}).status().message()), Catch::Matchers::Contains("declared: A, B, C"));
}

}  // namespace
}  // namespace maxkernel
