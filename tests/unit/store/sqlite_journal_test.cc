#include "maxkernel/store/sqlite_journal.h"

#include <sqlite3.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <csignal>
#include <fstream>
#include <functional>
#include <iterator>
#include <thread>

#include "maxkernel/store/event_json.h"
#include "tests/unit/store/random_events.h"
#include "tests/unit/store/temporary_folder.h"

namespace maxkernel {
namespace {

using Catch::Matchers::Contains;
using Mode = SqliteJournalOptions::Mode;
namespace fs = std::filesystem;

std::unique_ptr<Journal> Open(const fs::path& file, Mode mode) {
  absl::StatusOr<std::unique_ptr<Journal>> journal = OpenSqliteJournal(file, {mode});
  INFO(journal.status().message());
  REQUIRE(journal.ok());
  return *std::move(journal);
}

absl::Status OpenError(const fs::path& file, Mode mode) { return OpenSqliteJournal(file, {mode}).status(); }

std::vector<Event> RandomEvents(std::uint64_t first, std::uint64_t count) {
  std::vector<Event> events;
  for (std::uint64_t i = 0; i < count; ++i) events.push_back(RandomEvent(first + i));
  return events;
}

struct Contents {
  absl::Status status;
  std::vector<std::string> events;  // as JSON
};

Contents Read(Journal& journal) {
  Contents contents;
  contents.status = journal.ForEach([&](const Event& event) {
    contents.events.push_back(EventToJson(event));
    return absl::OkStatus();
  });
  return contents;
}

std::vector<std::string> Expected(std::uint64_t count) {
  std::vector<std::string> events;
  for (std::uint64_t i = 1; i <= count; ++i) events.push_back(EventToJson(RandomEvent(i)));
  return events;
}

// Without the texts in the test's output.
bool Same(const std::vector<std::string>& a, const std::vector<std::string>& b) { return a == b; }

std::string Bytes(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

void Write(const fs::path& file, std::string_view bytes) {
  std::ofstream(file, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

std::vector<std::string> FilesIn(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

// The text that a child process comes to; a test's own process must not change its limits, user or mounts.
std::string InChild(const std::function<std::string()>& work) {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    close(ends[0]);
    const std::string text = work();
    const bool written = write(ends[1], text.data(), text.size()) == static_cast<ssize_t>(text.size());
    _exit(written ? 0 : 1);
  }
  close(ends[1]);
  std::string text;
  char buffer[512];
  for (ssize_t size = 0; (size = read(ends[0], buffer, sizeof buffer)) > 0;) text.append(buffer, static_cast<std::size_t>(size));
  close(ends[0]);
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 0));
  return text;
}

TEST_CASE("A journal gives back what was appended, with the sources of candidates") {
  const TemporaryFolder folder;
  const fs::path file = folder / "run.db";
  {
    const auto journal = Open(file, Mode::kCreate);
    REQUIRE(journal->Append({}).ok());
    REQUIRE(journal->Append(RandomEvents(1, 100)).ok());
    REQUIRE(journal->Append(RandomEvents(101, 1)).ok());
    CHECK(Same(Read(*journal).events, Expected(101)));
  }
  CHECK(FilesIn(folder.path()) == std::vector<std::string>{"run.db"});
  const auto journal = Open(file, Mode::kWrite);
  CHECK(Same(Read(*journal).events, Expected(101)));
  REQUIRE(journal->Append(RandomEvents(102, 5)).ok());
  std::uint64_t sequence = 0;
  REQUIRE(journal->ForEach([&](const Event& event) {
    ++sequence;
    const auto* added = std::get_if<NodeAdded>(&event.body);
    if (added == nullptr) return absl::OkStatus();
    CHECK(added->candidate->files() == std::get<NodeAdded>(RandomEvent(sequence).body).candidate->files());
    return absl::OkStatus();
  }).ok());
  CHECK(sequence == 106);
}

TEST_CASE("A journal refuses a gap and keeps nothing of a refused group") {
  const TemporaryFolder folder;
  const auto journal = Open(folder / "run.db", Mode::kCreate);
  REQUIRE(journal->Append(RandomEvents(1, 2)).ok());
  const absl::Status gap = journal->Append(std::vector<Event>{RandomEvent(3), RandomEvent(5)});
  CHECK(gap.code() == absl::StatusCode::kInvalidArgument);
  CHECK(gap.message() == "journal: event has sequence 5; expected 4");
  CHECK(Same(Read(*journal).events, Expected(2)));
  CHECK(journal->Append(RandomEvents(3, 1)).ok());
}

TEST_CASE("ForEach stops at the visitor's error and returns it") {
  const TemporaryFolder folder;
  const auto journal = Open(folder / "run.db", Mode::kCreate);
  REQUIRE(journal->Append(RandomEvents(1, 10)).ok());
  int visits = 0;
  const absl::Status status = journal->ForEach([&](const Event&) {
    return ++visits == 4 ? absl::AbortedError("enough") : absl::OkStatus();
  });
  CHECK(status == absl::AbortedError("enough"));
  CHECK(visits == 4);
}

TEST_CASE("The reply log keeps the first reply and outlives the process") {
  const TemporaryFolder folder;
  const std::string reply = std::string("bytes \xff and \0 zero", 17);
  {
    const auto journal = Open(folder / "run.db", Mode::kCreate);
    CHECK(journal->replies().Find("d1/0/0").status().code() == absl::StatusCode::kNotFound);
    REQUIRE(journal->replies().Record("d1/0/0", reply).ok());
    REQUIRE(journal->replies().Record("d1/0/0", "another").ok());
    REQUIRE(journal->replies().Record("", "").ok());
  }
  const auto journal = Open(folder / "run.db", Mode::kReadOnly);
  CHECK(*journal->replies().Find("d1/0/0") == reply);
  CHECK(*journal->replies().Find("") == "");
  CHECK(journal->replies().Record("d1/0/1", "x").code() == absl::StatusCode::kFailedPrecondition);
}

TEST_CASE("The reply log may be used by several threads while events are appended") {
  const TemporaryFolder folder;
  const auto journal = Open(folder / "run.db", Mode::kCreate);
  constexpr int kThreads = 4;
  constexpr int kReplies = 50;
  std::vector<std::string> failures(kThreads);
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        for (int i = 0; i < kReplies; ++i) {
          const std::string key = std::to_string(t) + "/" + std::to_string(i);
          if (!journal->replies().Record(key, "reply " + key).ok()) failures[t] = "record " + key;
          const absl::StatusOr<std::string> found = journal->replies().Find(key);
          if (!found.ok() || *found != "reply " + key) failures[t] = "find " + key;
        }
      });
    }
    for (std::uint64_t i = 0; i < 50; ++i) REQUIRE(journal->Append(RandomEvents(1 + i * 3, 3)).ok());
  }
  for (const std::string& failure : failures) CHECK(failure == "");
  CHECK(Same(Read(*journal).events, Expected(150)));
}

