#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "maxkernel/eval/remote_evaluator.h"
#include "maxkernel/version.h"
#include "tools/maxkernel/command.h"
#include "tools/maxkernel/evaluator_source.h"
#include "tools/maxkernel/filter.h"
#include "tools/maxkernel/installation.h"

namespace maxkernel {
namespace {

using Json = nlohmann::json;

struct DoctorArgs {
  EvaluatorChoice evaluator;
  bool json = false;
};

struct Finding {
  std::string what;
  bool works = false;
  bool needed = false;   // without it nothing can be evaluated here
  std::string detail;    // a version, or what to do about it
};

constexpr char kVersions[] =
    "import importlib.metadata as m, sys\n"
    "v = []\n"
    "for n in ('jax', 'jaxlib', 'libtpu', 'numpy'):\n"
    "    try: v.append(n + ' ' + m.version(n))\n"
    "    except m.PackageNotFoundError: v.append(n + ' missing')\n"
    "print('python ' + sys.version.split()[0] + ', ' + ', '.join(v))\n";

Finding Exists(std::string what, const std::filesystem::path& path) {
  std::error_code error;
  const bool works = std::filesystem::exists(path, error);
  return {std::move(what), works, true, works ? path.string() : absl::StrCat(path.string(), " is missing; install maxkernel with its share folder")};
}

Finding CheckPython(const std::filesystem::path& python) {
  const absl::StatusOr<std::string> versions = RunFilter({python.string(), "-I", "-c", kVersions}, "");
  if (!versions.ok()) {
    return {"python", false, true, absl::StrCat(python.string(), ": ", std::string(versions.status().message()), "; run scripts/setup or set MAXKERNEL_PYTHON")};
  }
  const std::string text(absl::StripAsciiWhitespace(*versions));
  if (text.find("missing") == std::string::npos) return {"python", true, true, absl::StrCat(text, " (", python.string(), ")")};
  return {"python", false, true, absl::StrCat(text, " (", python.string(), "); run scripts/setup or set MAXKERNEL_PYTHON")};
}

Finding CheckProgram(std::string name, std::vector<std::string> arguments, bool needed, std::string_view advice) {
  const absl::StatusOr<std::string> output = RunFilter(arguments, "");
  if (output.ok()) return {std::move(name), true, needed, std::string(absl::StripAsciiWhitespace(output->substr(0, output->find('\n'))))};
  return {std::move(name), false, needed, absl::StrCat(std::string(output.status().message()), "; ", std::string(advice))};
}

std::vector<Finding> CheckMachine() {
  const absl::StatusOr<Installation> installation = FindInstallation();
  if (!installation.ok()) return {{"installation", false, true, std::string(installation.status().message())}};
  std::vector<Finding> findings = {
      Exists("chip facts", installation->hardware_file()),
      Exists("runner", installation->runner / "maxkernel_runner" / "__main__.py"),
      Exists("prompts", installation->prompt_folder()),
      CheckPython(installation->python),
      CheckProgram("bubblewrap", {"bwrap", "--version"}, true, "install the package bubblewrap, or pass --unsafe-no-sandbox"),
  };
  const absl::StatusOr<std::string> svg = RunFilter({"dot", "-Tsvg"}, "digraph { a -> b }");
  findings.push_back({"graphviz", svg.ok(), false,
                      svg.ok() ? "dot draws svg" : "dot does not work; install the package graphviz for 'maxkernel graph --format svg'"});
  return findings;
}

std::vector<Finding> CheckDaemon(const EvaluatorChoice& choice, Json& environment) {
  const absl::StatusOr<EvaluatorSource> source = EvaluatorSource::Open(choice);
  if (!source.ok()) return {{"evaluation daemon", false, true, std::string(source.status().message())}};
  const absl::StatusOr<DaemonProbe> probe = ProbeDaemon(source->options());
  if (!probe.ok()) return {{"evaluation daemon", false, true, std::string(probe.status().message())}};
  std::vector<Finding> findings = {{"evaluation daemon", true, true,
                                    absl::StrCat(source->Describe(), ", version ", probe->version, ", ", probe->cpu_slots, " CPU slots, ",
                                                 probe->devices, " devices, isolation ", probe->isolation)}};
  for (const FidelityProbe& fidelity : probe->fidelities) {
    findings.push_back({absl::StrCat("fidelity ", std::string(ToString(fidelity.fidelity))), fidelity.works, false, fidelity.detail});
  }
  environment = probe->environment;
  return findings;
}

void Print(const std::vector<Finding>& findings) {
  std::size_t width = 0;
  for (const Finding& finding : findings) width = std::max(width, finding.what.size());
  for (const Finding& finding : findings) {
    std::cout << (finding.works ? "works    " : finding.needed ? "MISSING  " : "no       ") << finding.what
              << std::string(width - finding.what.size() + 2, ' ') << finding.detail << "\n";
  }
}

void PrintJson(const std::vector<Finding>& findings, const Json& environment) {
  Json json = {{"version", kVersion}, {"environment", environment}, {"findings", Json::array()}};
  for (const Finding& finding : findings) {
    json["findings"].push_back({{"what", finding.what}, {"works", finding.works}, {"needed", finding.needed}, {"detail", finding.detail}});
  }
  std::cout << json.dump(2) << "\n";
}

absl::StatusOr<ExitCode> Diagnose(const DoctorArgs& args) {
  std::vector<Finding> findings = CheckMachine();
  Json environment = Json::object();
  for (Finding& finding : CheckDaemon(args.evaluator, environment)) findings.push_back(std::move(finding));
  args.json ? PrintJson(findings, environment) : Print(findings);
  for (const Finding& finding : findings) {
    if (finding.needed && !finding.works) return ExitCode::kWorld;
  }
  return ExitCode::kSuccess;
}

}  // namespace

void AddDoctor(CLI::App& root, std::vector<Command>& commands) {
  const auto args = std::make_shared<DoctorArgs>();
  CLI::App* app = root.add_subcommand("doctor", "What works on this machine, and what to do about the rest");
  app->add_flag("--json", args->json, "As JSON");
  AddEvaluatorOptions(*app, args->evaluator);
  app->footer("Exit status 0 if candidates can be evaluated, else 2.\n\nExample:\n  maxkernel doctor");
  commands.push_back({app, [args] { return Diagnose(*args); }});
}

}  // namespace maxkernel
