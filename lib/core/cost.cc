#include "maxkernel/cost.h"

namespace maxkernel {

Cost& Cost::operator+=(const Cost& other) {
  input_tokens += other.input_tokens;
  cached_input_tokens += other.cached_input_tokens;
  output_tokens += other.output_tokens;
  microdollars += other.microdollars;
  evaluations += other.evaluations;
  nodes += other.nodes;
  device_time += other.device_time;
  return *this;
}

Cost& Cost::operator-=(const Cost& other) {
  input_tokens -= other.input_tokens;
  cached_input_tokens -= other.cached_input_tokens;
  output_tokens -= other.output_tokens;
  microdollars -= other.microdollars;
  evaluations -= other.evaluations;
  nodes -= other.nodes;
  device_time -= other.device_time;
  return *this;
}

bool BudgetView::Allows(const Cost& cost, std::string* limit) const {
  // Time is not reserved: work is allowed to start as long as some is left. First, since nothing else matters once it has run out.
  if (limits.wall_time.has_value() && wall_time >= *limits.wall_time) {
    if (limit != nullptr) *limit = "wall time";
    return false;
  }
  Cost total = spent;
  total += reserved;
  total += cost;
  const auto exceeded = [&](const char* name, const auto& allowed, const auto& wanted) {
    if (!allowed.has_value() || wanted <= *allowed) return false;
    if (limit != nullptr) *limit = name;
    return true;
  };
  if (exceeded("tokens", limits.tokens, total.input_tokens + total.output_tokens)) return false;
  if (exceeded("money", limits.microdollars, total.microdollars)) return false;
  if (exceeded("evaluations", limits.evaluations, total.evaluations)) return false;
  if (exceeded("nodes", limits.nodes, total.nodes)) return false;
  if (exceeded("device time", limits.device_time, total.device_time)) return false;
  return true;
}

}  // namespace maxkernel