TEST_CASE("A second writer is refused and told who holds the journal") {
  const TemporaryFolder folder;
  const fs::path file = folder / "run.db";
  auto journal = Open(file, Mode::kCreate);
  const absl::Status here = OpenError(file, Mode::kWrite);
  CHECK(here.code() == absl::StatusCode::kFailedPrecondition);
  CHECK_THAT(std::string(here.message()), Contains("in use by process " + std::to_string(getpid())));
  const std::string there = InChild([&] { return OpenError(file, Mode::kWrite).ToString(); });
  CHECK_THAT(there, Contains("FAILED_PRECONDITION") && Contains("in use by process " + std::to_string(getpid())));
  // The refused attempts must not have weakened the holder's lock.
  CHECK(OpenError(file, Mode::kWrite).code() == absl::StatusCode::kFailedPrecondition);
  REQUIRE(journal->Append(RandomEvents(1, 3)).ok());
  journal.reset();
  CHECK(OpenError(file, Mode::kWrite).ok());
}

TEST_CASE("Opening says what is wrong with a file") {
  const TemporaryFolder folder;
  const fs::path file = folder / "run.db";
  CHECK(OpenError(file, Mode::kWrite).code() == absl::StatusCode::kNotFound);
  CHECK(OpenError(file, Mode::kReadOnly).code() == absl::StatusCode::kNotFound);
  CHECK(OpenError(folder / "no" / "run.db", Mode::kCreate).code() == absl::StatusCode::kNotFound);
  CHECK(FilesIn(folder.path()).empty());
  for (const Mode mode : {Mode::kWrite, Mode::kReadOnly, Mode::kCreate}) {
    CHECK(OpenError(folder.path(), mode).code() == absl::StatusCode::kInvalidArgument);
  }
  Open(file, Mode::kCreate);
  CHECK(OpenError(file, Mode::kCreate).code() == absl::StatusCode::kAlreadyExists);
  CHECK(OpenError(file / "below", Mode::kCreate).code() == absl::StatusCode::kNotFound);

  Write(folder / "text", "This is a text that is long enough to be a database's header, which is 100 bytes in size.........................");
  Write(folder / "empty", "");
  sqlite3* other = nullptr;
  REQUIRE(sqlite3_open((folder / "other").c_str(), &other) == SQLITE_OK);
  REQUIRE(sqlite3_exec(other, "CREATE TABLE event(x)", nullptr, nullptr, nullptr) == SQLITE_OK);
  sqlite3_close(other);
  for (const Mode mode : {Mode::kWrite, Mode::kReadOnly}) {
    for (const char* name : {"text", "empty", "other"}) {
      const std::string before = Bytes(folder / name);
      const absl::Status status = OpenError(folder / name, mode);
      INFO(status);
      CHECK(status.code() == absl::StatusCode::kInvalidArgument);
      CHECK_THAT(std::string(status.message()), Contains("not a maxkernel journal"));
      CHECK(Bytes(folder / name) == before);
    }
  }
  CHECK(FilesIn(folder.path()) == std::vector<std::string>{"empty", "other", "run.db", "text"});
  CHECK(OpenError(folder / "empty", Mode::kCreate).ok());
}

