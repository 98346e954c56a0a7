#include "lib/eval/daemon/hardware_file.h"

#include <yaml-cpp/yaml.h>

#include <optional>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "lib/eval/daemon/state_folder.h"
#include "maxkernel/candidate.h"
#include "maxkernel/internal/strings.h"

namespace maxkernel::eval {
namespace {

using Json = nlohmann::json;

// yaml-cpp keeps every scalar as text; the core schema's plain forms decide the type.
Json ScalarToJson(const YAML::Node& node) {
  const std::string& text = node.Scalar();
  if (node.Tag() == "!") return text;  // quoted
  if (text == "true" || text == "false") return text == "true";
  if (text == "null" || text == "~" || text.empty()) return nullptr;
  std::int64_t integer = 0;
  if (absl::SimpleAtoi(text, &integer)) return integer;
  double number = 0;
  if (absl::SimpleAtod(text, &number)) return number;
  return text;
}

Json ToJson(const YAML::Node& node) {
  if (node.IsSequence()) {
    Json list = Json::array();
    for (const YAML::Node& entry : node) list.push_back(ToJson(entry));
    return list;
  }
  if (node.IsMap()) {
    Json object = Json::object();
    for (const auto& entry : node) object[entry.first.Scalar()] = ToJson(entry.second);
    return object;
  }
  return node.IsScalar() ? ScalarToJson(node) : Json(nullptr);
}

absl::StatusOr<Json> ParseYaml(const std::string& text, const std::string& path) {
  try {
    return ToJson(YAML::Load(text));
  } catch (const YAML::Exception& error) {
    return absl::InvalidArgumentError(absl::StrCat(path, ":", error.mark.line + 1, ": ", error.msg));
  }
}

}  // namespace

absl::StatusOr<HardwareFile> HardwareFile::Load(const std::filesystem::path& path) {
  absl::StatusOr<std::string> text = ReadFile(path);
  if (!text.ok()) return text.status();
  absl::StatusOr<Json> json = ParseYaml(*text, path.string());
  if (!json.ok()) return json.status();
  if (!json->is_object() || !json->contains("chips") || !(*json)["chips"].is_array()) {
    return absl::InvalidArgumentError(absl::StrCat(path.string(), ": field chips: expected a list"));
  }
  HardwareFile file;
  file.digest_ = Sha256Hex(*text);
  file.common_ = json->value("common", Json::object());
  for (const Json& chip : (*json)["chips"]) {
    if (!chip.is_object() || !chip.contains("name") || !chip["name"].is_string()) {
      return absl::InvalidArgumentError(absl::StrCat(path.string(), ": entry ", file.chips_.size() + 1, " of chips: expected a field name"));
    }
    const std::string name = chip["name"].get<std::string>();
    if (file.chips_.empty() || chip.contains("aot")) file.typical_chip_ = name;
    file.chips_[name] = chip;
  }
  if (file.chips_.empty()) return absl::InvalidArgumentError(absl::StrCat(path.string(), ": field chips: expected at least one"));
  return file;
}

absl::StatusOr<Json> HardwareFile::Chip(const std::string& name) const {
  const auto found = chips_.find(name);
  if (found != chips_.end()) return Json{{"chip", found->second}, {"common", common_}};
  std::vector<std::string> known;
  for (const auto& [chip, entry] : chips_) known.push_back(chip);
  return absl::InvalidArgumentError(absl::StrCat("chip '", name, "': not in the hardware file; known: ", absl::StrJoin(known, ", "),
                                                 internal::DidYouMean(name, known)));
}

}  // namespace maxkernel::eval
