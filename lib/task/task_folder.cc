#include "lib/task/task_folder.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "maxkernel/internal/utf8.h"

namespace maxkernel::task {
namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t kSizeLimit = std::uintmax_t{16} << 20;

bool IsNameCharacter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'; }

// How many bytes of `text` are well-formed UTF-8; text.size() if all are.
std::size_t ValidUtf8Prefix(std::string_view text) {
  std::size_t position = 0;
  while (position < text.size()) {
    const std::size_t length = internal::Utf8SequenceLength(text.substr(position));
    if (length == 0) break;
    position += length;
  }
  return position;
}

// The position after `word` and the blanks that follow it; npos if `line` does not start with that word.
std::size_t After(std::string_view line, std::string_view word) {
  if (line.substr(0, word.size()) != word) return std::string_view::npos;
  if (line.size() > word.size() && IsNameCharacter(line[word.size()])) return std::string_view::npos;
  const std::size_t next = line.find_first_not_of(" \t", word.size());
  return next == std::string_view::npos ? line.size() : next;
}

bool HasWord(std::string_view text, std::string_view word) {
  for (std::size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    const bool begins = at == 0 || !IsNameCharacter(text[at - 1]);
    const std::size_t end = at + word.size();
    if (begins && (end == text.size() || !IsNameCharacter(text[end]))) return true;
  }
  return false;
}

bool StartsDefinition(std::string_view line, std::string_view name) {
  for (const std::string_view keyword : {"def", "class"}) {
    const std::size_t next = After(line, keyword);
    if (next != std::string_view::npos && After(line.substr(next), name) != std::string_view::npos) return true;
  }
  const std::size_t next = After(line, name);
  if (next == std::string_view::npos || next >= line.size()) return false;
  return line[next] == ':' || (line[next] == '=' && line.substr(next, 2) != "==");
}

}  // namespace

absl::StatusOr<TaskFolder> TaskFolder::Open(const fs::path& folder) {
  std::error_code error;
  const fs::file_status status = fs::status(folder, error);
  if (!fs::exists(status)) {
    return absl::NotFoundError(absl::StrCat("task ", folder.string(), ": ", error ? error.message() : "No such file or directory"));
  }
  if (!fs::is_directory(status)) {
    return absl::InvalidArgumentError(absl::StrCat("task ", folder.string(), ": is a file; expected the folder that holds task.yaml"));
  }
  return TaskFolder(folder);
}

bool TaskFolder::Has(std::string_view path) const {
  std::error_code error;
  return fs::exists(folder_ / path, error);
}

std::string TaskFolder::Shown(std::string_view path) const { return (folder_ / path).string(); }

absl::StatusOr<std::string> TaskFolder::Read(std::string_view path) const {
  const std::string shown = Shown(path);
  std::error_code error;
  const fs::file_status status = fs::status(folder_ / path, error);
  if (!fs::exists(status)) return absl::NotFoundError(absl::StrCat(shown, ": ", error ? error.message() : "No such file or directory"));
  if (!fs::is_regular_file(status)) return absl::InvalidArgumentError(absl::StrCat(shown, ": expected a file"));
  if (fs::file_size(folder_ / path, error) > kSizeLimit && !error) {
    return absl::InvalidArgumentError(absl::StrCat(shown, ": is larger than 16 MiB"));
  }
  errno = 0;
  std::ifstream stream(folder_ / path, std::ios::binary);
  if (!stream) {
    const int reason = errno;
    return absl::PermissionDeniedError(absl::StrCat(shown, ": cannot be read: ", std::strerror(reason)));
  }
  std::string text{std::istreambuf_iterator<char>(stream), {}};
  if (stream.bad()) return absl::UnavailableError(absl::StrCat(shown, ": cannot be read"));
  if (const std::size_t valid = ValidUtf8Prefix(text); valid < text.size()) {
    const auto line = 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(valid), '\n');
    return absl::InvalidArgumentError(absl::StrCat(shown, ":", line, ": is not UTF-8"));
  }
  return text;
}

bool DefinesAtTopLevel(std::string_view source, std::string_view name) {
  bool in_import = false;  // in the parentheses of `from x import (`
  while (!source.empty()) {
    const std::size_t end = source.find('\n');
    const std::string_view line = source.substr(0, end);
    source = end == std::string_view::npos ? std::string_view() : source.substr(end + 1);
    if (in_import) {
      if (HasWord(line.substr(0, line.find('#')), name)) return true;
      in_import = line.find(')') == std::string_view::npos;
      continue;
    }
    if (StartsDefinition(line, name)) return true;
    const bool from = After(line, "from") != std::string_view::npos;
    if (!from && After(line, "import") == std::string_view::npos) continue;
    const std::string_view code = line.substr(0, line.find('#'));
    // What a star brings in cannot be seen from here.
    if (from && code.find('*') != std::string_view::npos) return true;
    if (HasWord(from ? code.substr(std::min(code.find(" import "), code.size())) : code, name)) return true;
    in_import = code.find('(') != std::string_view::npos && code.find(')') == std::string_view::npos;
  }
  return false;
}

}  // namespace maxkernel::task
