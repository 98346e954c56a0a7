#include "lib/llm/cassette.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "lib/llm/request_key.h"
#include "nlohmann/json.hpp"

namespace maxkernel::llm {
namespace {

using Json = nlohmann::json;

absl::Status SystemError(absl::StatusCode code, const std::string& what, const std::string& file) {
  return absl::Status(code, absl::StrCat("cannot ", what, " the cassette ", file, ": ", std::strerror(errno)));
}

// Adds a line's exchange; an empty string, or what is wrong with it.
std::string TakeLine(std::string_view line, CassetteReplies& replies) {
  const Json json = Json::parse(line, nullptr, false);
  if (!json.is_object()) return "it is not a JSON object";
  const auto key = json.find("key");
  if (key == json.end() || !key->is_string()) return "it has no string \"key\"";
  const auto occurrence = json.find("occurrence");
  std::vector<LlmReply>& known = replies[key->get<std::string>()];
  if (occurrence == json.end() || !occurrence->is_number_unsigned()) return "it has no number \"occurrence\"";
  if (occurrence->get<std::size_t>() != known.size()) {
    return absl::StrCat("its occurrence is ", occurrence->get<std::size_t>(), ", but the next one of its key is ", known.size());
  }
  const auto reply = json.find("reply");
  if (reply == json.end()) return "it has no \"reply\"";
  absl::StatusOr<LlmReply> parsed = ParseReplyJson(reply->dump(-1, ' ', false, Json::error_handler_t::replace));
  if (!parsed.ok()) return std::string(parsed.status().message());
  known.push_back(*std::move(parsed));
  return "";
}

absl::Status MakeNameDurable(const std::filesystem::path& file) {
  const std::filesystem::path folder = file.has_parent_path() ? file.parent_path() : std::filesystem::path(".");
  const int descriptor = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return SystemError(absl::StatusCode::kUnavailable, "open the folder of", file);
  const int result = fsync(descriptor);
  close(descriptor);
  return result == 0 ? absl::OkStatus() : SystemError(absl::StatusCode::kUnavailable, "save the folder of", file);
}

}  // namespace

absl::StatusOr<CassetteFile> ReadCassette(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream) return SystemError(errno == ENOENT ? absl::StatusCode::kNotFound : absl::StatusCode::kPermissionDenied, "open", file);
  std::ostringstream contents;
  contents << stream.rdbuf();
  const std::string text = std::move(contents).str();

  CassetteFile cassette;
  std::size_t number = 1;
  for (std::size_t begin = 0; begin < text.size(); ++number) {
    const std::size_t end = text.find('\n', begin);
    if (end == std::string::npos) break;  // never acknowledged
    const std::string fault = TakeLine(std::string_view(text).substr(begin, end - begin), cassette.replies);
    if (!fault.empty()) return absl::DataLossError(absl::StrCat(file.string(), ":", number, ": not a recorded exchange: ", fault));
    begin = end + 1;
    cassette.intact_bytes = begin;
  }
  return cassette;
}

absl::StatusOr<std::unique_ptr<RecordDecorator>> RecordDecorator::Open(const std::filesystem::path& file, std::string secret,
                                                                       std::unique_ptr<LlmClient> inner) {
  const int descriptor = open(file.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (descriptor < 0) return SystemError(absl::StatusCode::kNotFound, "create", file);
  std::unique_ptr<RecordDecorator> recorder(new RecordDecorator(descriptor, file.string(), std::move(secret), std::move(inner)));
  if (flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
    return absl::FailedPreconditionError(absl::StrCat("another process records to the cassette ", file.string()));
  }
  absl::StatusOr<CassetteFile> known = ReadCassette(file);
  if (!known.ok()) return known.status();
  if (ftruncate(descriptor, static_cast<off_t>(known->intact_bytes)) != 0) {
    return SystemError(absl::StatusCode::kUnavailable, "truncate", file);
  }
  if (absl::Status status = MakeNameDurable(file); !status.ok()) return status;
  internal::MutexLock lock(recorder->mutex_);
  for (const auto& [key, replies] : known->replies) recorder->occurrences_[key] = replies.size();
  return recorder;
}

RecordDecorator::RecordDecorator(int descriptor, std::string file, std::string secret, std::unique_ptr<LlmClient> inner)
    : Decorator(std::move(inner)), file_(std::move(file)), secret_(std::move(secret)), descriptor_(descriptor) {}

RecordDecorator::~RecordDecorator() { close(descriptor_); }

absl::StatusOr<LlmReply> RecordDecorator::Generate(const LlmCall& call) {
  absl::StatusOr<LlmReply> reply = inner().Generate(call);
  if (!reply.ok()) return reply;
  const std::string key = RequestKey(call.request);
  Json exchange{{"key", key}, {"request", Json::parse(RequestJson(call.request))}, {"reply", Json::parse(ReplyJson(*reply))}};

  internal::MutexLock lock(mutex_);
  if (!fault_.ok()) return fault_;
  exchange["occurrence"] = occurrences_[key];
  std::string line = exchange.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  if (!secret_.empty()) line = absl::StrReplaceAll(line, {{secret_, "[key]"}});
  if (fault_ = Append(line); !fault_.ok()) return fault_;
  ++occurrences_[key];
  return reply;
}

absl::Status RecordDecorator::Append(const std::string& line) {
  for (std::size_t written = 0; written < line.size();) {
    const ssize_t count = write(descriptor_, line.data() + written, line.size() - written);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return SystemError(absl::StatusCode::kUnavailable, "write to", file_);
    written += static_cast<std::size_t>(count);
  }
  return fdatasync(descriptor_) == 0 ? absl::OkStatus() : SystemError(absl::StatusCode::kUnavailable, "save", file_);
}

absl::StatusOr<std::unique_ptr<ReplayClient>> ReplayClient::Open(const std::filesystem::path& file) {
  absl::StatusOr<CassetteFile> cassette = ReadCassette(file);
  if (!cassette.ok()) return cassette.status();
  return std::unique_ptr<ReplayClient>(new ReplayClient(file.string(), std::move(cassette->replies)));
}

absl::StatusOr<LlmReply> ReplayClient::Generate(const LlmCall& call) {
  if (call.stop.stop_requested()) return absl::CancelledError("cancelled before the cassette was asked");
  const std::string key = RequestKey(call.request);
  const auto found = replies_.find(key);
  if (found == replies_.end()) {
    return absl::NotFoundError(absl::StrCat("the cassette ", file_, " has no reply to request ", key.substr(0, 12)));
  }
  std::size_t occurrence = 0;
  {
    internal::MutexLock lock(mutex_);
    occurrence = used_[key]++;
  }
  if (occurrence >= found->second.size()) {
    return absl::NotFoundError(absl::StrCat("the cassette ", file_, " has ", found->second.size(), " replies to request ",
                                            key.substr(0, 12), ", all used"));
  }
  const LlmReply& reply = found->second[occurrence];
  if (call.on_text && !reply.text.empty()) call.on_text(reply.text);
  return reply;
}

}  // namespace maxkernel::llm
