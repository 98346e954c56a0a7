#ifndef MAXKERNEL_LLM_LLM_FACTORY_H_
#define MAXKERNEL_LLM_LLM_FACTORY_H_

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "maxkernel/clock.h"
#include "maxkernel/llm/llm_client.h"
#include "maxkernel/policy_registry.h"
#include "maxkernel/task.h"

namespace maxkernel {

// Prices in millionths of a US dollar per million tokens: 3 dollars per million tokens is 3'000'000.
struct ModelPrice {
  std::int64_t input = 0;
  std::int64_t cached_input = 0;
  std::int64_t output = 0;
};

struct LlmOptions {
  std::string provider = "openai_compatible";
  std::string base_url;                  // "http://127.0.0.1:8000/v1"; https, or http to this machine alone
  bool allow_plain_http = false;         // http to other machines too: prompts and keys then travel unencrypted
  std::string model;
  std::string api_key;                   // empty: none is sent. From environment or file only; never printed
  ModelPrice price;
  std::int64_t context_tokens = 32768;   // of the model
  std::int64_t max_output_tokens = 8192;
  std::optional<double> temperature;
  std::uint32_t retries = 4;             // of one call, on rate limits and service faults, with exponential back-off and jitter
  std::uint32_t requests_per_minute = 0; // 0: no limit of ours
  absl::Duration idle_timeout = absl::Seconds(120);  // without a byte from the service
  // A cassette: recorded exchanges keyed by the request. kReplay never touches the network: a request that is not in it is NotFound.
  enum class Cassette : std::uint8_t { kOff, kRecord, kReplay };
  Cassette cassette = Cassette::kOff;
  std::filesystem::path cassette_file;

  // InvalidArgument, naming the option, what it is and what was expected. Never shows the key.
  absl::Status Validate() const;
};

// The whole stack, outermost first: observe, record, price, retry, rate limit, transport; each only if the options ask for it. With
// kReplay it is observe and the cassette, whose replies have their price. The rate limit is inside retry, since providers count attempts.
// `observer` may be null; clock and observer outlive the client.
absl::StatusOr<std::unique_ptr<LlmClient>> MakeLlmClient(const LlmOptions& options, Clock& clock, LlmObserver* observer = nullptr);

// What the LLM operators need; the pointees outlive the registry's policies.
struct LlmOperatorContext {
  LlmClient* client = nullptr;
  LlmOptions options;
  std::shared_ptr<const Task> task;
  std::filesystem::path prompt_folder;   // share/prompts, or the user's own
  std::filesystem::path hardware_file;   // chip facts for the prompt
};

// Adds the expansion llm_edit.
absl::Status RegisterLlmOperators(PolicyRegistry& registry, const LlmOperatorContext& context);

}  // namespace maxkernel

#endif  // MAXKERNEL_LLM_LLM_FACTORY_H_
