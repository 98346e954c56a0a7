// The tree's rules about who may include what.
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <regex>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;

struct Include {
  std::string file;
  std::string target;
};

std::vector<Include> IncludesUnder(const std::string& folder) {
  static const std::regex kInclude(R"(^\s*#\s*include\s*[<"]([^>"]+)[>"])");
  std::vector<Include> includes;
  const fs::path root = fs::path(MAXKERNEL_SOURCE_FOLDER) / folder;
  if (!fs::exists(root)) return includes;
  for (const auto& entry : fs::recursive_directory_iterator(root)) {
    const std::string extension = entry.path().extension().string();
    if (extension != ".h" && extension != ".cc") continue;
    std::ifstream stream(entry.path());
    std::string line;
    std::smatch match;
    while (std::getline(stream, line)) {
      if (std::regex_search(line, match, kInclude)) includes.push_back({entry.path().string(), match[1]});
    }
  }
  return includes;
}

bool StartsWith(const std::string& text, const std::string& prefix) { return text.rfind(prefix, 0) == 0; }

TEST_CASE("public headers show no third-party type but Abseil's") {
  const std::vector<Include> includes = IncludesUnder("include");
  REQUIRE(includes.size() > 100);
  for (const Include& include : includes) {
    INFO(include.file << " includes " << include.target);
    for (const char* forbidden : {"grpc", "google/protobuf", "curl/", "sqlite3", "nlohmann/", "yaml-cpp/", "catch2/"}) {
      CHECK_FALSE(StartsWith(include.target, forbidden));
    }
    if (StartsWith(include.target, "boost/")) CHECK(StartsWith(fs::path(include.file).filename().string(), "boost_view"));
    CHECK_FALSE(StartsWith(include.target, "lib/"));
  }
}

TEST_CASE("links go only downward") {
  const auto forbid = [](const std::string& folder, const std::vector<std::string>& forbidden) {
    for (const Include& include : IncludesUnder(folder)) {
      INFO(include.file << " includes " << include.target);
      for (const std::string& prefix : forbidden) CHECK_FALSE(StartsWith(include.target, prefix));
    }
  };
  forbid("lib/core", {"lib/search", "lib/policies", "lib/llm", "lib/eval", "lib/store", "lib/report", "lib/task", "lib/testing"});
  forbid("lib/policies", {"lib/", "maxkernel/llm/", "maxkernel/eval/", "maxkernel/store/", "nlohmann/yaml", "sqlite3", "grpc"});
  forbid("lib/search", {"lib/policies", "lib/llm", "lib/eval", "lib/store", "lib/report", "maxkernel/llm/", "maxkernel/eval/",
                        "maxkernel/store/", "maxkernel/policies/"});
  forbid("lib/llm", {"lib/eval", "lib/store", "lib/search", "maxkernel/eval/", "maxkernel/store/"});
  forbid("lib/eval", {"lib/llm", "lib/store", "lib/search", "maxkernel/llm/", "maxkernel/store/"});
  forbid("lib/store", {"lib/llm", "lib/eval", "lib/search", "maxkernel/llm/", "maxkernel/eval/"});
}

}  // namespace
