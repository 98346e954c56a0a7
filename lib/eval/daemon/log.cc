#include "lib/eval/daemon/log.h"

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "nlohmann/json.hpp"

namespace maxkernel::eval {

void Log::Write(std::string_view event, const Fields& fields) {
  if (!write_) return;
  nlohmann::ordered_json line;
  line["time"] = absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", absl::Now(), absl::UTCTimeZone());
  line["event"] = std::string(event);
  for (const auto& [name, value] : fields) line[name] = value;
  const std::string text = line.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
  internal::MutexLock lock(mutex_);
  write_(text);
}

}  // namespace maxkernel::eval
