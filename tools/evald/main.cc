// Parses flags, starts the daemon, waits for a signal.
#include <pthread.h>
#include <signal.h>

#include <cstdio>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>

#include "maxkernel/version.h"
#include "tools/evald/daemon_flags.h"

namespace {

constexpr int kUsage = 1;
constexpr int kEnvironment = 2;

constexpr char kExamples[] = R"(
Examples:
  maxkernel-evald                                    listen on 127.0.0.1:4000
  maxkernel-evald --listen 127.0.0.1:0 --port-file /tmp/evald.port
  maxkernel-evald --listen unix:/run/user/1000/evald.sock --state /var/lib/maxkernel
  maxkernel-evald --python ~/jax/bin/python --cpu-slots 4 --memory-limit 16384

Evaluates candidate kernels in sandboxed processes. Log lines (JSON) go to standard error. SIGTERM and SIGINT: no new
evaluations, running ones finish within the drain timeout; a second signal ends it at once, which loses no finished result.
Exit codes: 0 stopped as asked, 1 wrong usage, 2 something is missing or in use (the message says what).)";

// The content appears whole or not at all to whoever waits for the file.
bool WriteWhole(const std::filesystem::path& file, const std::string& text) {
  const std::filesystem::path temporary = file.string() + ".new";
  std::ofstream stream(temporary);
  stream << text << "\n";
  stream.close();
  std::error_code error;
  std::filesystem::rename(temporary, file, error);
  return stream.good() && !error;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("The evaluation daemon of maxkernel.", "maxkernel-evald");
  app.set_version_flag("--version", std::string("maxkernel-evald ") + maxkernel::kVersion);
  app.footer(kExamples);
  maxkernel::DaemonFlags flags;
  maxkernel::AddFlags(app, flags);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kUsage;
  }

  // Blocked in all threads that are started from here on, so that the wait below gets them.
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);

  flags.options.log = [](std::string_view line) { std::fwrite(line.data(), 1, line.size(), stderr); };
  absl::StatusOr<std::unique_ptr<maxkernel::EvaluationDaemon>> daemon = maxkernel::EvaluationDaemon::Start(flags.options);
  if (!daemon.ok()) {
    std::cerr << "maxkernel-evald: " << std::string(daemon.status().message()) << "\n";
    return absl::IsInvalidArgument(daemon.status()) ? kUsage : kEnvironment;
  }
  if (!flags.port_file.empty() && !WriteWhole(flags.port_file, std::to_string((*daemon)->port()))) {
    std::cerr << "maxkernel-evald: cannot write " << flags.port_file.string() << "\n";
    return kEnvironment;
  }
  int signal = 0;
  sigwait(&signals, &signal);
  // Results are on disk, so that a second signal may end everything.
  pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
  (*daemon)->Shutdown();
  return 0;
}
