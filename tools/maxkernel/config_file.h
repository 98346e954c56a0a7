#ifndef MAXKERNEL_TOOLS_MAXKERNEL_CONFIG_FILE_H_
#define MAXKERNEL_TOOLS_MAXKERNEL_CONFIG_FILE_H_

#include <filesystem>

#include "absl/status/statusor.h"
#include "tools/maxkernel/settings.h"

namespace maxkernel {

// Reads settings from a YAML file with the keys of SettingTable; "llm.model" may be written as a mapping "llm: {model: ...}", and
// "a=1,b=2" as one "{a: 1, b: 2}". NotFound, or InvalidArgument with file and line; an unknown key names the nearest known one.
absl::StatusOr<SettingSource> ReadConfigFile(const std::filesystem::path& file);

}  // namespace maxkernel

#endif  // MAXKERNEL_TOOLS_MAXKERNEL_CONFIG_FILE_H_
