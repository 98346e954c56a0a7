#include "lib/llm/chat_protocol.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "lib/llm/call_failure.h"
#include "lib/llm/token_estimate.h"
#include "maxkernel/internal/strings.h"
#include "nlohmann/json.hpp"

namespace maxkernel::llm {
namespace {

using Json = nlohmann::json;
using internal::ToAbsl;

std::string_view RoleName(LlmMessage::Role role) {
  switch (role) {
    case LlmMessage::Role::kSystem: return "system";
    case LlmMessage::Role::kUser: return "user";
    case LlmMessage::Role::kAssistant: return "assistant";
  }
  return "user";
}

const char* OutputLimitName(ChatDialect::OutputLimit limit) {
  return limit == ChatDialect::OutputLimit::kMaxTokens ? "max_tokens" : "max_completion_tokens";
}

// Null for an absent member or anything that is no object, so that chains of look-ups never throw.
const Json& Member(const Json& object, const char* name) {
  static const Json null;
  if (!object.is_object()) return null;
  const auto found = object.find(name);
  return found == object.end() ? null : *found;
}

std::string_view StringOf(const Json& value) {
  return value.is_string() ? std::string_view(value.get_ref<const std::string&>()) : std::string_view();
}

std::int64_t CountOf(const Json& value) {
  constexpr double kMost = 1e12;  // beyond any context: a service's mistake must not overflow sums
  if (!value.is_number()) return 0;
  return static_cast<std::int64_t>(std::clamp(value.get<double>(), 0.0, kMost));
}

std::optional<LlmUsage> ReadUsage(const Json& usage) {
  if (!usage.is_object()) return std::nullopt;
  const Json& input = Member(usage, "prompt_tokens");
  const Json& output = Member(usage, "completion_tokens");
  if (!input.is_number() && !output.is_number()) return std::nullopt;
  LlmUsage result{.input_tokens = CountOf(input),
                  .cached_input_tokens = CountOf(Member(Member(usage, "prompt_tokens_details"), "cached_tokens")),
                  .output_tokens = CountOf(output),
                  .reported = true};
  result.cached_input_tokens = std::min(result.cached_input_tokens, result.input_tokens);
  return result;
}

bool IsHex(char c) { return absl::ascii_isxdigit(static_cast<unsigned char>(c)); }

// The UTF-16 code unit of an escape "\uXXXX" at `at`, or -1.
int EscapedUnit(std::string_view text, std::size_t at) {
  if (at + 6 > text.size() || text[at] != '\\' || text[at + 1] != 'u') return -1;
  const std::string_view digits = text.substr(at + 2, 4);
  if (!std::all_of(digits.begin(), digits.end(), IsHex)) return -1;
  return static_cast<int>(std::strtol(std::string(digits).c_str(), nullptr, 16));
}

// Half of a surrogate pair is not valid JSON to a strict parser, but services that cut text into deltas send it.
std::string ReplaceLoneSurrogates(std::string_view text) {
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] != '\\') {
      result.push_back(text[at++]);
      continue;
    }
    const int unit = EscapedUnit(text, at);
    if (unit < 0xD800 || unit > 0xDFFF) {
      const std::size_t length = std::min<std::size_t>(2, text.size() - at);
      result.append(text.substr(at, length));
      at += length;
      continue;
    }
    const int next = EscapedUnit(text, at + 6);
    if (unit <= 0xDBFF && next >= 0xDC00 && next <= 0xDFFF) {
      result.append(text.substr(at, 12));
      at += 12;
    } else {
      result.append("\\ufffd");
      at += 6;
    }
  }
  return result;
}

Json ParseLeniently(std::string_view text) {
  Json parsed = Json::parse(text, nullptr, false);
  if (parsed.is_discarded()) parsed = Json::parse(ReplaceLoneSurrogates(text), nullptr, false);
  return parsed;
}

StopReason StopReasonOf(std::string_view finish_reason, bool refused) {
  if (refused || finish_reason == "content_filter") return StopReason::kRefusal;
  if (finish_reason == "stop") return StopReason::kEnd;
  if (finish_reason == "length") return StopReason::kLength;
  return StopReason::kOther;
}

bool MeansServerFault(std::string_view finish_reason) {
  return finish_reason == "error" || finish_reason == "insufficient_system_resource";
}

}  // namespace

