#include "maxkernel/policies/script.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "maxkernel/internal/strings.h"

extern char** environ;

namespace maxkernel {
namespace {

using Json = nlohmann::json;

constexpr char kOperator[] = "script";
constexpr char kExhaustedNote[] = "exhausted";
constexpr int kTemporaryFailure = 75;          // EX_TEMPFAIL of sysexits.h
constexpr std::size_t kErrorTail = 2000;       // bytes of standard error that are kept
constexpr int kTickMilliseconds = 100;         // how often a silent command is looked at
constexpr int kLastTickMilliseconds = 2;       // and one that has closed its output

class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int number) : number_(number) {}
  FileDescriptor(FileDescriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    Close();
    number_ = std::exchange(other.number_, -1);
    return *this;
  }
  ~FileDescriptor() { Close(); }

  int get() const { return number_; }
  bool is_open() const { return number_ >= 0; }
  void Close() {
    if (number_ >= 0) close(number_);
    number_ = -1;
  }

 private:
  int number_ = -1;
};

absl::Status SystemError(std::string_view what, int error) {
  return absl::UnavailableError(absl::StrCat("script: ", std::string(what), ": ", std::strerror(error)));
}

// The request in an unlinked file: unlike a pipe it cannot fill up or break.
absl::StatusOr<FileDescriptor> MakeInput(const std::string& text) {
  FileDescriptor file(memfd_create("maxkernel-script-request", MFD_CLOEXEC));
  if (!file.is_open()) return SystemError("cannot hold the request", errno);
  for (std::size_t written = 0; written < text.size();) {
    const ssize_t count = write(file.get(), text.data() + written, text.size() - written);
    if (count < 0 && errno != EINTR) return SystemError("cannot hold the request", errno);
    if (count > 0) written += static_cast<std::size_t>(count);
  }
  if (lseek(file.get(), 0, SEEK_SET) != 0) return SystemError("cannot hold the request", errno);
  return file;
}

struct Pipe {
  FileDescriptor read;
  FileDescriptor write;
};

absl::StatusOr<Pipe> MakePipe() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return SystemError("cannot make a pipe", errno);
  Pipe result{FileDescriptor(ends[0]), FileDescriptor(ends[1])};
  return result;
}

// One run of the command. Whatever happens, the destructor leaves no process of its group behind.
class Process {
 public:
  Process() = default;
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  ~Process() { Reap(); }

  absl::Status Start(const ScriptOptions& options, const std::string& request) {
    absl::StatusOr<FileDescriptor> input = MakeInput(request);
    if (!input.ok()) return input.status();
    absl::StatusOr<Pipe> output = MakePipe();
    if (!output.ok()) return output.status();
    absl::StatusOr<Pipe> errors = MakePipe();
    if (!errors.ok()) return errors.status();

    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, input->get(), STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, output->write.get(), STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, errors->write.get(), STDERR_FILENO);
    if (!options.working_directory.empty()) {
      posix_spawn_file_actions_addchdir_np(&actions, options.working_directory.c_str());
    }
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    sigset_t none;
    sigset_t all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    std::vector<char*> arguments;
    for (const std::string& argument : options.command) arguments.push_back(const_cast<char*>(argument.c_str()));
    arguments.push_back(nullptr);
    const int error = posix_spawnp(&process_, arguments.front(), &actions, &attributes, arguments.data(), environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    if (error != 0) {
      process_ = -1;
      const std::string where = options.working_directory.empty() ? "" : absl::StrCat(" in ", options.working_directory);
      const std::string what = absl::StrCat("script: cannot start '", options.command.front(), "'", where, ": ", std::strerror(error));
      return error == ENOENT || error == EACCES ? absl::NotFoundError(what) : absl::UnavailableError(what);
    }
    output_ = std::move(output->read);
    errors_ = std::move(errors->read);
    return absl::OkStatus();
  }

