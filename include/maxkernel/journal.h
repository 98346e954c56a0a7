#ifndef MAXKERNEL_JOURNAL_H_
#define MAXKERNEL_JOURNAL_H_

#include <functional>
#include <memory>
#include <span>

#include "absl/status/status.h"
#include "maxkernel/event.h"
#include "maxkernel/expansion_policy.h"

namespace maxkernel {

// The append-only record of one run. An event counts only once it is in here.
//
// Append and ForEach: one thread at a time (the coordinator's). replies(): thread-safe.
// Errors: kDataLoss for a damaged record (with its position), kResourceExhausted for a full disk, kUnavailable or kInternal for other
// input/output errors. After a failed Append nothing of the group is in the journal.
class Journal {
 public:
  virtual ~Journal() = default;

  // Appends a group of events atomically; durable on return. Sequences must continue the journal's without a gap.
  virtual absl::Status Append(std::span<const Event> events) = 0;

  // Calls `visit` for every event in order and stops at the first error, which it returns.
  virtual absl::Status ForEach(const std::function<absl::Status(const Event&)>& visit) = 0;

  // Replies that were paid for in this run.
  virtual ReplyLog& replies() = 0;
};

// A journal that lives and dies with the process: for tests and throw-away searches.
std::unique_ptr<Journal> MakeMemoryJournal();

}  // namespace maxkernel

#endif  // MAXKERNEL_JOURNAL_H_
