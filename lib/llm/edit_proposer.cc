#include "lib/llm/edit_proposer.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "lib/llm/call_failure.h"
#include "lib/llm/prompt_data.h"
#include "lib/llm/request_key.h"
#include "maxkernel/internal/check.h"
#include "maxkernel/internal/strings.h"
#include "maxkernel/llm/edit.h"
#include "nlohmann/json.hpp"

namespace maxkernel::llm {
namespace {

using Json = nlohmann::json;
using internal::ToAbsl;

constexpr std::size_t kLongestFailure = 500;

Cost CostOf(const LlmReply& reply) {
  return {.input_tokens = reply.usage.input_tokens,
          .cached_input_tokens = reply.usage.cached_input_tokens,
          .output_tokens = reply.usage.output_tokens,
          .microdollars = reply.microdollars};
}

// One line for records: the first failure, and how many more.
std::string Summarise(const EditResult& result) {
  const EditFailure& first = result.failures.front();
  std::string text = first.block > 0 ? absl::StrCat("edit block ", first.block, ": ", first.reason) : first.reason;
  if (result.failures.size() > 1) absl::StrAppend(&text, " (and ", result.failures.size() - 1, " more)");
  return FirstLine(CleanText(text), kLongestFailure);
}

EditResult Apply(const Candidate& base, const LlmReply& reply, std::int64_t max_output_tokens) {
  if (reply.stop_reason != StopReason::kLength) return ApplyReply(base, reply.text);
  return {.candidate = nullptr,
          .failures = {{.reason = absl::StrCat("the reply was cut off at the limit of ", max_output_tokens, " tokens")}},
          .rationale = ""};
}

}  // namespace

std::string EditOrderJson(const EditOrder& order) {
  Json messages = Json::array();
  for (const LlmMessage& message : order.messages) messages.push_back({static_cast<int>(message.role), message.text});
  Json json{{"messages", std::move(messages)}, {"max_output_tokens", order.max_output_tokens}, {"max_calls", order.max_calls}};
  if (order.temperature.has_value()) json["temperature"] = *order.temperature;
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

absl::StatusOr<EditOrder> ParseEditOrderJson(std::string_view text) {
  const Json json = Json::parse(text, nullptr, false);
  const absl::Status malformed = absl::InvalidArgumentError("the request's payload was not made by llm_edit");
  if (!json.is_object() || !json.contains("messages") || !json["messages"].is_array()) return malformed;
  EditOrder order;
  for (const Json& message : json["messages"]) {
    if (!message.is_array() || message.size() != 2 || !message[0].is_number_integer() || !message[1].is_string()) return malformed;
    order.messages.push_back({static_cast<LlmMessage::Role>(message[0].get<int>()), message[1].get<std::string>()});
  }
  const auto limit = json.find("max_output_tokens");
  const auto calls = json.find("max_calls");
  if (limit == json.end() || !limit->is_number_integer() || calls == json.end() || !calls->is_number_unsigned()) return malformed;
  order.max_output_tokens = limit->get<std::int64_t>();
  order.max_calls = calls->get<std::uint32_t>();
  const auto temperature = json.find("temperature");
  if (temperature != json.end() && temperature->is_number()) order.temperature = temperature->get<double>();
  return order;
}

absl::StatusOr<ProposeResult> EditProposer::Propose(const ProposeArgs& args) {
  absl::StatusOr<EditOrder> order = ParseEditOrderJson(args.request.payload);
  if (!order.ok()) return order.status();
  const Candidate& base = args.request.parents.empty() ? *draft_base_ : *args.request.parents.front().candidate;
  LlmRequest request{.model = args.request.model,
                     .messages = std::move(order->messages),
                     .max_output_tokens = order->max_output_tokens,
                     .temperature = order->temperature};
  KeyedRandom random = args.random;

  ProposeResult result;
  for (std::uint32_t call = 0; call < order->max_calls; ++call) {
    request.seed = random.NextUint32();
    absl::StatusOr<LlmReply> reply = Ask(args, request, call);
    if (!reply.ok()) {
      if (!IsContextOverflow(reply.status())) return reply.status();
      result.failure = FirstLine(std::string(reply.status().message()), kLongestFailure);
      break;
    }
    result.cost += CostOf(*reply);
    result.notes["calls"] = absl::StrCat(call + 1);
    if (!reply->usage.reported) result.notes["usage"] = "estimated";
    if (reply->stop_reason == StopReason::kRefusal) {
      result.failure = absl::StrCat("the model refused: ", FirstLine(CleanText(reply->text), kLongestFailure));
      break;
    }
    EditResult edit = Apply(base, *reply, request.max_output_tokens);
    if (edit.candidate != nullptr) {
      result.failure.clear();
      result.proposals.push_back({.candidate = std::move(edit.candidate), .rationale = CleanText(edit.rationale), .tunables = {}});
      break;
    }
    result.failure = Summarise(edit);
    request.messages.push_back({LlmMessage::Role::kAssistant, std::move(reply->text)});
    request.messages.push_back({LlmMessage::Role::kUser, writer_.WriteMendEdits(DescribeFailures(base, edit))});
  }
  return result;
}

absl::StatusOr<LlmReply> EditProposer::Ask(const ProposeArgs& args, const LlmRequest& request, std::uint32_t call) {
  const std::string key = absl::StrCat(args.reply_key, "/", call);
  const absl::StatusOr<std::string> recorded = args.replies.Find(key);
  if (recorded.ok()) return ParseReplyJson(*recorded);
  if (!absl::IsNotFound(recorded.status())) return recorded.status();
  absl::StatusOr<LlmReply> reply = client_.Generate({.request = request, .stop = args.stop, .deadline = args.deadline, .on_text = {}});
  if (!reply.ok()) return reply;
  if (absl::Status status = args.replies.Record(key, ReplyJson(*reply)); !status.ok()) return status;
  return reply;
}

}  // namespace maxkernel::llm
