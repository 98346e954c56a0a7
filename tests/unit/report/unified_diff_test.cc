#include <catch2/catch.hpp>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "maxkernel/random.h"
#include "maxkernel/report/result_file.h"

namespace maxkernel {
namespace {

void Write(const std::string& path, const std::string& text) { std::ofstream(path) << text; }

std::string Read(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

// Applies `diff` to `before` with the patch command.
std::string Patched(const std::string& before, const std::string& diff, const std::string& folder) {
  Write(folder + "/file", before);
  Write(folder + "/diff", diff);
  const std::string command = "patch -s -u " + folder + "/file " + folder + "/diff > /dev/null 2>&1";
  REQUIRE(std::system(command.c_str()) == 0);
  return Read(folder + "/file");
}

std::size_t ChangedLines(const std::string& diff) {
  std::istringstream lines(diff);
  std::size_t count = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("---", 0) == 0 || line.rfind("+++", 0) == 0) continue;
    if (!line.empty() && (line[0] == '+' || line[0] == '-')) ++count;
  }
  return count;
}

std::string RandomText(KeyedRandom& random) {
  std::string text;
  const std::uint32_t lines = random.NextBelow(40);
  for (std::uint32_t i = 0; i < lines; ++i) text += "line " + std::to_string(random.NextBelow(6)) + "\n";
  if (random.NextBelow(4) == 0) text += "no newline";
  return text;
}

TEST_CASE("UnifiedDiff shows a change with its context") {
  CHECK(UnifiedDiff("a\nb\nc\nd\ne\nf\n", "a\nb\nc\nD\ne\nf\n", "x", "y") ==
        "--- x\n+++ y\n@@ -1,6 +1,6 @@\n a\n b\n c\n-d\n+D\n e\n f\n");
  CHECK(UnifiedDiff("same\n", "same\n", "x", "y").empty());
  CHECK(UnifiedDiff("", "new\n", "x", "y") == "--- x\n+++ y\n@@ -0,0 +1 @@\n+new\n");
  CHECK(UnifiedDiff("a\n", "a", "x", "y") == "--- x\n+++ y\n@@ -1 +1 @@\n-a\n+a\n\\ No newline at end of file\n");
}

TEST_CASE("UnifiedDiff agrees with the diff and patch commands on random texts") {
  char folder_template[] = "/tmp/maxkernel-diff-XXXXXX";
  const std::string folder = mkdtemp(folder_template);
  KeyedRandom random(11, RandomStream::kSimulator, 0);
  for (int round = 0; round < 60; ++round) {
    const std::string before = RandomText(random);
    const std::string after = RandomText(random);
    const std::string ours = UnifiedDiff(before, after, "a", "b");
    INFO("before:\n" << before << "after:\n" << after << "diff:\n" << ours);
    if (before == after) continue;
    CHECK(Patched(before, ours, folder) == after);
    Write(folder + "/before", before);
    Write(folder + "/after", after);
    std::system(("diff -d -u " + folder + "/before " + folder + "/after > " + folder + "/theirs").c_str());
    CHECK(ChangedLines(ours) <= ChangedLines(Read(folder + "/theirs")));
  }
  std::system(("rm -rf " + folder).c_str());
}

TEST_CASE("UnifiedDiff of texts with nothing in common replaces all") {
  std::string before;
  std::string after;
  for (int i = 0; i < 3000; ++i) {
    before += "b" + std::to_string(i) + "\n";
    after += "a" + std::to_string(i) + "\n";
  }
  CHECK(ChangedLines(UnifiedDiff(before, after, "a", "b")) == 6000);
}

}  // namespace
}  // namespace maxkernel
