#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>

#include "maxkernel/report/graph_format.h"
#include "tools/maxkernel/command.h"
#include "tools/maxkernel/filter.h"
#include "tools/maxkernel/run_folder.h"

namespace maxkernel {
namespace {

struct GraphArgs {
  std::filesystem::path run;
  std::string format = "text";
  std::filesystem::path out;
};

absl::StatusOr<std::string> Draw(const GraphView& graph, const std::string& format) {
  if (format != "svg") return FormatGraph(graph, format);
  const absl::StatusOr<std::string> dot = FormatGraph(graph, "dot");
  if (!dot.ok()) return dot.status();
  absl::StatusOr<std::string> svg = RunFilter({"dot", "-Tsvg"}, *dot);
  if (absl::IsNotFound(svg.status())) {
    return absl::FailedPreconditionError("draw svg: the program dot is not in PATH; install the package graphviz, or take --format dot");
  }
  return svg;
}

absl::StatusOr<ExitCode> PrintGraph(const GraphArgs& args) {
  const absl::StatusOr<RunSummary> run = ReadRunFolder(args.run);
  if (!run.ok()) return run.status();
  const absl::StatusOr<std::string> text = Draw(*run->graph, args.format);
  if (!text.ok()) return text.status();
  if (args.out.empty()) {
    std::cout << *text;
  } else if (absl::Status status = WriteFile(args.out, *text); !status.ok()) {
    return status;
  }
  return ExitCode::kSuccess;
}

}  // namespace

void AddGraph(CLI::App& root, std::vector<Command>& commands) {
  const auto args = std::make_shared<GraphArgs>();
  CLI::App* app = root.add_subcommand("graph", "The search graph of a run");
  std::vector<std::string> formats = GraphFormats();
  formats.push_back("svg");
  app->add_option("run", args->run, "Folder of the run")->required()->type_name("FOLDER");
  app->add_option("--format", args->format, "text (the default), dot, svg, graphml or json")
      ->check(CLI::IsMember(formats))
      ->type_name("FORMAT");
  app->add_option("--out", args->out, "Write to this file; default: standard output")->type_name("FILE");
  app->footer("Examples:\n  maxkernel graph runs/softmax-20260101-120000\n  maxkernel graph runs/softmax-20260101-120000 --format svg --out graph.svg");
  commands.push_back({app, [args] { return PrintGraph(*args); }});
}

}  // namespace maxkernel
