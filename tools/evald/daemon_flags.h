#ifndef MAXKERNEL_TOOLS_EVALD_DAEMON_FLAGS_H_
#define MAXKERNEL_TOOLS_EVALD_DAEMON_FLAGS_H_

#include <filesystem>
#include <string>

#include "CLI/CLI.hpp"
#include "maxkernel/eval/evaluation_daemon.h"

namespace maxkernel {

struct DaemonFlags {
  DaemonOptions options;
  std::filesystem::path port_file;
};

// Where the files that come with the program are: those of the installed tree, or of the source tree it was built from.
struct DaemonFiles {
  std::filesystem::path runner;
  std::filesystem::path hardware_file;
  std::filesystem::path python;
  std::filesystem::path state_folder;
};
DaemonFiles DefaultFiles();

// Declares the flags on `app`, which fill `flags` when it parses. Both must live as long as `app`.
void AddFlags(CLI::App& app, DaemonFlags& flags);

}  // namespace maxkernel

#endif  // MAXKERNEL_TOOLS_EVALD_DAEMON_FLAGS_H_
