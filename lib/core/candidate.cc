#include "maxkernel/candidate.h"

#include <openssl/evp.h>

#include <array>
#include <cstdint>
#include <set>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "maxkernel/internal/check.h"

namespace maxkernel {
namespace {

// Hashes by a running digest, so that no copy of the sources is made.
class Sha256 {
 public:
  Sha256() : context_(EVP_MD_CTX_new()) {
    MAXKERNEL_CHECK(context_ != nullptr);
    MAXKERNEL_CHECK(EVP_DigestInit_ex(context_, EVP_sha256(), nullptr) == 1);
  }
  ~Sha256() { EVP_MD_CTX_free(context_); }
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;

  void Update(std::string_view bytes) { MAXKERNEL_CHECK(EVP_DigestUpdate(context_, bytes.data(), bytes.size()) == 1); }

  // A length in front keeps ("ab", "c") and ("a", "bc") apart.
  void UpdateWithLength(std::string_view bytes) {
    std::array<char, 8> length{};
    for (std::size_t i = 0; i < length.size(); ++i) {
      length[i] = static_cast<char>((static_cast<std::uint64_t>(bytes.size()) >> (8 * i)) & 0xff);
    }
    Update({length.data(), length.size()});
    Update(bytes);
  }

  std::string Finish() {
    std::array<unsigned char, 32> digest{};
    unsigned int size = 0;
    MAXKERNEL_CHECK(EVP_DigestFinal_ex(context_, digest.data(), &size) == 1 && size == digest.size());
    constexpr char kHex[] = "0123456789abcdef";
    std::string text;
    text.reserve(2 * digest.size());
    for (unsigned char byte : digest) {
      text.push_back(kHex[byte >> 4]);
      text.push_back(kHex[byte & 15]);
    }
    return text;
  }

 private:
  EVP_MD_CTX* context_;
};

bool IsBlank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v'; }

// Line ends become '\n', blanks before them and empty lines at the end go.
std::string Normalise(std::string_view text) {
  std::string result;
  result.reserve(text.size() + 1);
  std::size_t begin = 0;
  while (begin < text.size()) {
    std::size_t end = text.find('\n', begin);
    const std::size_t next = end == std::string_view::npos ? text.size() : end + 1;
    if (end == std::string_view::npos) end = text.size();
    while (end > begin && IsBlank(text[end - 1])) --end;
    result.append(text.substr(begin, end - begin));
    result.push_back('\n');
    begin = next;
  }
  while (result.size() >= 2 && result[result.size() - 2] == '\n') result.pop_back();
  if (result == "\n") result.clear();
  return result;
}

absl::Status CheckPath(std::string_view path) {
  const auto invalid = [&](std::string_view what) {
    return absl::InvalidArgumentError(absl::StrCat("candidate file '", std::string(path), "': ", std::string(what),
                                                   "; use a relative path such as kernel.py or helpers/tiles.py"));
  };
  if (path.empty()) return invalid("the path is empty");
  if (path.front() == '/') return invalid("the path is absolute");
  if (path.find('\0') != std::string_view::npos) return invalid("the path holds a zero byte");
  std::size_t begin = 0;
  while (begin <= path.size()) {
    std::size_t end = path.find('/', begin);
    if (end == std::string_view::npos) end = path.size();
    const std::string_view part = path.substr(begin, end - begin);
    if (part.empty() || part == "." || part == "..") return invalid("the path has an empty, '.' or '..' component");
    begin = end + 1;
  }
  return absl::OkStatus();
}

}  // namespace

std::string Sha256Hex(std::string_view bytes) {
  Sha256 hash;
  hash.Update(bytes);
  return hash.Finish();
}

absl::StatusOr<Candidate> Candidate::Create(std::vector<SourceFile> files) {
  if (files.empty()) return absl::InvalidArgumentError("candidate: no files; at least an entry file is needed");
  std::set<std::string_view> paths;
  Sha256 hash;
  for (const SourceFile& file : files) {
    if (absl::Status status = CheckPath(file.path); !status.ok()) return status;
    if (!paths.insert(file.path).second) {
      return absl::InvalidArgumentError(absl::StrCat("candidate file '", file.path, "': given twice"));
    }
    hash.UpdateWithLength(file.path);
    hash.UpdateWithLength(Normalise(file.text));
  }
  if (Normalise(files.front().text).empty()) {
    return absl::InvalidArgumentError(absl::StrCat("candidate file '", files.front().path, "': the entry file is empty"));
  }
  return Candidate(std::move(files), hash.Finish());
}

absl::StatusOr<Candidate> Candidate::FromText(std::string_view path, std::string_view text) {
  std::vector<SourceFile> files;
  files.push_back({std::string(path), std::string(text)});
  return Create(std::move(files));
}

}  // namespace maxkernel
