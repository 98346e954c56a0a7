#include <catch2/catch.hpp>
#include <map>

#include "maxkernel/store/sqlite_journal.h"
#include "maxkernel/testing/contract.h"
#include "tests/unit/store/temporary_folder.h"

namespace maxkernel {
namespace {

TEST_CASE("The SQLite journal keeps the contract") {
  const TemporaryFolder folder;
  std::map<const Journal*, std::filesystem::path> files;
  const auto open = [&](const std::filesystem::path& file, SqliteJournalOptions::Mode mode) {
    absl::StatusOr<std::unique_ptr<Journal>> journal = OpenSqliteJournal(file, {mode});
    INFO(journal.status());
    REQUIRE(journal.ok());
    files[journal->get()] = file;
    return *std::move(journal);
  };
  int made = 0;
  JournalContractOptions options;
  options.reopen = [&](std::unique_ptr<Journal> journal) {
    const std::filesystem::path file = files.at(journal.get());
    journal.reset();
    return open(file, SqliteJournalOptions::Mode::kWrite);
  };
  const auto make = [&] { return open(folder / ("run" + std::to_string(made++) + ".db"), SqliteJournalOptions::Mode::kCreate); };
  CHECK(CheckJournalContract(make, options) == std::vector<std::string>{});
  CHECK(made > 0);
}

}  // namespace
}  // namespace maxkernel
