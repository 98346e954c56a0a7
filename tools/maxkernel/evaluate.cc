#include <unistd.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "maxkernel/eval/remote_evaluator.h"
#include "maxkernel/score.h"
#include "maxkernel/store/event_json.h"
#include "maxkernel/task/load_task.h"
#include "tools/maxkernel/command.h"
#include "tools/maxkernel/evaluator_source.h"
#include "tools/maxkernel/format.h"
#include "tools/maxkernel/run_folder.h"

namespace maxkernel {
namespace {

namespace fs = std::filesystem;

constexpr absl::Duration kDeadline = absl::Minutes(30);

struct EvaluateCommandArgs {
  fs::path task;
  fs::path file;
  std::string fidelity;
  std::uint32_t repeats = 5;
  std::uint64_t seed = 0;
  EvaluatorChoice evaluator;
  bool json = false;
};

absl::StatusOr<std::shared_ptr<const Candidate>> ReadCandidate(const fs::path& path) {
  const absl::StatusOr<std::string> text = ReadFile(path);
  if (!text.ok()) return text.status();
  absl::StatusOr<Candidate> candidate = Candidate::FromText(path.filename().string(), *text);
  if (!candidate.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("candidate ", path.string(), ": ", std::string(candidate.status().message())));
  }
  return std::make_shared<const Candidate>(*std::move(candidate));
}

absl::StatusOr<Evaluation> EvaluateOne(Evaluator& evaluator, const EvaluateCommandArgs& args, Fidelity fidelity,
                                       std::shared_ptr<const Candidate> candidate) {
  EvaluateRequest request;
  request.idempotency_key = absl::StrCat("evaluate-", candidate->content_hash(), "-", absl::ToUnixNanos(absl::Now()), "-", ::getpid());
  request.candidate = std::move(candidate);
  request.fidelity = fidelity;
  request.repeats = args.repeats;
  request.seed = args.seed;
  return evaluator.Evaluate({.request = request, .stop = {}, .deadline = absl::Now() + kDeadline, .progress = [](std::string_view message) {
                               std::cerr << "  " << message << "\n";
                             }});
}

struct Evaluated {
  Evaluation candidate;
  std::optional<Score> score;
};

// The candidate, and the baseline for a score if there are times to compare.
absl::StatusOr<Evaluated> EvaluateFile(const EvaluateCommandArgs& args) {
  absl::StatusOr<Task> loaded = LoadTask(args.task);
  if (!loaded.ok()) return loaded.status();
  const auto task = std::make_shared<const Task>(*std::move(loaded));
  const absl::StatusOr<std::shared_ptr<const Candidate>> candidate = ReadCandidate(args.file);
  if (!candidate.ok()) return candidate.status();
  const absl::StatusOr<EvaluatorSource> source = EvaluatorSource::Open(args.evaluator);
  if (!source.ok()) return source.status();
  const absl::StatusOr<std::unique_ptr<Evaluator>> evaluator = MakeRemoteEvaluator(task, source->options());
  if (!evaluator.ok()) return evaluator.status();
  if (const auto info = (*evaluator)->Describe(); !info.ok()) return info.status();

  const Fidelity fidelity = args.fidelity.empty() ? task->score : *ParseFidelity(args.fidelity);
  absl::StatusOr<Evaluation> evaluation = EvaluateOne(**evaluator, args, fidelity, *candidate);
  if (!evaluation.ok()) return evaluation.status();
  Evaluated evaluated{*std::move(evaluation), std::nullopt};
  if (evaluated.candidate.verdict == Verdict::kCorrect && !TimesText(evaluated.candidate).empty()) {
    const absl::StatusOr<Evaluation> baseline = EvaluateOne(**evaluator, args, fidelity, task->baseline);
    if (!baseline.ok()) return baseline.status();
    evaluated.score = MakeGeometricMeanSpeedup()->Evaluate(*baseline, evaluated.candidate);
  }
  return evaluated;
}

void Print(const Evaluated& evaluated) {
  const Evaluation& evaluation = evaluated.candidate;
  std::cout << "verdict  " << ToString(evaluation.verdict);
  if (!evaluation.reason.empty()) std::cout << ": " << evaluation.reason;
  std::cout << "\n";
  for (const StageReport& stage : evaluation.stages) {
    std::cout << "stage    " << ToString(stage.stage) << " " << ToString(stage.status) << "\n";
  }
  for (const std::string& line : DiagnosticLines(evaluation)) std::cout << "         " << line << "\n";
  if (const std::string times = TimesText(evaluation); !times.empty()) std::cout << "times    " << times << "\n";
  if (evaluated.score.has_value()) std::cout << "score    " << ScoreText(*evaluated.score) << " against the task's baseline\n";
}

void PrintJson(const Evaluated& evaluated) {
  nlohmann::json json = {{"evaluation", nlohmann::json::parse(EvaluationToJson(evaluated.candidate))}, {"score", nullptr}};
  if (const std::optional<Score>& score = evaluated.score; score.has_value()) {
    json["score"] = {{"value", score->value}, {"low", score->low}, {"high", score->high}, {"fidelity", ToString(score->fidelity)}};
  }
  std::cout << json.dump(2) << "\n";
}

absl::StatusOr<ExitCode> Evaluate(const EvaluateCommandArgs& args) {
  const absl::StatusOr<Evaluated> evaluated = EvaluateFile(args);
  if (!evaluated.ok()) return evaluated.status();
  args.json ? PrintJson(*evaluated) : Print(*evaluated);
  return evaluated->candidate.verdict == Verdict::kCorrect ? ExitCode::kSuccess : ExitCode::kNoImprovement;
}

}  // namespace

void AddEvaluate(CLI::App& root, std::vector<Command>& commands) {
  const auto args = std::make_shared<EvaluateCommandArgs>();
  CLI::App* app = root.add_subcommand("evaluate", "Say whether one file is a correct kernel, and how fast it is");
  app->add_option("task", args->task, "Task folder")->required()->type_name("FOLDER");
  app->add_option("file", args->file, "Candidate: a Python file that defines computation()")->required()->type_name("FILE");
  app->add_option("--fidelity", args->fidelity, "How to get times: interpret, lower, aot, estimate, cpu, device; default: the task's")
      ->check(CLI::IsMember({"interpret", "lower", "aot", "estimate", "cpu", "device"}))
      ->type_name("FIDELITY");
  app->add_option("--repeats", args->repeats, "Timed samples per case; default 5")->check(CLI::Range(1, 1000))->type_name("NUMBER");
  app->add_option("--seed", args->seed, "Of the inputs; default 0")->type_name("NUMBER");
  app->add_flag("--json", args->json, "As JSON");
  AddEvaluatorOptions(*app, args->evaluator);
  app->footer(
      "Exit status 0 for a correct candidate, 3 for any other verdict.\n\n"
      "Examples:\n  maxkernel evaluate tasks/softmax my_softmax.py\n  maxkernel evaluate tasks/softmax my_softmax.py --fidelity interpret --json");
  commands.push_back({app, [args] { return Evaluate(*args); }});
}

}  // namespace maxkernel
