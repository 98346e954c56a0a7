#ifndef MAXKERNEL_CANDIDATE_H_
#define MAXKERNEL_CANDIDATE_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace maxkernel {

struct SourceFile {
  std::string path;  // relative, '/'-separated, no "." or ".." component
  std::string text;  // UTF-8

  bool operator==(const SourceFile&) const = default;
};

// The immutable source text of a kernel: one or more files, the first of which is the entry, with a content hash. Nothing
// about where it came from or how good it is: that belongs to the node that holds it.
// Thread-safe (immutable).
class Candidate {
 public:
  // InvalidArgument for no file, an empty entry, a duplicate path or a path that leaves the folder.
  static absl::StatusOr<Candidate> Create(std::vector<SourceFile> files);
  // The common case of one file.
  static absl::StatusOr<Candidate> FromText(std::string_view path, std::string_view text);

  const std::vector<SourceFile>& files() const { return files_; }
  const SourceFile& entry() const { return files_.front(); }
  // SHA-256, in hexadecimal, of the paths and normalised texts: line ends, trailing blanks and trailing empty lines do not count.
  const std::string& content_hash() const { return content_hash_; }

 private:
  Candidate(std::vector<SourceFile> files, std::string content_hash)
      : files_(std::move(files)), content_hash_(std::move(content_hash)) {}

  std::vector<SourceFile> files_;
  std::string content_hash_;
};

// SHA-256 in lower-case hexadecimal, 64 characters.
std::string Sha256Hex(std::string_view bytes);

}  // namespace maxkernel

#endif  // MAXKERNEL_CANDIDATE_H_
