#include "maxkernel/task/new_task.h"

#include <catch2/catch.hpp>
#include <fstream>

#include "maxkernel/task/load_task.h"
#include "tests/unit/store/temporary_folder.h"

namespace maxkernel {
namespace {

namespace fs = std::filesystem;

int EntriesIn(const fs::path& folder) {
  return static_cast<int>(std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

TEST_CASE("A new task loads as it is") {
  const TemporaryFolder folder;
  const fs::path target = folder / "deep" / "my_softmax-2";
  REQUIRE(NewTask(target).ok());
  const absl::StatusOr<Task> task = LoadTask(target);
  INFO(task.status());
  REQUIRE(task.ok());
  CHECK(task->name == "my_softmax-2");
  CHECK(task->cases.size() == 3);
  CHECK(task->baseline->entry().text.find("# tunable: 8,") != std::string::npos);
  CHECK(EntriesIn(target.parent_path()) == 1);
  CHECK(EntriesIn(target) == 4);
  CHECK(NewTask((folder / "other").string() + "/").ok());
}

TEST_CASE("A new task overwrites nothing") {
  const TemporaryFolder folder;
  REQUIRE(NewTask(folder / "a").ok());
  CHECK(absl::IsAlreadyExists(NewTask(folder / "a")));
  std::ofstream(folder / "file") << "x";
  CHECK(absl::IsAlreadyExists(NewTask(folder / "file")));
  fs::create_directory(folder / "empty");
  CHECK(NewTask(folder / "empty").ok());
  CHECK(EntriesIn(folder.path()) == 3);
}

TEST_CASE("A new task that cannot be made leaves nothing") {
  const TemporaryFolder folder;
  for (const char* name : {"Upper", "a b", "", "a.b"}) CHECK(absl::IsInvalidArgument(NewTask(folder / name / "")));
  std::ofstream(folder / "file") << "x";
  const absl::Status below_file = NewTask(folder / "file" / "task");
  INFO(below_file);
  CHECK_FALSE(below_file.ok());
  CHECK(EntriesIn(folder.path()) == 1);
}

}  // namespace
}  // namespace maxkernel
