#include "lib/llm/llm_edit.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "lib/llm/price.h"
#include "lib/llm/prompt_data.h"
#include "lib/llm/token_estimate.h"
#include "maxkernel/internal/strings.h"

namespace maxkernel::llm {
namespace {

constexpr char kStrategyParameter[] = "strategy";
constexpr char kKindParameter[] = "kind";  // "improve", "repair" or "draft"
constexpr std::size_t kMostAncestors = 6;
constexpr std::size_t kMostSiblings = 10;
constexpr std::size_t kLongestRationale = 240;
constexpr std::size_t kMostHints = 10;
constexpr double kUsableContext = 0.95;          // our token counts are estimates
constexpr std::int64_t kTokensOfAFailureReport = 2500;

// "1.42x the baseline: larger blocks", "does_not_compile: ...". No verdict's reason: it may speak of hidden cases.
std::string DescribeNode(const Node& node) {
  std::string result;
  if (node.score.has_value()) {
    result = absl::StrFormat("%.4g times the baseline's speed", node.score->value);
  } else if (node.evaluation != nullptr) {
    result = ToString(node.evaluation->verdict);
  } else {
    result = ToString(node.state);
  }
  const std::string rationale = node.rationale.empty() ? node.operator_name : FirstLine(CleanText(node.rationale), kLongestRationale);
  return absl::StrCat(result, ": ", rationale);
}

std::vector<std::string> DescribeLineage(const GraphView& graph, NodeId id) {
  std::vector<std::string> lines;
  for (const Node* node = &graph.node(id); lines.size() < kMostAncestors; node = &graph.node(node->parents.front())) {
    lines.push_back(DescribeNode(*node));
    if (node->parents.empty()) break;
  }
  std::reverse(lines.begin(), lines.end());
  return lines;
}

std::vector<std::string> DescribeChildren(const GraphView& graph, NodeId id) {
  const std::vector<NodeId>& children = graph.node(id).children;
  std::vector<std::string> lines;
  for (std::size_t i = children.size() - std::min(children.size(), kMostSiblings); i < children.size(); ++i) {
    lines.push_back(DescribeNode(graph.node(children[i])));
  }
  return lines;
}

absl::StatusOr<std::vector<std::string>> ReadStrategies(const std::string& list, const std::vector<Strategy>& known) {
  std::vector<std::string> all;
  for (const Strategy& strategy : known) all.push_back(strategy.id);
  if (list == "all") return all;
  if (list == "none") return std::vector<std::string>();
  std::vector<std::string> chosen = absl::StrSplit(list, ',');
  for (std::string& id : chosen) {
    id = std::string(absl::StripAsciiWhitespace(id));
    if (std::find(all.begin(), all.end(), id) == all.end()) {
      return absl::InvalidArgumentError(absl::StrCat("llm_edit: strategies has \"", id, "\": expected all, none or a list of ",
                                                     absl::StrJoin(all, ", "), internal::DidYouMean(id, all)));
    }
  }
  return chosen;
}

const Strategy* FindStrategy(const std::vector<Strategy>& strategies, const std::string& id) {
  const auto found = std::find_if(strategies.begin(), strategies.end(), [&](const Strategy& one) { return one.id == id; });
  return found == strategies.end() ? nullptr : &*found;
}

std::string FoundIn(const Parameters& parameters, const char* name) {
  const auto found = parameters.find(name);
  return found == parameters.end() ? "" : found->second;
}

}  // namespace

absl::StatusOr<std::unique_ptr<LlmEditPolicy>> LlmEditPolicy::Create(const PolicySpec& spec, const LlmOperatorContext& context) {
  LlmEditOptions options;
  options.max_output_tokens = context.options.max_output_tokens;
  double temperature = context.options.temperature.value_or(1);
  std::string strategies = "all";
  OptionReader reader(spec);
  reader.Read("max_calls", "model calls of one proposal, reports of failed edits included", &options.max_calls, 1, 5);
  reader.Read("temperature", "of the model; not sent unless it is given", &temperature, 0, 2);
  reader.Read("max_output_tokens", "of one reply", &options.max_output_tokens, 256, std::max<std::int64_t>(256, context.options.context_tokens - 1));
  reader.Read("strategies", "what a prompt may concentrate on: all, none or ids", &strategies);
  if (absl::Status status = reader.Finish(); !status.ok()) return status;
  if (context.options.temperature.has_value() || spec.options.contains("temperature")) options.temperature = temperature;

  absl::StatusOr<PromptLibrary> library = LoadPrompts(context.prompt_folder);
  if (!library.ok()) return library.status();
  absl::StatusOr<std::vector<std::string>> ids = ReadStrategies(strategies, library->strategies);
  if (!ids.ok()) return ids.status();
  options.strategies = *std::move(ids);
  absl::StatusOr<std::string> hardware = std::string();
  if (!context.hardware_file.empty()) hardware = DescribeChip(context.hardware_file, context.task->chip);
  if (!hardware.ok()) return hardware.status();
  return std::unique_ptr<LlmEditPolicy>(new LlmEditPolicy(std::move(options), context, *std::move(library), *std::move(hardware)));
}

LlmEditPolicy::LlmEditPolicy(LlmEditOptions options, const LlmOperatorContext& context, PromptLibrary library, std::string hardware)
    : options_(std::move(options)),
      llm_(context.options),
      task_(context.task),
      writer_(context.task, std::move(library), std::move(hardware)),
      proposer_(*context.client, writer_, context.task->baseline) {}

void LlmEditPolicy::OnEvent(const OnEventArgs& args) {
  if (const auto* hint = std::get_if<HintAdded>(&args.event.body)) {
    hints_.push_back(hint->text);
    if (hints_.size() > kMostHints) hints_.erase(hints_.begin());
  } else if (const auto* dispatched = std::get_if<ProposalDispatched>(&args.event.body)) {
    const std::string strategy = FoundIn(dispatched->parameters, kStrategyParameter);
    if (dispatched->operator_name != kName || strategy.empty() || dispatched->attempt > 0) return;
    ++tried_[dispatched->parents.empty() ? std::nullopt : std::optional(dispatched->parents.front())][strategy];
  }
}

absl::StatusOr<std::string> LlmEditPolicy::ChooseStrategy(const PrepareArgs& args) const {
  if (const std::string ordered = FoundIn(args.order.parameters, kStrategyParameter); !ordered.empty()) {
    if (FindStrategy(writer_.strategies(), ordered) == nullptr) {
      return absl::InvalidArgumentError(absl::StrCat("the order asks llm_edit for the strategy \"", ordered, "\", which there is not"));
    }
    return ordered;
  }
  if (args.earlier != nullptr) return FoundIn(args.earlier->parameters, kStrategyParameter);
  if (options_.strategies.empty()) return std::string();
  const auto tried = tried_.find(args.order.parents.empty() ? std::nullopt : std::optional(args.order.parents.front()));
  const auto count = [&](const std::string& id) {
    if (tried == tried_.end()) return std::uint32_t{0};
    const auto found = tried->second.find(id);
    return found == tried->second.end() ? 0 : found->second;
  };
  std::uint32_t least = std::numeric_limits<std::uint32_t>::max();
  for (const std::string& id : options_.strategies) least = std::min(least, count(id));
  std::vector<std::string> fresh;
  std::copy_if(options_.strategies.begin(), options_.strategies.end(), std::back_inserter(fresh), [&](const std::string& id) { return count(id) == least; });
  KeyedRandom random = args.random;
  return fresh[random.NextBelow(static_cast<std::uint32_t>(fresh.size()))];
}

absl::StatusOr<std::optional<ProposeRequest>> LlmEditPolicy::Prepare(const PrepareArgs& args) const {
  if (!args.order.operator_name.empty() && args.order.operator_name != kName) {
    return absl::InvalidArgumentError(absl::StrCat("llm_edit was asked for the operator \"", args.order.operator_name, "\""));
  }
  ProposeRequest request{.operator_name = kName, .model = args.order.model.value_or(llm_.model)};
  EditPromptInput input{.hints = hints_};
  for (const NodeId parent : args.order.parents) input.parents.push_back(MakeParentContext(args.graph, parent));
  const bool repairs = !input.parents.empty() && NeedsRepair(input.parents.front());
  request.parameters[kKindParameter] = input.parents.empty() ? "draft" : repairs ? "repair" : "improve";
  if (!input.parents.empty()) {
    input.lineage = DescribeLineage(args.graph, input.parents.front().node);
    input.siblings = DescribeChildren(args.graph, input.parents.front().node);
  }
  if (!repairs) {
    absl::StatusOr<std::string> strategy = ChooseStrategy(args);
    if (!strategy.ok()) return strategy.status();
    if (const Strategy* chosen = FindStrategy(writer_.strategies(), *strategy); chosen != nullptr) {
      input.strategy = chosen->text;
      request.parameters[kStrategyParameter] = chosen->id;
    }
  }

  const auto room = static_cast<std::int64_t>(kUsableContext * static_cast<double>(llm_.context_tokens)) - options_.max_output_tokens;
  for (const PromptDetail detail : kPromptDetails) {
    EditOrder order{.messages = writer_.Write(input, detail),
                    .max_output_tokens = options_.max_output_tokens,
                    .temperature = options_.temperature,
                    .max_calls = static_cast<std::uint32_t>(options_.max_calls)};
    const std::int64_t tokens = EstimateTokens(order.messages);
    if (tokens > room) continue;
    request.reserve = Reserve(tokens);
    request.payload = EditOrderJson(order);
    request.parents = std::move(input.parents);
    return request;
  }
  return std::nullopt;
}

Cost LlmEditPolicy::Reserve(std::int64_t input_tokens) const {
  LlmUsage usage;
  for (std::int64_t call = 0; call < options_.max_calls; ++call) {
    // Each further call carries all that was said before, and a report.
    usage.input_tokens += input_tokens + call * (options_.max_output_tokens + kTokensOfAFailureReport);
    usage.output_tokens += options_.max_output_tokens;
  }
  return {.input_tokens = usage.input_tokens, .output_tokens = usage.output_tokens, .microdollars = PriceOf(usage, llm_.price)};
}

}  // namespace maxkernel::llm

namespace maxkernel {

absl::Status RegisterLlmOperators(PolicyRegistry& registry, const LlmOperatorContext& context) {
  if (context.client == nullptr) return absl::InvalidArgumentError("LlmOperatorContext.client is null");
  if (context.task == nullptr) return absl::InvalidArgumentError("LlmOperatorContext.task is null");
  return registry.AddExpansion(llm::LlmEditPolicy::kName, "a model edits, repairs or drafts a kernel",
                               [context](const PolicySpec& spec) -> absl::StatusOr<std::unique_ptr<ExpansionPolicy>> {
                                 auto policy = llm::LlmEditPolicy::Create(spec, context);
                                 if (!policy.ok()) return policy.status();
                                 return *std::move(policy);
                               });
}

}  // namespace maxkernel