  // Reads until the command has ended.
  absl::Status Finish(const ProposeArgs& args, std::size_t maximum_output) {
    absl::StatusOr<Pipe> wake = MakePipe();
    if (!wake.ok()) return wake.status();
    const std::stop_callback wake_up(args.stop, [&] {
      const char byte = 0;
      static_cast<void>(!write(wake->write.get(), &byte, 1));
    });
    while (!HasExited()) {
      if (args.stop.stop_requested()) return absl::CancelledError("script: cancelled");
      const absl::Duration left = args.deadline - absl::Now();
      if (left <= absl::ZeroDuration()) return absl::DeadlineExceededError("script: no answer before the deadline");
      std::array<pollfd, 3> polled{{{output_.get(), POLLIN, 0}, {errors_.get(), POLLIN, 0}, {wake->read.get(), POLLIN, 0}}};
      const int tick = output_.is_open() || errors_.is_open() ? kTickMilliseconds : kLastTickMilliseconds;
      const auto patience = std::min<std::int64_t>(tick, absl::ToInt64Milliseconds(left) + 1);
      poll(polled.data(), polled.size(), static_cast<int>(patience));
      if (polled[0].revents != 0) Read(output_, output);
      if (polled[1].revents != 0) ReadErrors();
      if (output.size() > maximum_output) {
        return absl::OutOfRangeError(absl::StrCat("more than ", maximum_output, " bytes on standard output"));
      }
    }
    // What is still in the pipes, but not what a grandchild may yet write.
    Drain(output_, output);
    ReadErrors();
    if (output.size() > maximum_output) {
      return absl::OutOfRangeError(absl::StrCat("more than ", maximum_output, " bytes on standard output"));
    }
    Reap();
    return absl::OkStatus();
  }

  std::string output;
  std::string error_tail;
  int status = 0;  // as of waitpid

