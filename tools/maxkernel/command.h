#ifndef MAXKERNEL_TOOLS_MAXKERNEL_COMMAND_H_
#define MAXKERNEL_TOOLS_MAXKERNEL_COMMAND_H_

#include <functional>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/maxkernel/exit_code.h"

namespace CLI {
class App;
}

namespace maxkernel {

// A subcommand: `app` has its options, `run` carries it out once they are parsed.
struct Command {
  CLI::App* app = nullptr;
  std::function<absl::StatusOr<ExitCode>()> run;
};

// Each adds its subcommands to `root`.
void AddOptimize(CLI::App& root, std::vector<Command>& commands);
void AddResume(CLI::App& root, std::vector<Command>& commands);
void AddStatus(CLI::App& root, std::vector<Command>& commands);
void AddShow(CLI::App& root, std::vector<Command>& commands);
void AddBest(CLI::App& root, std::vector<Command>& commands);
void AddGraph(CLI::App& root, std::vector<Command>& commands);
void AddEvaluate(CLI::App& root, std::vector<Command>& commands);
void AddTask(CLI::App& root, std::vector<Command>& commands);
void AddDoctor(CLI::App& root, std::vector<Command>& commands);

}  // namespace maxkernel

#endif  // MAXKERNEL_TOOLS_MAXKERNEL_COMMAND_H_
