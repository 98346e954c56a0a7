#include "maxkernel/report/graph_format.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "tests/unit/report/sample_graph.h"

namespace maxkernel {
namespace {

std::string Format(std::string_view format) {
  const auto journal = SampleJournal();
  const auto graph = ReadGraph(*journal);
  REQUIRE(graph.ok());
  const auto text = FormatGraph(**graph, format);
  REQUIRE(text.ok());
  return *text;
}

TEST_CASE("The text format is an indented tree with the champion marked") {
  CHECK(Format("text") ==
        "n0  1x  baseline\n"
        "|- n1  2x  autotune  BLOCK_M=256\n"
        "|  `- n3  4x  crossover  both  <- champion  (also from n0)\n"
        "`- n2  incorrect  llm_edit  fuse <a> & \"b\"\n");
}

TEST_CASE("The dot format quotes what it must and marks the champion's lineage") {
  const std::string dot = Format("dot");
  CHECK(dot.find("n2 [label=\"n2  incorrect\\nfuse <a> & \\\"b\\\"\"") != std::string::npos);
  CHECK(dot.find("n1 -> n3 [label=\"crossover\", color=\"#1a7f37\", penwidth=2]") != std::string::npos);
  CHECK(dot.find("n0 -> n3") != std::string::npos);
  CHECK(dot.find("penwidth=4") != std::string::npos);
}

TEST_CASE("The graphml format escapes text and types its attributes") {
  const std::string xml = Format("graphml");
  CHECK(xml.find("<data key=\"rationale\">fuse &lt;a&gt; &amp; &quot;b&quot;\nsecond line</data>") != std::string::npos);
  CHECK(xml.find("<key id=\"score\" for=\"node\" attr.name=\"score\" attr.type=\"double\"/>") != std::string::npos);
  CHECK(xml.find("<edge source=\"n1\" target=\"n3\"/>") != std::string::npos);
}

TEST_CASE("The json format holds nodes and edges") {
  const nlohmann::json json = nlohmann::json::parse(Format("json"));
  REQUIRE(json["nodes"].size() == 4);
  CHECK(json["edges"].size() == 4);
  CHECK(json["nodes"][3]["champion"] == true);
  CHECK(json["nodes"][3]["score"]["value"] == 4.0);
  CHECK_FALSE(json["nodes"][2].contains("score"));
  CHECK(json["nodes"][2]["verdict"] == "incorrect");
}

TEST_CASE("An unknown graph format is an error with a suggestion") {
  const auto journal = SampleJournal();
  const auto graph = ReadGraph(*journal);
  const absl::Status status = FormatGraph(**graph, "grapml").status();
  CHECK(status.code() == absl::StatusCode::kInvalidArgument);
  CHECK(std::string(status.message()).find("did you mean 'graphml'?") != std::string::npos);
}

}  // namespace
}  // namespace maxkernel
