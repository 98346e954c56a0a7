#include "maxkernel/candidate.h"

#include <catch2/catch.hpp>

namespace maxkernel {
namespace {

std::string HashOf(std::string_view text) { return Candidate::FromText("k.py", text)->content_hash(); }

TEST_CASE("Sha256Hex gives the digests of FIPS 180-2") {
  CHECK(Sha256Hex("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(Sha256Hex("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST_CASE("Candidate hash ignores line ends, trailing blanks and trailing empty lines") {
  const std::string hash = HashOf("a = 1\nb = 2\n");
  CHECK(HashOf("a = 1\r\nb = 2\r\n") == hash);
  CHECK(HashOf("a = 1  \nb = 2\t") == hash);
  CHECK(HashOf("a = 1\nb = 2\n\n\n") == hash);
}

TEST_CASE("Candidate hash tells apart what differs in meaning") {
  const std::string hash = HashOf("a = 1\nb = 2\n");
  CHECK(HashOf("a = 1\n  b = 2\n") != hash);
  CHECK(HashOf("a = 1\n\nb = 2\n") != hash);
  CHECK(Candidate::FromText("other.py", "a = 1\nb = 2\n")->content_hash() != hash);
  const auto split = Candidate::Create({{"k.py", "ab"}, {"x.py", "c"}});
  const auto joined = Candidate::Create({{"k.py", "a"}, {"x.py", "bc"}});
  CHECK(split->content_hash() != joined->content_hash());
}

TEST_CASE("Candidate keeps the text as given") {
  const auto candidate = Candidate::FromText("k.py", "a = 1\r\n\r\n");
  CHECK(candidate->entry().text == "a = 1\r\n\r\n");
}

TEST_CASE("Candidate refuses files that it could not be stored as") {
  CHECK(Candidate::Create({}).status().code() == absl::StatusCode::kInvalidArgument);
  for (const char* path : {"", "/k.py", "../k.py", "a/../k.py", "a//k.py", "./k.py", "a/"}) {
    INFO("path '" << path << "'");
    CHECK(Candidate::FromText(path, "x = 1").status().code() == absl::StatusCode::kInvalidArgument);
  }
  CHECK_FALSE(Candidate::FromText("k.py", " \n\t\n").ok());
  CHECK_FALSE(Candidate::Create({{"k.py", "x"}, {"k.py", "y"}}).ok());
}

}  // namespace
}  // namespace maxkernel
