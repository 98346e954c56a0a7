#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <fstream>
#include <thread>

#include "absl/strings/str_cat.h"
#include "lib/eval/daemon/control_group.h"
#include "lib/eval/daemon/execution_gate.h"
#include "lib/eval/daemon/hardware_file.h"
#include "lib/eval/daemon/reference_store.h"
#include "lib/eval/daemon/result_cache.h"
#include "lib/eval/daemon/state_folder.h"
#include "lib/eval/daemon/task_snapshot.h"
#include "tests/unit/eval/support.h"

namespace maxkernel::eval {
namespace {

namespace fs = std::filesystem;
using testing::TemporaryFolder;

std::string MessageOf(const absl::Status& status) { return std::string(status.message()); }

void Write(const fs::path& file, const std::string& text) {
  fs::create_directories(file.parent_path());
  std::ofstream(file) << text;
}

Evaluation Finished(Verdict verdict) {
  Evaluation evaluation;
  evaluation.verdict = verdict;
  evaluation.cases = {{"square", false, 0.5, std::nullopt, {0.001}, std::nullopt, "", {}}};
  return evaluation;
}

TEST_CASE("A stored answer is found by key and by content, marked as cached") {
  TemporaryFolder folder;
  ResultCache cache(folder.path());
  REQUIRE(cache.Store("key/../../etc", "print", "content", Finished(Verdict::kIncorrect)).ok());
  ResultCache reopened(folder.path());
  const auto by_key = reopened.FindByKey("key/../../etc", "print");
  REQUIRE(by_key.ok());
  REQUIRE(by_key->has_value());
  Evaluation expected = Finished(Verdict::kIncorrect);
  expected.from_cache = true;
  CHECK(std::get<Evaluation>(**by_key) == expected);
  REQUIRE(reopened.FindByContent("content").has_value());
  CHECK_FALSE(reopened.FindByContent("other").has_value());
  CHECK_FALSE(reopened.FindByKey("other", "print")->has_value());
}

TEST_CASE("A key that was used for another request is refused") {
  TemporaryFolder folder;
  ResultCache cache(folder.path());
  REQUIRE(cache.Store("key", "print", "", AdmissionReport{true, {}, false}).ok());
  CHECK(absl::IsInvalidArgument(cache.FindByKey("key", "another print").status()));
  CHECK(std::get<AdmissionReport>(**cache.FindByKey("key", "print")).from_cache);
  CHECK_FALSE(cache.FindByContent("").has_value());
}

TEST_CASE("A damaged result file is as good as none") {
  TemporaryFolder folder;
  ResultCache cache(folder.path());
  REQUIRE(cache.Store("key", "print", "", Finished(Verdict::kCorrect)).ok());
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder.path())) {
    if (entry.is_regular_file()) std::ofstream(entry.path()) << "\xff\xff garbage";
  }
  CHECK_FALSE(cache.FindByKey("key", "print")->has_value());
}

TEST_CASE("Reference outputs are computed once, however many ask at the same time") {
  TemporaryFolder folder;
  ReferenceStore store(folder.path(), 1 << 20);
  std::atomic<int> computed = 0;
  std::atomic<int> right = 0;
  std::vector<std::thread> askers;
  for (int i = 0; i < 8; ++i) {
    askers.emplace_back([&] {
      const auto pin = store.Get("key", {}, [&](const fs::path& out) {
        ++computed;
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        Write(out / "signature.json", "{}");
        return absl::OkStatus();
      });
      if (pin.ok() && fs::exists(**pin / "signature.json")) ++right;
    });
  }
  for (std::thread& asker : askers) asker.join();
  CHECK(computed == 1);
  CHECK(right == 8);
  ReferenceStore reopened(folder.path(), 1 << 20);
  CHECK(reopened.Get("key", {}, [](const fs::path&) { return absl::InternalError("not again"); }).ok());
}

