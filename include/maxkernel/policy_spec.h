#ifndef MAXKERNEL_POLICY_SPEC_H_
#define MAXKERNEL_POLICY_SPEC_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "maxkernel/decision.h"

namespace maxkernel {

// A policy and its options as text: "beam(width=4, branches=2)", or a bare "random".
struct PolicySpec {
  std::string name;
  Parameters options;

  // InvalidArgument with the position and what was expected. A value with blanks, commas or parentheses is put in double quotes.
  static absl::StatusOr<PolicySpec> Parse(std::string_view text);
  // The canonical text: options in name order. Parse(ToString()) gives the same spec.
  std::string ToString() const;

  bool operator==(const PolicySpec&) const = default;
};

// Reads a spec's options one by one; Finish() turns whatever is wrong into one error that names the option, what was given and
// what is valid, with the nearest known name for an unknown one.
//
//   BeamOptions options;
//   OptionReader reader(spec);
//   reader.Read("width", "beam members", &options.width, 1, 1024);
//   if (absl::Status status = reader.Finish(); !status.ok()) return status;
class OptionReader {
 public:
  explicit OptionReader(const PolicySpec& spec) : spec_(spec) {}

  // Each leaves *value as it is if the option is not given.
  void Read(std::string_view name, std::string_view help, std::int64_t* value, std::int64_t minimum, std::int64_t maximum);
  void Read(std::string_view name, std::string_view help, double* value, double minimum, double maximum);
  void Read(std::string_view name, std::string_view help, std::string* value);
  // One of `choices`.
  void ReadChoice(std::string_view name, std::string_view help, std::string* value, const std::vector<std::string>& choices);

  absl::Status Finish() const;
  // "width (beam members, 1..1024, default 4)", one per option read: for --help.
  const std::vector<std::string>& descriptions() const { return descriptions_; }

 private:
  const std::string* Take(std::string_view name);
  void Fail(std::string_view name, std::string_view expected);

  const PolicySpec& spec_;
  std::vector<std::string> known_;
  std::vector<std::string> descriptions_;
  std::vector<std::string> errors_;
};

}  // namespace maxkernel

#endif  // MAXKERNEL_POLICY_SPEC_H_
