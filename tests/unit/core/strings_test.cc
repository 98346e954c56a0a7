#include "maxkernel/internal/strings.h"

#include <catch2/catch.hpp>

namespace maxkernel::internal {
namespace {

TEST_CASE("Nearest finds what was meant and nothing else") {
  const std::vector<std::string> known{"width", "depth", "branches"};
  CHECK(Nearest("widht", known) == "width");
  CHECK(Nearest("branchs", known) == "branches");
  CHECK(Nearest("deph", known) == "depth");
  CHECK(Nearest("temperature", known).empty());
  CHECK(Nearest("x", {}).empty());
  CHECK(DidYouMean("widht", known) == "; did you mean 'width'?");
  CHECK(DidYouMean("temperature", known).empty());
}

TEST_CASE("StringMap is searched without making a string") {
  StringMap<int> map;
  map["one"] = 1;
  CHECK(map.contains(std::string_view("one")));
  CHECK_FALSE(map.contains(std::string_view("two")));
}

}  // namespace
}  // namespace maxkernel::internal
