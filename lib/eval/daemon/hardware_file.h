#ifndef MAXKERNEL_LIB_EVAL_DAEMON_HARDWARE_FILE_H_
#define MAXKERNEL_LIB_EVAL_DAEMON_HARDWARE_FILE_H_

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"

namespace maxkernel::eval {

// Chip facts, as runner jobs carry them.
// Thread-safe (immutable).
class HardwareFile {
 public:
  // NotFound; InvalidArgument, with file and line, for anything malformed.
  static absl::StatusOr<HardwareFile> Load(const std::filesystem::path& path);

  // {"chip": its entry, "common": ...}. InvalidArgument, naming the known ones, for an unknown chip.
  absl::StatusOr<nlohmann::json> Chip(const std::string& name) const;
  // For work that is not about a particular one: the last in the file of which a compiler topology is known.
  const std::string& typical_chip() const { return typical_chip_; }
  // SHA-256 of the file's bytes, in hexadecimal.
  const std::string& digest() const { return digest_; }

 private:
  nlohmann::json common_;
  std::map<std::string, nlohmann::json> chips_;
  std::string typical_chip_;
  std::string digest_;
};

}  // namespace maxkernel::eval

#endif  // MAXKERNEL_LIB_EVAL_DAEMON_HARDWARE_FILE_H_