TEST_CASE("A journal of a newer version is refused") {
  const TemporaryFolder folder;
  const fs::path file = folder / "run.db";
  Open(file, Mode::kCreate);
  sqlite3* database = nullptr;
  REQUIRE(sqlite3_open(file.c_str(), &database) == SQLITE_OK);
  REQUIRE(sqlite3_exec(database, "PRAGMA user_version=2", nullptr, nullptr, nullptr) == SQLITE_OK);
  sqlite3_close(database);
  for (const Mode mode : {Mode::kWrite, Mode::kReadOnly}) {
    const absl::Status status = OpenError(file, mode);
    CHECK(status.code() == absl::StatusCode::kFailedPrecondition);
    CHECK_THAT(std::string(status.message()), Contains("schema version 2; this program reads up to 1"));
  }
}

TEST_CASE("Missing rights are named") {
  const TemporaryFolder folder;
  const fs::path file = folder / "run.db";
  {
    const auto journal = Open(file, Mode::kCreate);
    REQUIRE(journal->Append(RandomEvents(1, 5)).ok());
  }
  chmod(folder.path().c_str(), 0555);
  chmod(file.c_str(), 0444);
  const std::string result = InChild([&]() -> std::string {
    // Root may do anything; as nobody the rights count.
    if (geteuid() == 0 && (setegid(65534) != 0 || seteuid(65534) != 0)) return "cannot change user";
    std::string text = OpenError(folder / "new.db", Mode::kCreate).ToString() + "\n" + OpenError(file, Mode::kWrite).ToString() + "\n";
    absl::StatusOr<std::unique_ptr<Journal>> journal = OpenSqliteJournal(file, {Mode::kReadOnly});
    if (!journal.ok()) return text + journal.status().ToString();
    return text + std::to_string(Read(**journal).events.size()) + " events";
  });
  chmod(folder.path().c_str(), 0755);
  chmod(file.c_str(), 0644);
  CHECK_THAT(result, Catch::Matchers::Matches("(.|\n)*PERMISSION_DENIED.*new.db(.|\n)*PERMISSION_DENIED.*run.db(.|\n)*5 events"));
  CHECK(FilesIn(folder.path()) == std::vector<std::string>{"run.db"});
}

