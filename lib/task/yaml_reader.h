#ifndef MAXKERNEL_LIB_TASK_YAML_READER_H_
#define MAXKERNEL_LIB_TASK_YAML_READER_H_

#include <yaml-cpp/yaml.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace maxkernel::task {

using Json = nlohmann::ordered_json;

// A value in a YAML file, with what an error message needs: file, line and the path of keys that leads to it.
// yaml-cpp's exceptions end here.
class YamlValue {
 public:
  // The file's one document. InvalidArgument, with the line, for text that is no YAML.
  static absl::StatusOr<YamlValue> Parse(const std::string& file, const std::string& text);

  // InvalidArgument: "task.yaml:12: field cases[1].hidden: expected true or false, got 'yes'".
  absl::Status Expected(std::string_view what) const;
  absl::Status Error(std::string_view message) const;

  bool IsMap() const { return node_.IsMap(); }
  bool IsList() const { return node_.IsSequence(); }
  bool IsNull() const { return node_.IsNull(); }

  // Any scalar as it is written.
  absl::StatusOr<std::string> Text() const;
  absl::StatusOr<bool> Bool() const;
  absl::StatusOr<std::int64_t> Integer() const;
  absl::StatusOr<double> Number() const;
  absl::StatusOr<std::vector<YamlValue>> List(std::string_view what) const;
  // Anything, by the core schema of YAML 1.2. Refuses infinities, NaN, keys that are no text and more than 10,000 values.
  absl::StatusOr<Json> ToJson() const;

  // One of `names`.
  absl::StatusOr<std::string> Choice(const std::vector<std::string>& names) const;

 private:
  friend class YamlMap;
  YamlValue(std::string file, YAML::Node node, int line, std::string path)
      : file_(std::move(file)), node_(std::move(node)), line_(line), path_(std::move(path)) {}

  std::string Shown() const;
  absl::StatusOr<Json> ScalarToJson() const;
  absl::StatusOr<Json> ToJson(int depth, int& budget) const;
  YamlValue Child(const YAML::Node& node, const std::string& step) const;

  std::string file_;
  YAML::Node node_;
  int line_;          // from 1
  std::string path_;  // "cases[1].hidden"; empty for the document
};

// Takes a mapping's values by key; Finish() finds those that nobody took.
class YamlMap {
 public:
  // InvalidArgument for anything but a mapping, and for a key that is given twice.
  static absl::StatusOr<YamlMap> Create(const YamlValue& value, std::string_view what);

  // nullopt if the key is absent or its value is null.
  std::optional<YamlValue> Take(const std::string& key);
  // An error at the mapping itself if the key is absent.
  absl::StatusOr<YamlValue> Require(const std::string& key, std::string_view what);
  // InvalidArgument for a key that is not known, with the nearest known one.
  absl::Status Finish() const;

  std::vector<std::string> keys() const;
  const YamlValue& value() const { return value_; }

 private:
  struct Entry {
    std::string key;
    YamlValue value;
    bool taken = false;
  };
  explicit YamlMap(YamlValue value) : value_(std::move(value)) {}

  YamlValue value_;
  std::vector<Entry> entries_;
  std::vector<std::string> known_;
};

}  // namespace maxkernel::task

#endif  // MAXKERNEL_LIB_TASK_YAML_READER_H_
