#include "tools/maxkernel/evaluator_source.h"

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdlib>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tools/maxkernel/installation.h"

namespace maxkernel {
namespace {

namespace fs = std::filesystem;

absl::StatusOr<fs::path> MakeTemporaryFolder() {
  std::error_code error;
  fs::path parent = fs::temp_directory_path(error);
  if (error) parent = "/tmp";
  std::string pattern = (parent / "maxkernel-evald-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) {
    return absl::UnavailableError(absl::StrCat("make a temporary folder in ", parent.string(), ": ", std::generic_category().message(errno),
                                               "; name a writable one with TMPDIR"));
  }
  return fs::path(pattern);
}

}  // namespace

void AddDaemonOptions(CLI::App& app, EvaluatorChoice& choice) {
  app.add_flag("--unsafe-no-sandbox", choice.unsafe_no_sandbox, "Let a private daemon run candidates without bubblewrap")
      ->group("Private evaluation daemon");
  app.add_option("--runner", choice.runner, "Folder that holds maxkernel_runner; default: the installed one")
      ->type_name("FOLDER")
      ->group("Private evaluation daemon");
}

void AddEvaluatorOptions(CLI::App& app, EvaluatorChoice& choice) {
  app.add_option("--evaluator", choice.address, "Evaluation daemon, such as 127.0.0.1:4000; default: a private one in this process")
      ->type_name("ADDRESS");
  AddDaemonOptions(app, choice);
}

absl::StatusOr<EvaluatorSource> EvaluatorSource::Open(const EvaluatorChoice& choice) {
  EvaluatorSource source;
  source.address_ = choice.address;
  const char* address = std::getenv("MAXKERNEL_EVALUATOR");
  if (source.address_.empty() && address != nullptr) source.address_ = address;
  if (!source.address_.empty()) return source;

  const absl::StatusOr<Installation> installation = FindInstallation();
  if (!installation.ok()) return installation.status();
  DaemonOptions options;
  options.state_folder = choice.state_folder;
  if (options.state_folder.empty()) {
    absl::StatusOr<fs::path> folder = MakeTemporaryFolder();
    if (!folder.ok()) return folder.status();
    source.temporary_folder_ = *folder;
    options.state_folder = *folder;
  }
  options.python = installation->python;
  options.runner = choice.runner.empty() ? installation->runner : fs::absolute(choice.runner);
  options.hardware_file = installation->hardware_file();
  if (choice.unsafe_no_sandbox) options.isolation = DaemonOptions::Isolation::kNone;
  // Nobody waits for what is running when the command ends.
  options.drain_timeout = absl::ZeroDuration();
  absl::StatusOr<std::unique_ptr<EvaluationDaemon>> daemon = EvaluationDaemon::Start(options);
  if (!daemon.ok()) {
    return absl::Status(daemon.status().code(),
                        absl::StrCat("start a private evaluation daemon: ", std::string(daemon.status().message())));
  }
  source.daemon_ = *std::move(daemon);
  source.address_ = source.daemon_->address();
  return source;
}

EvaluatorSource::~EvaluatorSource() {
  daemon_.reset();
  std::error_code error;
  if (!temporary_folder_.empty()) fs::remove_all(temporary_folder_, error);
}

RemoteEvaluatorOptions EvaluatorSource::options() const {
  RemoteEvaluatorOptions options;
  options.address = address_;
  // A daemon on a machine that is busy with evaluations may take its time.
  options.connect_timeout = absl::Seconds(30);
  return options;
}

std::string EvaluatorSource::Describe() const {
  return absl::StrCat(is_private() ? "a private evaluation daemon at " : "the evaluation daemon at ", address_);
}

}  // namespace maxkernel