TEST_CASE("A failed computation is kept from nobody and leaves nothing") {
  TemporaryFolder folder;
  ReferenceStore store(folder.path(), 1 << 20);
  const auto failed = store.Get("key", {}, [](const fs::path& out) {
    Write(out / "half", "x");
    return absl::FailedPreconditionError("task: broken");
  });
  CHECK(absl::IsFailedPrecondition(failed.status()));
  CHECK(fs::is_empty(folder.path()));
  CHECK(store.Get("key", {}, [](const fs::path&) { return absl::OkStatus(); }).ok());
}

TEST_CASE("Who waits for a computation that is cancelled computes in its place, or stops waiting") {
  TemporaryFolder folder;
  ReferenceStore store(folder.path(), 1 << 20);
  std::atomic<bool> started = false;
  std::stop_source leader_stop;
  std::thread leader([&] {
    (void)store.Get("key", leader_stop.get_token(), [&](const fs::path&) -> absl::Status {
      started = true;
      while (!leader_stop.stop_requested()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      return absl::CancelledError("cancelled");
    });
  });
  while (!started) std::this_thread::yield();
  std::stop_source impatient;
  std::thread canceller([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    impatient.request_stop();
  });
  CHECK(absl::IsCancelled(store.Get("key", impatient.get_token(), [](const fs::path&) { return absl::OkStatus(); }).status()));
  canceller.join();
  std::thread stopper([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    leader_stop.request_stop();
  });
  CHECK(store.Get("key", {}, [](const fs::path&) { return absl::OkStatus(); }).ok());
  stopper.join();
  leader.join();
}

TEST_CASE("Beyond its size the store drops the least recently used, but nothing pinned") {
  TemporaryFolder folder;
  ReferenceStore store(folder.path(), 2500);
  const auto fill = [](const fs::path& out) {
    Write(out / "data", std::string(1000, 'x'));
    return absl::OkStatus();
  };
  const auto pinned = store.Get("a", {}, fill);
  for (const char* key : {"b", "c", "d"}) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    REQUIRE(store.Get(key, {}, fill).ok());
  }
  CHECK(fs::exists(folder.path() / "a"));
  CHECK_FALSE(fs::exists(folder.path() / "b"));
  CHECK_FALSE(fs::exists(folder.path() / "c"));
  CHECK(fs::exists(folder.path() / "d"));
}

TEST_CASE("A state folder has one owner and starts with empty scratch space") {
  TemporaryFolder folder;
  Write(folder.path() / "scratch" / "7" / "left over", "x");
  auto first = StateFolder::Open(folder.path());
  REQUIRE(first.ok());
  CHECK(fs::is_empty(folder.path() / "scratch"));
  const absl::Status second = StateFolder::Open(folder.path()).status();
  CHECK(absl::IsFailedPrecondition(second));
  CHECK_THAT(MessageOf(second), Catch::Contains("another daemon uses it"));
  first->reset();
  CHECK(StateFolder::Open(folder.path()).ok());
}

TEST_CASE("What candidate code leaves in its folder is reduced to readable files") {
  TemporaryFolder folder;
  const fs::path out = folder.path() / "out";
  Write(out / "square.cpu.module", "m");
  Write(out / "deep" / "x", "x");
  Write(folder.path() / "secret", "s");
  fs::create_symlink(folder.path() / "secret", out / "link");
  fs::permissions(out / "deep", fs::perms::none);
  fs::permissions(out / "square.cpu.module", fs::perms::none);
  REQUIRE(KeepRegularFiles(out).ok());
  std::vector<std::string> left;
  for (const fs::directory_entry& entry : fs::directory_iterator(out)) left.push_back(entry.path().filename());
  CHECK(left == std::vector<std::string>{"square.cpu.module"});
  CHECK((fs::status(out / "square.cpu.module").permissions() & fs::perms::owner_read) != fs::perms::none);
  CHECK(fs::exists(folder.path() / "secret"));
}

