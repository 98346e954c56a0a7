#include <CLI/CLI.hpp>
#include <exception>
#include <iostream>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "maxkernel/internal/strings.h"
#include "maxkernel/version.h"
#include "tools/maxkernel/command.h"
#include "tools/maxkernel/exit_code.h"

namespace maxkernel {
namespace {

int Fail(const std::string& message, const std::string& see) {
  std::cerr << "maxkernel: " << message << "\n";
  if (!see.empty()) std::cerr << "maxkernel: see '" << see << " --help'\n";
  return static_cast<int>(ExitCode::kUsage);
}

std::string FullName(const CLI::App& app) {
  return app.get_parent() == nullptr ? "maxkernel" : FullName(*app.get_parent()) + " " + app.get_name();
}

std::vector<std::string> OptionNames(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

std::vector<std::string> CommandNames(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands(nullptr)) names.push_back(command->get_name());
  return names;
}

// What the parser could not place, or "".
std::string Unexpected(const CLI::App& app) {
  const std::vector<std::string> extras = app.remaining();
  if (extras.empty()) return "";
  const std::string& first = extras.front();
  if (!first.empty() && first.front() == '-') {
    const std::string option = first.substr(0, first.find('='));
    return "unknown option '" + option + "'" + internal::DidYouMean(option, OptionNames(app));
  }
  const std::vector<std::string> names = CommandNames(app);
  if (!names.empty() && app.get_subcommands().empty()) {
    return "unknown command '" + first + "'" + internal::DidYouMean(first, names);
  }
  return "unexpected argument '" + first + "'";
}

int Run(const std::vector<Command>& commands, const CLI::App& root) {
  const CLI::App* app = &root;
  while (true) {
    if (const std::string unexpected = Unexpected(*app); !unexpected.empty()) return Fail(unexpected, FullName(*app));
    if (app->get_subcommands().empty()) break;
    app = app->get_subcommands().front();
  }
  for (const Command& command : commands) {
    if (command.app != app) continue;
    const absl::StatusOr<ExitCode> result = command.run();
    if (result.ok()) return static_cast<int>(*result);
    std::cout.flush();
    std::cerr << FullName(*app) << ": " << result.status().message() << "\n";
    return static_cast<int>(ExitCodeFor(result.status()));
  }
  return Fail("a command is required: one of " + CLI::detail::join(CommandNames(*app), ", "), FullName(*app));
}

// The parser must let through what it does not know, so that the error can name the nearest option; and once it has a command, a further
// word that is one too is an argument, as in "show RUN best".
void Prepare(CLI::App& app) {
  app.allow_extras();
  app.require_subcommand(0, 1);
  for (CLI::App* command : app.get_subcommands(nullptr)) Prepare(*command);
}

int Main(int argc, char** argv) {
  CLI::App root("Searches for fast accelerator kernels.", "maxkernel");
  root.get_formatter()->column_width(36);
  root.set_version_flag("--version", std::string("maxkernel ") + kVersion);
  root.footer(
      "Examples:\n"
      "  maxkernel optimize tasks/matmul_epilogue --budget evaluations=40\n"
      "  maxkernel best runs/matmul_epilogue-20260101-120000 --out winner\n"
      "  maxkernel doctor\n\n"
      "Exit status: 0 success, 1 wrong usage or input, 2 a fault of the environment, 3 no improvement or a\n"
      "negative verdict, 4 an internal fault. docs/reference/cli.md has all details.");
  std::vector<Command> commands;
  AddOptimize(root, commands);
  AddResume(root, commands);
  AddStatus(root, commands);
  AddShow(root, commands);
  AddBest(root, commands);
  AddGraph(root, commands);
  AddEvaluate(root, commands);
  AddTask(root, commands);
  AddDoctor(root, commands);
  Prepare(root);
  try {
    root.parse(argc, argv);
  } catch (const CLI::Success& done) {
    return root.exit(done);
  } catch (const CLI::ParseError& error) {
    const CLI::App* app = &root;
    while (!app->get_subcommands().empty()) app = app->get_subcommands().front();
    const std::string unexpected = Unexpected(*app);
    return Fail(unexpected.empty() ? error.what() : unexpected, FullName(*app));
  }
  return Run(commands, root);
}

}  // namespace
}  // namespace maxkernel

int main(int argc, char** argv) {
  try {
    return maxkernel::Main(argc, argv);
  } catch (const std::exception& error) {
    std::cerr << "maxkernel: internal error: " << error.what() << "\n";
    return static_cast<int>(maxkernel::ExitCode::kInternal);
  }
}