TEST_CASE("A closed journal is read without touching anything") {
  const TemporaryFolder folder;
  const fs::path file = folder / "run.db";
  {
    const auto journal = Open(file, Mode::kCreate);
    REQUIRE(journal->Append(RandomEvents(1, 200)).ok());
  }
  const std::string before = Bytes(file);
  {
    const auto reader = Open(file, Mode::kReadOnly);
    CHECK(Same(Read(*reader).events, Expected(200)));
    CHECK(reader->Append(RandomEvents(201, 1)).code() == absl::StatusCode::kFailedPrecondition);
    CHECK(FilesIn(folder.path()) == std::vector<std::string>{"run.db"});
  }
  CHECK(Bytes(file) == before);
}

TEST_CASE("A reader follows a writer, and one that was there first notices it") {
  const TemporaryFolder folder;
  const fs::path file = folder / "run.db";
  {
    const auto journal = Open(file, Mode::kCreate);
    REQUIRE(journal->Append(RandomEvents(1, 50)).ok());
  }
  const auto early = Open(file, Mode::kReadOnly);
  CHECK(Read(*early).events.size() == 50);
  auto writer = Open(file, Mode::kWrite);
  const auto late = Open(file, Mode::kReadOnly);
  for (std::uint64_t i = 50; i < 90; ++i) {
    REQUIRE(writer->Append(RandomEvents(i + 1, 1)).ok());
    REQUIRE(writer->replies().Record("reply " + std::to_string(i), "text").ok());
    CHECK(early->replies().Find("reply " + std::to_string(i)).ok());
  }
  CHECK(Same(Read(*early).events, Expected(90)));
  CHECK(Same(Read(*late).events, Expected(90)));
  writer.reset();
  CHECK(Same(Read(*early).events, Expected(90)));
  CHECK(Same(Read(*late).events, Expected(90)));
}

TEST_CASE("A reader in another process sees a consistent prefix while a writer runs") {
  const TemporaryFolder folder;
  const fs::path file = folder / "run.db";
  const auto writer = Open(file, Mode::kCreate);
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    std::size_t seen = 0;
    int reads = 0;
    std::string failure;
    while (seen < 600 && failure.empty()) {
      absl::StatusOr<std::unique_ptr<Journal>> journal = OpenSqliteJournal(file, {Mode::kReadOnly});
      if (!journal.ok()) {
        failure = journal.status().ToString();
        break;
      }
      std::uint64_t next = 1;
      const absl::Status status = (*journal)->ForEach([&](const Event& event) {
        return EventToJson(event) == EventToJson(RandomEvent(next++)) ? absl::OkStatus() : absl::InternalError("another event");
      });
      if (!status.ok()) failure = status.ToString();
      if (next - 1 < seen) failure = "fewer events than before";
      if ((next - 1) % 3 != 0) failure = "a part of a group";
      seen = next - 1;
      ++reads;
    }
    failure += reads > 1 ? "." : "too few reads";
    if (write(ends[1], failure.data(), failure.size()) < 0) _exit(1);
    _exit(0);
  }
  close(ends[1]);
  for (std::uint64_t i = 0; i < 200; ++i) {
    REQUIRE(writer->Append(RandomEvents(1 + i * 3, 3)).ok());
    std::this_thread::sleep_for(std::chrono::microseconds(500));
  }
  char buffer[512];
  const ssize_t size = read(ends[0], buffer, sizeof buffer);
  close(ends[0]);
  waitpid(child, nullptr, 0);
  CHECK(std::string(buffer, static_cast<std::size_t>(std::max<ssize_t>(size, 0))) == ".");
}

