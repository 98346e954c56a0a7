#ifndef MAXKERNEL_TOOLS_MAXKERNEL_SETTING_FLAGS_H_
#define MAXKERNEL_TOOLS_MAXKERNEL_SETTING_FLAGS_H_

#include <filesystem>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/maxkernel/settings.h"

namespace CLI {
class App;
}

namespace maxkernel {

// The settings of a search as options of a command: one flag per row of SettingTable, and --config.
struct SettingFlags {
  SettingMap flags;
  std::filesystem::path config;

  // What was given on the command line or in the configuration file; flags win. Without defaults.
  absl::StatusOr<SettingSource> Given() const;
};

// Adds the flags of all settings, or of those in `keys` alone. `flags` outlives the parse.
void AddSettingFlags(CLI::App& app, SettingFlags& flags);
void AddSettingFlags(CLI::App& app, SettingFlags& flags, const std::vector<std::string>& keys);

}  // namespace maxkernel

#endif  // MAXKERNEL_TOOLS_MAXKERNEL_SETTING_FLAGS_H_
