#ifndef MAXKERNEL_STORE_SQLITE_JOURNAL_H_
#define MAXKERNEL_STORE_SQLITE_JOURNAL_H_

#include <cstdint>
#include <filesystem>
#include <memory>

#include "absl/status/statusor.h"
#include "maxkernel/journal.h"

namespace maxkernel {

struct SqliteJournalOptions {
  enum class Mode : std::uint8_t {
    kCreate,    // AlreadyExists if there is one
    kWrite,     // an existing journal, exclusively
    kReadOnly,  // an existing journal, while another process may be writing it
  };
  Mode mode = Mode::kCreate;
};

// A journal in one SQLite file in WAL mode; docs/reference/journal.md describes its schema. A writer holds an operating-system lock,
// so a second one gets FailedPrecondition ("in use by process 123") and nothing is left behind by a crash.
// NotFound, AlreadyExists, PermissionDenied as usual; InvalidArgument for a file that is no maxkernel journal; FailedPrecondition for one
// that a newer version wrote; DataLoss for a damaged one.
absl::StatusOr<std::unique_ptr<Journal>> OpenSqliteJournal(const std::filesystem::path& file,
                                                           const SqliteJournalOptions& options = {});

}  // namespace maxkernel

#endif  // MAXKERNEL_STORE_SQLITE_JOURNAL_H_