 private:
  // Without reaping: the group's number stays ours.
  bool HasExited() const {
    siginfo_t info{};
    return waitid(P_PID, static_cast<id_t>(process_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == process_;
  }

  static void Read(FileDescriptor& from, std::string& to) {
    std::array<char, 65536> buffer;
    const ssize_t count = read(from.get(), buffer.data(), buffer.size());
    if (count > 0) {
      to.append(buffer.data(), static_cast<std::size_t>(count));
    } else if (count == 0) {
      from.Close();
    }
  }

  static void Drain(FileDescriptor& from, std::string& to) {
    while (from.is_open()) {
      pollfd polled{from.get(), POLLIN, 0};
      if (poll(&polled, 1, 0) <= 0) return;
      Read(from, to);
    }
  }

  void ReadErrors() {
    Drain(errors_, error_tail);
    if (error_tail.size() > 2 * kErrorTail) error_tail.erase(0, error_tail.size() - kErrorTail);
  }

  void Reap() {
    if (process_ <= 0) return;
    kill(-process_, SIGKILL);
    while (waitpid(process_, &status, 0) < 0 && errno == EINTR) {
    }
    process_ = -1;
  }

  pid_t process_ = -1;
  FileDescriptor output_;
  FileDescriptor errors_;
};

Json FilesToJson(const Candidate& candidate) {
  Json files = Json::array();
  for (const SourceFile& file : candidate.files()) files.push_back({{"path", file.path}, {"text", file.text}});
  return files;
}

Json ScoreToJson(const std::optional<Score>& score) {
  if (!score.has_value()) return nullptr;
  return {{"value", score->value}, {"low", score->low}, {"high", score->high}, {"fidelity", std::string(ToString(score->fidelity))}};
}

Json DiagnosticsToJson(const Evaluation& evaluation) {
  Json diagnostics = Json::array();
  for (const StageReport& stage : evaluation.stages) {
    for (const Diagnostic& diagnostic : stage.diagnostics) {
      Json entry{{"stage", std::string(ToString(stage.stage))},
                 {"severity", std::string(ToString(diagnostic.severity))},
                 {"class", diagnostic.class_name},
                 {"message", diagnostic.message}};
      if (!diagnostic.file.empty()) entry["file"] = diagnostic.file;
      if (diagnostic.line.has_value()) entry["line"] = *diagnostic.line;
      if (!diagnostic.case_name.empty()) entry["case"] = diagnostic.case_name;
      if (!diagnostic.hint.empty()) entry["hint"] = diagnostic.hint;
      diagnostics.push_back(std::move(entry));
    }
  }
  return diagnostics;
}

Json EvaluationToJson(const std::shared_ptr<const Evaluation>& evaluation) {
  if (evaluation == nullptr) return nullptr;
  Json cases = Json::array();
  for (const CaseResult& result : evaluation->cases) {
    Json entry{{"name", result.name}, {"samples_seconds", result.samples_seconds}, {"facts", result.facts}};
    if (result.max_abs_error.has_value()) entry["max_abs_error"] = *result.max_abs_error;
    if (result.max_rel_error.has_value()) entry["max_rel_error"] = *result.max_rel_error;
    if (result.floor_seconds.has_value()) entry["floor_seconds"] = *result.floor_seconds;
    if (!result.absent.empty()) entry["absent"] = result.absent;
    cases.push_back(std::move(entry));
  }
  return {{"fidelity", std::string(ToString(evaluation->fidelity))},
          {"verdict", std::string(ToString(evaluation->verdict))},
          {"reason", evaluation->reason},
          {"diagnostics", DiagnosticsToJson(*evaluation)},
          {"cases", std::move(cases)},
          {"facts", evaluation->facts}};
}

std::string RequestToJson(const ProposeArgs& args) {
  Json parents = Json::array();
  for (const ParentContext& parent : args.request.parents) {
    parents.push_back({{"node", ToString(parent.node)},
                       {"files", FilesToJson(*parent.candidate)},
                       {"score", ScoreToJson(parent.score)},
                       {"evaluation", EvaluationToJson(parent.evaluation)}});
  }
  KeyedRandom random = args.random;
  Json request{{"version", 1},
               {"operator", args.request.operator_name},
               {"reply_key", args.reply_key},
               {"seed", random.NextUint32()},
               {"parents", std::move(parents)},
               {"parameters", args.request.parameters}};
  // Sources come from anywhere: what is no UTF-8 is replaced.
  return request.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

// Reads the command's answer. The first thing that is wrong is kept, with its place: "files[0].text is a number; expected a string".
class AnswerReader {
 public:
  std::optional<ProposeResult> Read(const std::string& text) {
    const Json answer = Json::parse(text, nullptr, false);
    if (answer.is_discarded()) {
      Fail(text.empty() ? "standard output is empty; expected a JSON object" : "standard output is not JSON");
      return std::nullopt;
    }
    if (!CheckObject(answer, "the answer", {"files", "candidates", "rationale", "tunables", "failure", "cost", "notes", "exhausted"})) {
      return std::nullopt;
    }
    ProposeResult result;
    result.failure = Text(answer, "failure", "");
    result.notes = Map(answer, "notes", "");
    ReadCost(answer, result.cost);
    if (answer.contains("exhausted")) {
      if (!answer["exhausted"].is_boolean()) Fail("exhausted is not true or false");
      else if (answer["exhausted"].get<bool>()) result.notes[kExhaustedNote] = "true";
    }
    if (answer.contains("files")) ReadProposal(answer, "", result);
    if (answer.contains("candidates")) ReadCandidates(answer["candidates"], result);
    if (result.proposals.empty() && result.failure.empty() && error_.empty()) {
      result.failure = result.notes.contains(kExhaustedNote) ? "the command has nothing left to try" : "";
      if (result.failure.empty()) Fail("none of files, candidates and failure is present");
    }
    if (!error_.empty()) return std::nullopt;
    return result;
  }

  const std::string& error() const { return error_; }

 private:
  void Fail(std::string what) {
    if (error_.empty()) error_ = std::move(what);
  }

  bool CheckObject(const Json& value, const std::string& place, const std::vector<std::string>& known) {
    if (!value.is_object()) {
      Fail(absl::StrCat(place, " is ", value.type_name(), "; expected an object"));
      return false;
    }
    for (const auto& [name, member] : value.items()) {
      if (std::find(known.begin(), known.end(), name) != known.end()) continue;
      Fail(absl::StrCat(place, " has the unknown field '", name, "'", internal::DidYouMean(name, known), "; known: ",
                        absl::StrJoin(known, ", ")));
      return false;
    }
    return true;
  }

  std::string Text(const Json& object, const char* name, const std::string& prefix) {
    if (!object.contains(name)) return {};
    if (object[name].is_string()) return object[name].get<std::string>();
    Fail(absl::StrCat(prefix, name, " is ", object[name].type_name(), "; expected a string"));
    return {};
  }

  Parameters Map(const Json& object, const char* name, const std::string& prefix) {
    Parameters parameters;
    if (!object.contains(name)) return parameters;
    if (!object[name].is_object()) {
      Fail(absl::StrCat(prefix, name, " is ", object[name].type_name(), "; expected an object of strings"));
      return parameters;
    }
    for (const auto& [key, value] : object[name].items()) parameters[key] = value.is_string() ? value.get<std::string>() : value.dump();
    return parameters;
  }

  void ReadCost(const Json& answer, Cost& cost) {
    if (!answer.contains("cost")) return;
    const Json& object = answer["cost"];
    if (!CheckObject(object, "cost", {"input_tokens", "cached_input_tokens", "output_tokens", "microdollars"})) return;
    for (const auto& [name, value] : object.items()) {
      const bool fits = value.is_number_unsigned() && value.get<std::uint64_t>() <= std::numeric_limits<std::int64_t>::max();
      if (!fits) {
        Fail(absl::StrCat("cost.", name, " is ", value.dump(), "; expected a whole number of 0 or more"));
        return;
      }
      const std::int64_t amount = value.get<std::int64_t>();
      if (name == "input_tokens") cost.input_tokens = amount;
      if (name == "cached_input_tokens") cost.cached_input_tokens = amount;
      if (name == "output_tokens") cost.output_tokens = amount;
      if (name == "microdollars") cost.microdollars = amount;
    }
  }

  void ReadCandidates(const Json& candidates, ProposeResult& result) {
    if (!candidates.is_array()) return Fail(absl::StrCat("candidates is ", candidates.type_name(), "; expected an array"));
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      const std::string place = absl::StrCat("candidates[", i, "]");
      if (!CheckObject(candidates[i], place, {"files", "rationale", "tunables"})) return;
      if (!candidates[i].contains("files")) return Fail(absl::StrCat(place, ".files is missing"));
      ReadProposal(candidates[i], place + ".", result);
    }
  }

  void ReadProposal(const Json& object, const std::string& prefix, ProposeResult& result) {
    const Json& list = object["files"];
    if (!list.is_array()) return Fail(absl::StrCat(prefix, "files is ", list.type_name(), "; expected an array"));
    std::vector<SourceFile> files;
    for (std::size_t i = 0; i < list.size(); ++i) {
      const std::string place = absl::StrCat(prefix, "files[", i, "]");
      if (!CheckObject(list[i], place, {"path", "text"})) return;
      for (const char* name : {"path", "text"}) {
        if (!list[i].contains(name)) return Fail(absl::StrCat(place, ".", name, " is missing"));
      }
      files.push_back({Text(list[i], "path", place + "."), Text(list[i], "text", place + ".")});
    }
    if (!error_.empty()) return;
    absl::StatusOr<Candidate> candidate = Candidate::Create(std::move(files));
    if (!candidate.ok()) return Fail(absl::StrCat(prefix, "files: ", std::string(candidate.status().message())));
    Proposal proposal;
    proposal.candidate = std::make_shared<const Candidate>(*std::move(candidate));
    proposal.rationale = Text(object, "rationale", prefix);
    proposal.tunables = Map(object, "tunables", prefix);
    result.proposals.push_back(std::move(proposal));
  }

  std::string error_;
};

std::string DescribeExit(int status) {
  if (WIFSIGNALED(status)) return absl::StrCat("was killed by signal ", WTERMSIG(status));
  return absl::StrCat("ended with status ", WEXITSTATUS(status));
}

std::string WithTail(std::string what, const std::string& error_tail) {
  std::string tail = error_tail.size() > kErrorTail ? error_tail.substr(error_tail.size() - kErrorTail) : error_tail;
  while (!tail.empty() && (tail.back() == '\n' || tail.back() == ' ')) tail.pop_back();
  return tail.empty() ? what : absl::StrCat(what, "; standard error: ", tail);
}

class ScriptProposer final : public Proposer {
 public:
  explicit ScriptProposer(ScriptOptions options) : options_(std::move(options)) {}

  absl::StatusOr<ProposeResult> Propose(const ProposeArgs& args) override {
    const std::string key = args.reply_key + "/script";
    if (absl::StatusOr<std::string> reply = args.replies.Find(key); reply.ok()) {
      AnswerReader reader;
      if (std::optional<ProposeResult> result = reader.Read(*reply); result.has_value()) {
        return WithoutParents(*std::move(result), args.request);
      }
    }
    Process process;
    if (absl::Status status = process.Start(options_, RequestToJson(args)); !status.ok()) return status;
    const absl::Status finished = process.Finish(args, options_.maximum_output);
    if (absl::IsOutOfRange(finished)) return Failure(WithTail(std::string(finished.message()), process.error_tail));
    if (!finished.ok()) return finished;
    if (process.status != 0) return Ended(process);

    AnswerReader reader;
    std::optional<ProposeResult> result = reader.Read(process.output);
    if (!result.has_value()) return Failure(WithTail(reader.error(), process.error_tail));
    if (absl::Status status = args.replies.Record(key, process.output); !status.ok()) return status;
    return WithoutParents(*std::move(result), args.request);
  }

 private:
  // An answer that is a parent again is no proposal.
  static ProposeResult WithoutParents(ProposeResult result, const ProposeRequest& request) {
    const std::size_t count = std::erase_if(result.proposals, [&](const Proposal& proposal) {
      return std::any_of(request.parents.begin(), request.parents.end(), [&](const ParentContext& parent) {
        return parent.candidate->content_hash() == proposal.candidate->content_hash();
      });
    });
    if (count > 0 && result.proposals.empty()) result.failure = "script: the command gave a parent back unchanged";
    return result;
  }

  static ProposeResult Failure(const std::string& what) {
    ProposeResult result;
    result.failure = absl::StrCat("script: ", what);
    return result;
  }

  static absl::StatusOr<ProposeResult> Ended(const Process& process) {
    const std::string what = WithTail(absl::StrCat("the command ", DescribeExit(process.status)), process.error_tail);
    if (WIFEXITED(process.status) && WEXITSTATUS(process.status) == kTemporaryFailure) {
      return absl::UnavailableError(absl::StrCat("script: ", what));
    }
    return Failure(what);
  }

  const ScriptOptions options_;
};

class Script final : public ExpansionPolicy {
 public:
  explicit Script(const ScriptOptions& options) : options_(options), proposer_(options) {}

  void OnEvent(const OnEventArgs& args) override {
    if (const auto* dispatched = std::get_if<ProposalDispatched>(&args.event.body)) {
      if (dispatched->operator_name == kOperator) parents_[dispatched->work] = dispatched->parents;
    } else if (const auto* finished = std::get_if<ProposalFinished>(&args.event.body)) {
      const auto found = parents_.find(finished->work);
      if (found == parents_.end()) return;
      if (finished->notes.contains(kExhaustedNote)) exhausted_.insert(found->second);
      parents_.erase(found);
    }
  }

  absl::StatusOr<std::optional<ProposeRequest>> Prepare(const PrepareArgs& args) const override {
    if (exhausted_.contains(args.order.parents)) return std::nullopt;
    ProposeRequest request;
    request.operator_name = kOperator;
    for (NodeId parent : args.order.parents) request.parents.push_back(MakeParentContext(args.graph, parent));
    request.parameters = args.order.parameters;
    request.reserve.microdollars = options_.microdollars;
    return request;
  }

  Proposer& proposer() override { return proposer_; }
  std::vector<std::string> operators() const override { return {kOperator}; }

 private:
  const ScriptOptions options_;
  ScriptProposer proposer_;
  std::map<WorkId, std::vector<NodeId>> parents_;    // of work in flight
  std::set<std::vector<NodeId>> exhausted_;
};

}  // namespace

absl::Status ScriptOptions::Validate() const {
  if (command.empty() || command.front().empty()) {
    return absl::InvalidArgumentError("script: no command; expected e.g. script(command=\"python3 propose.py\")");
  }
  if (maximum_output == 0) return absl::InvalidArgumentError("script: maximum_output is 0; expected at least 1");
  if (microdollars < 0) return absl::InvalidArgumentError("script: microdollars is below 0");
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<ExpansionPolicy>> MakeScript(const ScriptOptions& options) {
  if (absl::Status status = options.Validate(); !status.ok()) return status;
  return std::make_unique<Script>(options);
}

absl::StatusOr<std::unique_ptr<ExpansionPolicy>> MakeScript(const PolicySpec& spec) {
  ScriptOptions options;
  std::string command;
  OptionReader reader(spec);
  reader.Read("command", "program and arguments, split at blanks", &command);
  reader.Read("directory", "to run it in", &options.working_directory);
  reader.Read("microdollars", "the most that one call may cost", &options.microdollars, 0, 1'000'000'000);
  if (absl::Status status = reader.Finish(); !status.ok()) return status;
  options.command = absl::StrSplit(command, ' ', absl::SkipWhitespace());
  return MakeScript(options);
}

}  // namespace maxkernel
