#include "lib/llm/request_key.h"

#include <array>
#include <cstdlib>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "maxkernel/candidate.h"
#include "maxkernel/internal/strings.h"
#include "nlohmann/json.hpp"

namespace maxkernel::llm {
namespace {

using Json = nlohmann::json;  // keeps members in name order

constexpr std::array kStopReasons = {StopReason::kEnd, StopReason::kLength, StopReason::kRefusal, StopReason::kOther};

std::string Dump(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

template <typename Value>
bool Take(const Json& object, const char* name, Json::value_t type, Value* value) {
  const auto found = object.find(name);
  if (found == object.end()) return false;
  const bool fits = found->type() == type || (type == Json::value_t::number_integer && found->is_number_integer());
  if (fits) *value = found->get<Value>();
  return fits;
}

}  // namespace

std::string RequestJson(const LlmRequest& request) {
  Json messages = Json::array();
  for (const LlmMessage& message : request.messages) {
    messages.push_back({{"role", static_cast<int>(message.role)},
                        {"text", absl::StrReplaceAll(message.text, {{"\r\n", "\n"}, {"\r", "\n"}})}});
  }
  Json json{{"protocol", "chat"},
            {"model", request.model},
            {"messages", std::move(messages)},
            {"max_output_tokens", request.max_output_tokens}};
  if (request.temperature.has_value()) json["temperature"] = *request.temperature;
  if (request.seed.has_value()) json["seed"] = *request.seed;
  return Dump(json);
}

std::string RequestKey(const LlmRequest& request) { return Sha256Hex(RequestJson(request)); }

std::uint64_t RequestSeed(const LlmRequest& request) {
  return std::strtoull(RequestKey(request).substr(0, 16).c_str(), nullptr, 16);
}

std::string ReplyJson(const LlmReply& reply) {
  return Dump(Json{{"text", reply.text},
                   {"stop_reason", ToString(reply.stop_reason)},
                   {"model", reply.model},
                   {"input_tokens", reply.usage.input_tokens},
                   {"cached_input_tokens", reply.usage.cached_input_tokens},
                   {"output_tokens", reply.usage.output_tokens},
                   {"usage_reported", reply.usage.reported},
                   {"microdollars", reply.microdollars}});
}

absl::StatusOr<LlmReply> ParseReplyJson(std::string_view text) {
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) return absl::DataLossError("a recorded reply is not a JSON object");
  LlmReply reply;
  std::string stop_reason;
  const char* broken = nullptr;
  const auto take = [&](const char* name, Json::value_t type, auto* value) {
    if (!Take(json, name, type, value) && broken == nullptr) broken = name;
  };
  take("text", Json::value_t::string, &reply.text);
  take("stop_reason", Json::value_t::string, &stop_reason);
  take("model", Json::value_t::string, &reply.model);
  take("input_tokens", Json::value_t::number_integer, &reply.usage.input_tokens);
  take("cached_input_tokens", Json::value_t::number_integer, &reply.usage.cached_input_tokens);
  take("output_tokens", Json::value_t::number_integer, &reply.usage.output_tokens);
  take("usage_reported", Json::value_t::boolean, &reply.usage.reported);
  take("microdollars", Json::value_t::number_integer, &reply.microdollars);
  bool known = false;
  for (const StopReason reason : kStopReasons) {
    if (ToString(reason) != stop_reason) continue;
    reply.stop_reason = reason;
    known = true;
  }
  if (!known && broken == nullptr) broken = "stop_reason";
  if (broken != nullptr) return absl::DataLossError(absl::StrCat("member \"", broken, "\" of a recorded reply is missing or malformed"));
  return reply;
}

}  // namespace maxkernel::llm