// A writer that is killed at any moment loses nothing that it acknowledged and leaves no part of a group.
TEST_CASE("A killed writer loses nothing that was acknowledged") {
  const TemporaryFolder folder;
  const fs::path file = folder / "run.db";
  Open(file, Mode::kCreate);
  KeyedRandom random(11, RandomStream::kSimulator, 0);
  std::uint64_t known = 0;
  int kills_with_progress = 0;
  for (int round = 0; round < 60; ++round) {
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      close(ends[0]);
      absl::StatusOr<std::unique_ptr<Journal>> journal = OpenSqliteJournal(file, {Mode::kWrite});
      if (!journal.ok()) _exit(1);
      for (std::uint64_t last = known;;) {
        const std::uint64_t group = 1 + last % 5;
        const std::string key = std::to_string(last + group);
        if (!(*journal)->replies().Record(key, "reply " + key).ok()) _exit(2);
        if (!(*journal)->Append(RandomEvents(last + 1, group)).ok()) _exit(3);
        last += group;
        if (write(ends[1], &last, sizeof last) != sizeof last) _exit(4);
      }
    }
    close(ends[1]);
    std::uint64_t acknowledged = known;
    // The first acknowledgement shows that the writer is at work; then it is killed within a few of its commits.
    if (round % 4 != 0) REQUIRE(read(ends[0], &acknowledged, sizeof acknowledged) == sizeof acknowledged);
    std::this_thread::sleep_for(std::chrono::microseconds(random.NextBelow(6000)));
    kill(child, SIGKILL);
    for (std::uint64_t value = 0; read(ends[0], &value, sizeof value) == sizeof value;) acknowledged = value;
    close(ends[0]);
    int status = 0;
    waitpid(child, &status, 0);
    REQUIRE((WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL));

    std::uint64_t count = 0;
    {
      // As `maxkernel status` would, before anyone has cleaned up.
      const auto reader = Open(file, Mode::kReadOnly);
      REQUIRE(reader->ForEach([&](const Event&) { return ++count, absl::OkStatus(); }).ok());
      REQUIRE(count >= acknowledged);
    }
    const auto journal = Open(file, Mode::kWrite);
    count = 0;
    REQUIRE(journal->ForEach([&](const Event& event) {
      ++count;
      if (count <= known) return absl::OkStatus();
      return EventToJson(event) == EventToJson(RandomEvent(count)) ? absl::OkStatus() : absl::InternalError("another event");
    }).ok());
    REQUIRE(count >= acknowledged);
    for (std::uint64_t last = known; last < count;) {
      last += 1 + last % 5;
      REQUIRE(last <= count);
      CHECK(*journal->replies().Find(std::to_string(last)) == "reply " + std::to_string(last));
    }
    if (count > known) ++kills_with_progress;
    known = count;
  }
  CHECK(kills_with_progress >= 45);
}

// What a journal does when a write fails for lack of room, as text: "status of the failed append; events kept; then status after room
// was made; events".
std::string FillUp(const fs::path& file, const std::function<void()>& limit, const std::function<void()>& lift) {
  absl::StatusOr<std::unique_ptr<Journal>> journal = OpenSqliteJournal(file, {Mode::kCreate});
  if (!journal.ok()) return "create: " + journal.status().ToString();
  limit();
  std::uint64_t last = 0;
  absl::Status status;
  while (last < 1'000'000) {
    status = (*journal)->Append(RandomEvents(last + 1, 10));
    if (!status.ok()) break;
    last += 10;
  }
  std::string text = std::string(absl::StatusCodeToString(status.code()));
  const absl::Status reply = (*journal)->replies().Record("key", std::string(1 << 20, 'x'));
  text += "; reply " + std::string(absl::StatusCodeToString(reply.code()));
  text += Read(**journal).events == Expected(last) ? "; kept" : "; lost";
  lift();
  text += "; then " + (*journal)->Append(RandomEvents(last + 1, 10)).ToString();
  text += Read(**journal).events == Expected(last + 10) ? "; kept" : "; lost";
  journal->reset();
  journal = OpenSqliteJournal(file, {Mode::kReadOnly});
  if (!journal.ok()) return text + "; reopen: " + journal.status().ToString();
  return text + (Read(**journal).events == Expected(last + 10) ? "; kept" : "; lost");
}

constexpr char kFilledUp[] = "RESOURCE_EXHAUSTED; reply RESOURCE_EXHAUSTED; kept; then OK; kept; kept";

TEST_CASE("A file-size limit is a full disk: the group is dropped whole and the journal goes on when there is room") {
  const TemporaryFolder folder;
  const std::string result = InChild([&] {
    signal(SIGXFSZ, SIG_IGN);
    rlimit before{};
    getrlimit(RLIMIT_FSIZE, &before);
    return FillUp(
        folder / "run.db",
        [&] {
          const rlimit small{512 << 10, before.rlim_max};
          setrlimit(RLIMIT_FSIZE, &small);
        },
        [&] { setrlimit(RLIMIT_FSIZE, &before); });
  });
  CHECK(result == kFilledUp);
}

