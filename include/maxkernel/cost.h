#ifndef MAXKERNEL_COST_H_
#define MAXKERNEL_COST_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/time/time.h"

namespace maxkernel {

// What work consumed, or may consume at most. All fields are additive and never negative.
struct Cost {
  std::int64_t input_tokens = 0;         // LLM input, including cached_input_tokens
  std::int64_t cached_input_tokens = 0;  // the part of input_tokens that was served from the provider's cache
  std::int64_t output_tokens = 0;        // LLM output, reasoning included
  std::int64_t microdollars = 0;         // money, in millionths of a US dollar
  std::int64_t evaluations = 0;          // evaluations started
  std::int64_t nodes = 0;                // nodes added to the graph
  absl::Duration device_time = absl::ZeroDuration();  // exclusive use of an accelerator

  Cost& operator+=(const Cost& other);
  Cost& operator-=(const Cost& other);
  bool operator==(const Cost&) const = default;
};

// Limits on a run; nullopt means no limit.
struct Budget {
  std::optional<std::int64_t> tokens;        // input plus output
  std::optional<std::int64_t> microdollars;
  std::optional<std::int64_t> evaluations;
  std::optional<std::int64_t> nodes;         // the root included
  std::optional<absl::Duration> device_time;
  std::optional<absl::Duration> wall_time;   // since the run started, pauses and time between resumes excluded

  bool operator==(const Budget&) const = default;
};

// The ledger as policies see it. reserved is for work in flight; what a run has committed is spent + reserved.
struct BudgetView {
  Budget limits;
  Cost spent;
  Cost reserved;
  absl::Duration wall_time = absl::ZeroDuration();  // active so far

  // Whether `cost` can still be reserved. If not, *limit (if given) names the limit that stands in the way: "evaluations".
  bool Allows(const Cost& cost, std::string* limit = nullptr) const;
};

}  // namespace maxkernel

#endif  // MAXKERNEL_COST_H_