TEST_CASE("The gate lets many share, one alone, and whoever waits to be alone goes first") {
  ExecutionGate gate;
  auto one = gate.Acquire(ExecutionGate::Use::kShared, {});
  auto two = gate.Acquire(ExecutionGate::Use::kShared, {});
  REQUIRE(one.has_value());
  REQUIRE(two.has_value());
  std::atomic<bool> alone = false;
  std::atomic<bool> late = false;
  std::atomic<bool> overlapped = false;
  std::thread exclusive([&] {
    auto lease = gate.Acquire(ExecutionGate::Use::kExclusive, {});
    alone = true;
    std::this_thread::sleep_for(std::chrono::milliseconds(60));
    overlapped = late.load();
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  CHECK_FALSE(alone);
  std::thread shared([&] {
    auto lease = gate.Acquire(ExecutionGate::Use::kShared, {});
    late = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  CHECK_FALSE(late);
  one.reset();
  two.reset();
  exclusive.join();
  shared.join();
  CHECK(alone);
  CHECK(late);
  CHECK_FALSE(overlapped);
}

TEST_CASE("Waiting at the gate ends when stopped, and stands in nobody's way afterwards") {
  ExecutionGate gate;
  auto holder = gate.Acquire(ExecutionGate::Use::kShared, {});
  std::stop_source stop;
  std::thread stopper([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    stop.request_stop();
  });
  CHECK_FALSE(gate.Acquire(ExecutionGate::Use::kExclusive, stop.get_token()).has_value());
  stopper.join();
  CHECK(gate.Acquire(ExecutionGate::Use::kShared, {}).has_value());
}

TEST_CASE("The hardware file gives chips with their types, and names what it knows") {
  TemporaryFolder folder;
  const fs::path file = folder.path() / "hardware.yaml";
  Write(file, "common: {lanes: 128}\nchips:\n  - name: v6e\n    bf16_tflops: 920.5\n    megacore: false\n    pci: \"0x006f\"\n"
              "    mxu: {size: 256}\n    matmul: [f32, bf16]\n");
  const auto hardware = HardwareFile::Load(file);
  REQUIRE(hardware.ok());
  const auto chip = hardware->Chip("v6e");
  REQUIRE(chip.ok());
  CHECK((*chip)["common"]["lanes"] == 128);
  CHECK((*chip)["chip"]["bf16_tflops"] == 920.5);
  CHECK((*chip)["chip"]["megacore"] == false);
  CHECK((*chip)["chip"]["pci"] == "0x006f");
  CHECK((*chip)["chip"]["matmul"][1] == "bf16");
  const absl::Status unknown = hardware->Chip("v6f").status();
  CHECK(absl::IsInvalidArgument(unknown));
  CHECK_THAT(MessageOf(unknown), Catch::Contains("known: v6e"));
  Write(file, "chips: {a\n  - b");
  CHECK_THAT(MessageOf(HardwareFile::Load(file).status()), Catch::Contains("hardware.yaml:2"));
  Write(file, "chips: 3");
  CHECK_THAT(MessageOf(HardwareFile::Load(file).status()), Catch::Contains("chips: expected a list"));
  CHECK(absl::IsNotFound(HardwareFile::Load(folder.path() / "none").status()));
}

TEST_CASE("A task's configuration is checked by field") {
  const Task good = testing::MakeTask();
  REQUIRE(TaskSnapshot::Create(good.name, good.configuration, good.files).ok());
  struct Row {
    const char* pointer;
    const char* value;
    const char* expected;
  };
  for (const Row row : {Row{"/cases", "[]", "field cases"}, Row{"/cases/0/name", "\"../x\"", "cases.name"},
                        Row{"/cases/0/name", "\"ragged\"", "occurs twice"}, Row{"/cases/0/hidden", "1", "cases.hidden"},
                        Row{"/fidelity/valid", "[\"fast\"]", "fidelity.valid"}, Row{"/fidelity", "7", "fidelity.valid"},
                        Row{"/chip", "6", "field chip"}, Row{"/files", "[\"nothing.py\"]", "\"nothing.py\" is none"}}) {
    INFO(row.pointer << " = " << row.value);
    nlohmann::json configuration = nlohmann::json::parse(good.configuration);
    configuration[nlohmann::json::json_pointer(row.pointer)] = nlohmann::json::parse(row.value);
    const absl::Status status = TaskSnapshot::Create(good.name, configuration.dump(), good.files).status();
    CHECK(absl::IsInvalidArgument(status));
    CHECK_THAT(MessageOf(status), Catch::Contains(row.expected));
  }
  CHECK(absl::IsInvalidArgument(TaskSnapshot::Create("a/b", good.configuration, good.files).status()));
  CHECK(absl::IsInvalidArgument(TaskSnapshot::Create("a", "nonsense", good.files).status()));
  CHECK(absl::IsInvalidArgument(TaskSnapshot::Create("a", good.configuration, {{"../escape.py", "x"}}).status()));
}

TEST_CASE("A task's digest depends on its content alone") {
  const Task task = testing::MakeTask();
  const auto one = TaskSnapshot::Create(task.name, task.configuration, task.files);
  std::vector<SourceFile> reversed(task.files.rbegin(), task.files.rend());
  CHECK(TaskSnapshot::Create(task.name, task.configuration, reversed)->digest == one->digest);
  reversed.back().text += " ";
  CHECK(TaskSnapshot::Create(task.name, task.configuration, reversed)->digest != one->digest);
}

TEST_CASE("Version 2 control groups are made beside the daemon's own, with limits") {
  TemporaryFolder folder;
  const fs::path mount = folder.path() / "cgroup";
  fs::create_directories(mount / "user" / "daemon");
  Write(mount / "user" / "cgroup.subtree_control", "");
  Write(folder.path() / "self", "0::/user/daemon\n");
  Write(folder.path() / "mounts", "cgroup2 " + mount.string() + " cgroup2 rw 0 0\n");
  // Of a daemon that is gone, and of one that is not.
  std::string space = fs::read_symlink("/proc/self/ns/pid").string();  // "pid:[4026531836]"
  space = space.substr(5, space.size() - 6);
  const fs::path gone = mount / "user" / absl::StrCat("maxkernel-evald.", space, ".999999999.1");
  const fs::path alive = mount / "user" / absl::StrCat("maxkernel-evald.", space, ".", ::getpid(), ".77");
  const fs::path elsewhere = mount / "user" / "maxkernel-evald.1.999999999.1";
  for (const fs::path& group : {gone, alive, elsewhere}) fs::create_directories(group);
  // A plain file takes any text, as the kernel's takes controllers that exist.
  const auto factory = ControlGroupFactory::Detect(folder.path() / "self", folder.path() / "mounts");
  REQUIRE(factory != nullptr);
  CHECK_THAT(factory->description(), Catch::Contains("version 2"));
  CHECK_FALSE(fs::exists(gone));
  CHECK(fs::exists(alive));
  CHECK(fs::exists(elsewhere));
  const auto group = factory->Make({1 << 20, 77});
  REQUIRE(group.ok());
  const std::vector<std::string> entries = (*group)->EntryFiles();
  REQUIRE(entries.size() == 1);
  const fs::path made = fs::path(entries[0]).parent_path();
  CHECK(made.parent_path() == mount / "user");
  CHECK(*ReadFile(made / "pids.max") == "77");
  CHECK(*ReadFile(made / "memory.max") == "1048576");
}

TEST_CASE("Without delegated control groups there are none") {
  TemporaryFolder folder;
  Write(folder.path() / "self", "0::/\n");
  Write(folder.path() / "mounts", "cgroup2 " + folder.path().string() + " cgroup2 rw 0 0\nproc /proc proc rw 0 0\n");
  CHECK(ControlGroupFactory::Detect(folder.path() / "self", folder.path() / "mounts") == nullptr);
  CHECK(ControlGroupFactory::Detect(folder.path() / "none", folder.path() / "none") == nullptr);
}

}  // namespace
}  // namespace maxkernel::eval
