#include "tools/maxkernel/setting_flags.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "tools/maxkernel/config_file.h"

namespace maxkernel {

absl::StatusOr<SettingSource> SettingFlags::Given() const {
  SettingSource from_flags;
  for (const auto& [key, values] : flags) {
    if (!values.empty()) from_flags.values[key] = values;
  }
  for (const Setting& setting : SettingTable()) from_flags.origins[setting.key] = setting.flag();
  if (config.empty()) return from_flags;
  absl::StatusOr<SettingSource> from_file = ReadConfigFile(config);
  if (!from_file.ok()) return from_file.status();
  for (const auto& [key, values] : from_flags.values) {
    from_file->values[key] = values;
    from_file->origins[key] = from_flags.origins[key];
  }
  return from_file;
}

void AddSettingFlags(CLI::App& app, SettingFlags& flags, const std::vector<std::string>& keys) {
  for (const Setting& setting : SettingTable()) {
    if (std::find(keys.begin(), keys.end(), setting.key) == keys.end()) continue;
    CLI::Option* option = nullptr;
    if (setting.repeats) {
      option = app.add_option(setting.flag(), flags.flags[setting.key], setting.help);
      // One value per flag: what follows it is the next argument.
      option->type_size(1)->allow_extra_args(false);
    } else {
      option = app.add_option_function<std::string>(
          setting.flag(), [&flags, key = setting.key](const std::string& value) { flags.flags[key] = {value}; }, setting.help);
    }
    option->type_name(setting.value_name)->group(setting.group);
  }
}

void AddSettingFlags(CLI::App& app, SettingFlags& flags) {
  AddSettingFlags(app, flags, SettingKeys());
  app.add_option("--config", flags.config, "YAML file with these settings: evaluator, select, llm.model, ...; flags win")
      ->type_name("FILE")
      ->group("Search");
}

}  // namespace maxkernel
