// Links every library, so that a missing dependency of the package shows.
#include <iostream>

#include "maxkernel/clock.h"
#include "maxkernel/eval/remote_evaluator.h"
#include "maxkernel/llm/llm_factory.h"
#include "maxkernel/report/graph_format.h"
#include "maxkernel/store/sqlite_journal.h"
#include "maxkernel/task/load_task.h"
#include "maxkernel/version.h"

int main() {
  const auto clock = maxkernel::MakeSystemClock();
  maxkernel::LlmOptions llm;
  llm.base_url = "http://127.0.0.1:9/v1";
  llm.model = "none";
  const bool right = maxkernel::MakeLlmClient(llm, *clock).ok() &&
                     absl::IsNotFound(maxkernel::LoadTask("/no/such/task").status()) &&
                     !maxkernel::OpenSqliteJournal("/no/such/journal", {.mode = maxkernel::SqliteJournalOptions::Mode::kReadOnly}).ok() &&
                     !maxkernel::ProbeDaemon({.address = "127.0.0.1:9", .connect_timeout = absl::Seconds(1)}).ok() &&
                     !maxkernel::GraphFormats().empty();
  std::cout << "maxkernel " << maxkernel::kVersion << "\n";
  return right ? 0 : 1;
}
