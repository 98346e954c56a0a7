#ifndef MAXKERNEL_POLICIES_TUNABLES_H_
#define MAXKERNEL_POLICIES_TUNABLES_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "maxkernel/candidate.h"
#include "maxkernel/decision.h"

namespace maxkernel {

// A constant that a source declares open to change:
//
//   BLOCK_ROWS = 128  # tunable: 8, 16, 32, 64, 128, 256
//
// The name is in capitals and unique in the candidate; the value is an integer, a float, a quoted string, True or False, and one of the
// choices; the line starts at the margin of a Python file.
struct Tunable {
  std::string name;
  std::string value;                 // as written
  std::vector<std::string> choices;  // as written, at least one
  std::string file;
  std::int32_t line = 0;             // from 1
  std::size_t value_offset = 0;      // of the value, in the file's text
};

// All declarations, in the order of files and lines. A comment that starts with "tunable:" and is no well-formed declaration is
// InvalidArgument with file and line: "kernel.py:12: ...". Strings and docstrings are not looked into.
absl::StatusOr<std::vector<Tunable>> FindTunables(const Candidate& candidate);

// The candidate with other values; nothing else changes. InvalidArgument for a name that is not declared or a value that is not a choice.
absl::StatusOr<Candidate> SetTunables(const Candidate& candidate, const Parameters& values);

}  // namespace maxkernel

#endif  // MAXKERNEL_POLICIES_TUNABLES_H_