std::string MakeChatBody(const LlmRequest& request, const ChatDialect& dialect) {
  Json messages = Json::array();
  for (const LlmMessage& message : request.messages) {
    messages.push_back({{"role", RoleName(message.role)}, {"content", message.text}});
  }
  Json body{{"model", request.model}, {"messages", std::move(messages)}, {"stream", true}};
  body[OutputLimitName(dialect.output_limit)] = request.max_output_tokens;
  if (request.temperature.has_value() && dialect.temperature) body["temperature"] = *request.temperature;
  // Services keep seeds in signed integers, some of 32 bits.
  if (request.seed.has_value() && dialect.seed) body["seed"] = *request.seed & 0x7fffffff;
  if (dialect.stream_options) body["stream_options"] = {{"include_usage", true}};
  return body.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::optional<ChatDialect> WithoutRefusedParameter(const LlmRequest& request, const ChatDialect& dialect,
                                                   std::string_view error_body) {
  const Json parsed = Json::parse(error_body, nullptr, false);
  const Json& error = Member(parsed, "error");
  const std::string parameter(StringOf(Member(error, "param")));
  const std::string words = absl::AsciiStrToLower(ToAbsl(error_body));
  const auto names = [&](const std::string& name) {
    return parameter.empty() ? words.find(name) != std::string::npos : parameter.substr(0, parameter.find('.')) == name;
  };

  std::vector<ChatDialect> choices;
  if (dialect.stream_options && (names("stream_options") || names("include_usage"))) {
    choices.push_back(dialect);
    choices.back().stream_options = false;
  }
  if (request.temperature.has_value() && dialect.temperature && names("temperature")) {
    choices.push_back(dialect);
    choices.back().temperature = false;
  }
  if (request.seed.has_value() && dialect.seed && names("seed")) {
    choices.push_back(dialect);
    choices.back().seed = false;
  }
  if (names(OutputLimitName(dialect.output_limit))) {
    choices.push_back(dialect);
    choices.back().output_limit = dialect.output_limit == ChatDialect::OutputLimit::kMaxTokens
                                      ? ChatDialect::OutputLimit::kMaxCompletionTokens
                                      : ChatDialect::OutputLimit::kMaxTokens;
  }
  if (choices.size() != 1) return std::nullopt;
  return choices.front();
}

ChatStream::ChatStream(const LlmRequest& request, std::function<void(std::string_view)> on_text, std::string secret)
    : request_(request), on_text_(std::move(on_text)), secret_(std::move(secret)) {}

void ChatStream::TakeEvent(const SseEvent& event) {
  if (done()) return;
  ++events_;
  if (absl::StripAsciiWhitespace(ToAbsl(event.data)) == "[DONE]") {
    done_ = true;
    return;
  }
  const Json chunk = ParseLeniently(event.data);
  if (chunk.is_discarded()) {
    if (!complete()) {
      fault_ = absl::UnavailableError(absl::StrCat("the stream holds an event that is not JSON: ", Excerpt(event.data, secret_, 120)));
    }
    return;
  }
  const Json& error = Member(chunk, "error");
  if (!error.is_null() || event.name == "error") {
    fault_ = FailureFromErrorJson((error.is_null() ? chunk : error).dump(-1, ' ', false, Json::error_handler_t::replace), secret_);
    return;
  }
  if (model_.empty()) model_ = StringOf(Member(chunk, "model"));
  if (std::optional<LlmUsage> usage = ReadUsage(Member(chunk, "usage")); usage.has_value()) usage_ = usage;
  const Json& choices = Member(chunk, "choices");
  if (!choices.is_array()) return;
  for (const Json& choice : choices) {
    if (CountOf(Member(choice, "index")) != 0) continue;
    const Json& delta = Member(choice, choice.is_object() && choice.contains("delta") ? "delta" : "message");
    const std::string_view text = StringOf(Member(delta, "content"));
    text_.append(text);
    if (on_text_ && !text.empty()) on_text_(text);
    refusal_.append(StringOf(Member(delta, "refusal")));
    const std::string_view thinking = StringOf(Member(delta, "reasoning"));  // some services send it under both names
    reasoning_bytes_ += std::max(thinking.size(), StringOf(Member(delta, "reasoning_content")).size());
    const std::string_view finish = StringOf(Member(choice, "finish_reason"));
    if (MeansServerFault(finish)) {
      fault_ = absl::UnavailableError(absl::StrCat("the service broke off: finish_reason \"", std::string(finish), "\""));
      return;
    }
    if (!finish.empty()) finish_reason_ = std::string(finish);
  }
}

void ChatStream::TakeWhole(std::string_view body) {
  TakeEvent({.name = "", .data = std::string(body)});
  done_ = true;
}

absl::StatusOr<LlmReply> ChatStream::Finish() const {
  if (!fault_.ok()) return started() ? WithSpentUsage(fault_, Usage()) : fault_;
  if (!complete()) {
    const absl::Status status = absl::UnavailableError(
        absl::StrCat("the stream ended before the answer did, after ", text_.size(), " bytes of text"));
    return started() ? WithSpentUsage(status, Usage()) : status;
  }
  const bool refused = !refusal_.empty();
  return LlmReply{.text = refused && text_.empty() ? refusal_ : text_,
                  .stop_reason = StopReasonOf(*finish_reason_, refused),
                  .model = model_.empty() ? request_.model : model_,
                  .usage = Usage()};
}

LlmUsage ChatStream::Usage() const {
  if (usage_.has_value()) return *usage_;
  return {.input_tokens = EstimateTokens(request_.messages),
          .cached_input_tokens = 0,
          .output_tokens = EstimateTokens(text_.size() + refusal_.size() + reasoning_bytes_),
          .reported = false};
}

}  // namespace maxkernel::llm