TEST_CASE("A full disk is told apart and harms nothing") {
  const TemporaryFolder folder;
  const fs::path disk = folder / "disk";
  fs::create_directory(disk);
  const std::string result = InChild([&]() -> std::string {
    // A mount of the child's own, gone with it.
    if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        mount("none", disk.c_str(), "tmpfs", 0, "size=1m") != 0) {
      return "cannot mount";
    }
    return FillUp(disk / "run.db", [] {}, [&] { mount("none", disk.c_str(), "tmpfs", MS_REMOUNT, "size=64m"); });
  });
  if (result == "cannot mount") {
    WARN("no right to mount a small file system: skipped");
    return;
  }
  CHECK(result == kFilledUp);
}

TEST_CASE("A changed byte anywhere is noticed or harmless, never taken for data") {
  const TemporaryFolder folder;
  const fs::path file = folder / "run.db";
  constexpr std::uint64_t kEvents = 60;
  {
    const auto journal = Open(file, Mode::kCreate);
    REQUIRE(journal->Append(RandomEvents(1, kEvents)).ok());
  }
  const std::string whole = Bytes(file);
  const std::vector<std::string> expected = Expected(kEvents);
  KeyedRandom random(5, RandomStream::kSimulator, 0);
  int noticed = 0;
  for (int i = 0; i < 400; ++i) {
    std::string damaged = whole;
    const std::uint32_t position = random.NextBelow(static_cast<std::uint32_t>(whole.size()));
    damaged[position] = static_cast<char>(damaged[position] ^ (1 + random.NextBelow(255)));
    Write(file, damaged);
    absl::StatusOr<std::unique_ptr<Journal>> journal = OpenSqliteJournal(file, {Mode::kReadOnly});
    INFO("byte " << position);
    if (!journal.ok()) {
      ++noticed;
      continue;
    }
    const Contents contents = Read(**journal);
    if (contents.status.ok()) {
      CHECK(Same(contents.events, expected));
    } else {
      ++noticed;
      INFO(contents.status);
      CHECK(absl::IsDataLoss(contents.status));
    }
  }
  CHECK(noticed > 100);
}

TEST_CASE("A truncated journal is damaged, not shorter") {
  const TemporaryFolder folder;
  const fs::path file = folder / "run.db";
  {
    const auto journal = Open(file, Mode::kCreate);
    REQUIRE(journal->Append(RandomEvents(1, 100)).ok());
  }
  const std::string whole = Bytes(file);
  for (const double part : {0.95, 0.6, 0.3}) {
    Write(file, whole.substr(0, static_cast<std::size_t>(static_cast<double>(whole.size()) * part)));
    for (const Mode mode : {Mode::kReadOnly, Mode::kWrite}) {
      absl::StatusOr<std::unique_ptr<Journal>> journal = OpenSqliteJournal(file, {mode});
      const absl::Status status = journal.ok() ? Read(**journal).status : journal.status();
      INFO(status);
      CHECK(absl::IsDataLoss(status));
    }
  }
}

TEST_CASE("Damage is reported with its place") {
  const TemporaryFolder folder;
  const fs::path file = folder / "run.db";
  const auto damage = [&](const char* sql) {
    fs::remove(file);
    Open(file, Mode::kCreate)->Append(RandomEvents(1, 30)).IgnoreError();
    sqlite3* database = nullptr;
    REQUIRE(sqlite3_open(file.c_str(), &database) == SQLITE_OK);
    REQUIRE(sqlite3_exec(database, sql, nullptr, nullptr, nullptr) == SQLITE_OK);
    sqlite3_close(database);
    const absl::Status status = Read(*Open(file, Mode::kReadOnly)).status;
    CHECK(absl::IsDataLoss(status));
    return std::string(status.message());
  };
  CHECK_THAT(damage("DELETE FROM event WHERE sequence = 7"), Contains("event 7: is missing; the next one is 8"));
  CHECK_THAT(damage("UPDATE event SET json = json || ' ' WHERE sequence = 9"), Contains("event 9: its checksum does not fit"));
  CHECK_THAT(damage("DELETE FROM candidate"), Contains("candidate") && Contains("is missing"));
  CHECK_THAT(damage("UPDATE candidate SET text = text || 'x'"), Contains("its sources have another hash"));
}

}  // namespace
}  // namespace maxkernel
