#ifndef MAXKERNEL_TOOLS_MAXKERNEL_EVALUATOR_SOURCE_H_
#define MAXKERNEL_TOOLS_MAXKERNEL_EVALUATOR_SOURCE_H_

#include <filesystem>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "maxkernel/eval/evaluation_daemon.h"
#include "maxkernel/eval/remote_evaluator.h"

namespace CLI {
class App;
}

namespace maxkernel {

struct EvaluatorChoice {
  std::string address;                  // empty: MAXKERNEL_EVALUATOR, and if that is not set a private daemon
  std::filesystem::path state_folder;   // of a private daemon; empty: a temporary one
  bool unsafe_no_sandbox = false;       // for a private daemon
  std::filesystem::path runner;         // for a private daemon; empty: the installed one
};

// Adds --unsafe-no-sandbox and --runner, and --evaluator unless the caller has it.
void AddDaemonOptions(CLI::App& app, EvaluatorChoice& choice);
void AddEvaluatorOptions(CLI::App& app, EvaluatorChoice& choice);

// An evaluation daemon to ask: one that runs elsewhere, or a private one in this process, which ends with this object.
class EvaluatorSource {
 public:
  static absl::StatusOr<EvaluatorSource> Open(const EvaluatorChoice& choice);
  EvaluatorSource(EvaluatorSource&&) = default;
  EvaluatorSource& operator=(EvaluatorSource&&) = default;
  ~EvaluatorSource();

  RemoteEvaluatorOptions options() const;
  bool is_private() const { return daemon_ != nullptr; }
  // "a private evaluation daemon at 127.0.0.1:41234"
  std::string Describe() const;

 private:
  EvaluatorSource() = default;

  std::string address_;
  std::filesystem::path temporary_folder_;
  std::unique_ptr<EvaluationDaemon> daemon_;
};

}  // namespace maxkernel

#endif  // MAXKERNEL_TOOLS_MAXKERNEL_EVALUATOR_SOURCE_H_
