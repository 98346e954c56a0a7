#include "maxkernel/report/result_file.h"

#include <catch2/catch.hpp>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/unit/report/sample_graph.h"

namespace maxkernel {
namespace {

using Json = nlohmann::json;

RunSummary ReadSample() {
  const auto journal = SampleJournal();
  auto run = ReadRun(*journal);
  REQUIRE(run.ok());
  return std::move(*run);
}

Json Schema() {
  std::ifstream file(std::string(MAXKERNEL_SOURCE_FOLDER) + "/share/schema/result.schema.json");
  REQUIRE(file.good());
  return Json::parse(file);
}

// The part of JSON Schema that the published schema uses: type, properties, required, additionalProperties, items, $ref and enum.
void CheckAgainst(const Json& root, const Json& schema, const Json& value, const std::string& path) {
  INFO("at " << path);
  if (schema.contains("$ref")) {
    const std::string pointer = schema["$ref"].get<std::string>().substr(1);
    return CheckAgainst(root, root.at(Json::json_pointer(pointer)), value, path);
  }
  if (schema.contains("type")) {
    const std::string type = value.is_object()             ? "object"
                             : value.is_array()            ? "array"
                             : value.is_string()           ? "string"
                             : value.is_boolean()          ? "boolean"
                             : value.is_null()             ? "null"
                             : value.is_number_integer()   ? "integer"
                                                           : "number";
    std::vector<std::string> allowed;
    if (schema["type"].is_string()) {
      allowed.push_back(schema["type"]);
    } else {
      allowed = schema["type"].get<std::vector<std::string>>();
    }
    const auto allows = [&](const std::string& name) { return std::find(allowed.begin(), allowed.end(), name) != allowed.end(); };
    INFO("type " << type);
    CHECK((allows(type) || (type == "integer" && allows("number"))));
  }
  if (schema.contains("enum")) CHECK(std::find(schema["enum"].begin(), schema["enum"].end(), value) != schema["enum"].end());
  if (value.is_object() && schema.contains("properties")) {
    for (const Json& name : schema.value("required", Json::array())) {
      INFO("required " << name);
      CHECK(value.contains(name.get<std::string>()));
    }
    for (const auto& [name, member] : value.items()) {
      if (schema["properties"].contains(name)) {
        CheckAgainst(root, schema["properties"][name], member, path + "/" + name);
      } else {
        INFO("not in the schema: " << name);
        CHECK(schema.value("additionalProperties", true));
      }
    }
  }
  if (value.is_array() && schema.contains("items")) {
    for (std::size_t i = 0; i < value.size(); ++i) {
      CheckAgainst(root, schema["items"], value[i], path + "/" + std::to_string(i));
    }
  }
}

TEST_CASE("The result file says what was found, at what cost, with its evidence") {
  const RunSummary run = ReadSample();
  Task task;
  task.name = "softmax";
  task.digest = "d1";
  task.chip = "v6e";
  const Json json = Json::parse(ResultJson(run, &task, absl::OkStatus()));
  CheckAgainst(Schema(), Schema(), json, "");
  CHECK(json["improved"] == true);
  CHECK(json["best"]["node"] == "n3");
  CHECK(json["best"]["score"]["value"] == 4.0);
  CHECK(json["best"]["roofline_fraction"] == Approx(0.25));
  CHECK(json["best"]["lineage"].size() == 3);
  CHECK(json["best"]["evidence"]["verdict"] == "correct");
  CHECK(json["baseline"]["node"] == "n0");
  CHECK(json["counts"]["failed"]["incorrect"] == 1);
  CHECK(json["counts"]["better_than_baseline"] == 2);
  CHECK(json["cost"]["evaluations"] == 4);
  CHECK(json["cost_per_improvement"]["evaluations"] == 2.0);
  CHECK(json["end_reason"] == "budget: evaluations");
  CHECK(json["run"]["specification"]["select"] == "best_first");
  CHECK(json["environment"]["jax"] == "0.10.2");
}

TEST_CASE("A run that failed before anything happened has a result file too") {
  RunSummary run;
  const Json json = Json::parse(ResultJson(run, nullptr, absl::NotFoundError("task 'x': no such folder")));
  CheckAgainst(Schema(), Schema(), json, "");
  CHECK(json["status"]["ok"] == false);
  CHECK(json["status"]["code"] == "NOT_FOUND");
  CHECK(json["best"].is_null());
  CHECK(json["improved"] == false);
}

TEST_CASE("Equal journals give equal result files") {
  CHECK(ResultJson(ReadSample(), nullptr, absl::OkStatus()) == ResultJson(ReadSample(), nullptr, absl::OkStatus()));
}

}  // namespace
}  // namespace maxkernel
