#ifndef MAXKERNEL_TOOLS_MAXKERNEL_FILTER_H_
#define MAXKERNEL_TOOLS_MAXKERNEL_FILTER_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace maxkernel {

// What a program (looked up in PATH) writes to standard output when it reads `input`. NotFound if there is no such program;
// Internal if it fails.
absl::StatusOr<std::string> RunFilter(const std::vector<std::string>& arguments, std::string_view input);

}  // namespace maxkernel

#endif  // MAXKERNEL_TOOLS_MAXKERNEL_FILTER_H_
