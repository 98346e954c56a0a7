#include "tools/maxkernel/config_file.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "maxkernel/internal/strings.h"

namespace maxkernel {
namespace {

class ConfigReader {
 public:
  explicit ConfigReader(const std::filesystem::path& file) : file_(file.string()), keys_(SettingKeys()) {}

  absl::StatusOr<SettingSource> Read() {
    const YAML::Node root = YAML::LoadFile(file_);
    if (root.IsNull()) return SettingSource();
    if (absl::Status status = ReadMapping(root, ""); !status.ok()) return status;
    return std::move(source_);
  }

 private:
  absl::Status Error(const YAML::Node& node, std::string_view message) const {
    return absl::InvalidArgumentError(absl::StrCat(file_, ":", node.Mark().line + 1, ": ", std::string(message)));
  }

  bool IsKey(const std::string& key) const { return std::find(keys_.begin(), keys_.end(), key) != keys_.end(); }
  bool IsGroup(const std::string& key) const {
    return std::any_of(keys_.begin(), keys_.end(), [&](const std::string& known) { return absl::StartsWith(known, key + "."); });
  }

  absl::Status ReadMapping(const YAML::Node& node, const std::string& prefix) {
    if (!node.IsMap()) return Error(node, absl::StrCat(prefix.empty() ? "the file" : prefix, " is no mapping; expected keys with values"));
    for (const auto& entry : node) {
      if (!entry.first.IsScalar()) return Error(entry.first, "a key is no text");
      const std::string key = prefix.empty() ? entry.first.Scalar() : prefix + "." + entry.first.Scalar();
      if (source_.values.contains(key)) return Error(entry.first, absl::StrCat("'", key, "' is given twice"));
      absl::Status status;
      if (IsKey(key)) {
        status = ReadValue(entry.second, key);
      } else if (IsGroup(key)) {
        status = ReadMapping(entry.second, key);
      } else {
        return Error(entry.first, absl::StrCat("unknown key '", key, "'", internal::DidYouMean(key, keys_)));
      }
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }

  absl::Status ReadValue(const YAML::Node& node, const std::string& key) {
    SettingValues values;
    if (node.IsScalar()) {
      values.push_back(node.Scalar());
    } else if (node.IsSequence()) {
      for (const YAML::Node& item : node) {
        if (!item.IsScalar()) return Error(item, absl::StrCat(key, ": an entry is no text or number"));
        values.push_back(item.Scalar());
      }
    } else if (node.IsMap()) {
      for (const auto& entry : node) {
        if (!entry.first.IsScalar() || !entry.second.IsScalar()) return Error(entry.first, absl::StrCat(key, ": expected name: value"));
        values.push_back(entry.first.Scalar() + "=" + entry.second.Scalar());
      }
    } else {
      return Error(node, absl::StrCat(key, " has no value"));
    }
    source_.values[key] = std::move(values);
    source_.origins[key] = absl::StrCat(file_, ":", node.Mark().line + 1, ": ", key);
    return absl::OkStatus();
  }

  const std::string file_;
  const std::vector<std::string> keys_;
  SettingSource source_;
};

}  // namespace

absl::StatusOr<SettingSource> ReadConfigFile(const std::filesystem::path& file) {
  try {
    return ConfigReader(file).Read();
  } catch (const YAML::BadFile&) {
    return absl::NotFoundError(absl::StrCat("configuration ", file.string(), ": cannot be read; expected a YAML file"));
  } catch (const YAML::Exception& error) {
    return absl::InvalidArgumentError(absl::StrCat(file.string(), ":", error.mark.line + 1, ": ", error.msg, "; expected YAML"));
  }
}

}  // namespace maxkernel
