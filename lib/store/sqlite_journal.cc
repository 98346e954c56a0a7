#include "maxkernel/store/sqlite_journal.h"

#include <sys/stat.h>

#include <cerrno>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "lib/store/sqlite_database.h"
#include "lib/store/writer_lock.h"
#include "maxkernel/internal/mutex.h"
#include "maxkernel/internal/strings.h"
#include "maxkernel/store/event_json.h"

namespace maxkernel {
namespace store {
namespace {

using Mode = SqliteJournalOptions::Mode;
using SharedCandidate = std::shared_ptr<const Candidate>;

constexpr std::int64_t kApplicationId = 0x6d6b726a;  // "mkrj"
constexpr std::int64_t kSchemaVersion = 1;

// Rollback mode until the schema stands, so that a crash leaves either an empty file or a whole journal.
constexpr char kCreateSchema[] =
    "PRAGMA page_size=8192;"
    "BEGIN IMMEDIATE;"
    "PRAGMA application_id=1835758186;"
    "PRAGMA user_version=1;"
    "CREATE TABLE event(sequence INTEGER PRIMARY KEY, json TEXT NOT NULL, checksum INTEGER NOT NULL) STRICT;"
    "CREATE TABLE candidate(id INTEGER PRIMARY KEY, content_hash TEXT NOT NULL, position INTEGER NOT NULL, path TEXT NOT NULL,"
    " text TEXT NOT NULL, UNIQUE(content_hash, position)) STRICT;"
    "CREATE TABLE reply(id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, reply TEXT NOT NULL, checksum INTEGER NOT NULL) STRICT;"
    "CREATE TABLE extent(id INTEGER PRIMARY KEY CHECK(id = 1), events INTEGER NOT NULL) STRICT;"
    "INSERT INTO extent VALUES(1, 0);"
    "COMMIT;";
static_assert(kApplicationId == 1835758186 && kSchemaVersion == 1);

constexpr std::size_t kBatchRows = 1024;
constexpr std::size_t kBatchBytes = std::size_t{4} << 20;

// FNV-1a, 64 bits. SQLite notices a damaged page structure but not a changed byte inside a text.
std::int64_t Checksum(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  return static_cast<std::int64_t>(hash);
}

// What tells whether a closed journal has been touched since.
struct FileState {
  bool has_log = false;
  ino_t inode = 0;
  off_t size = 0;
  timespec modified{};

  bool operator==(const FileState& other) const {
    return has_log == other.has_log && inode == other.inode && size == other.size && modified.tv_sec == other.modified.tv_sec &&
           modified.tv_nsec == other.modified.tv_nsec;
  }
};

FileState StateOf(const std::string& file) {
  FileState state;
  struct stat database {};
  struct stat log {};
  state.has_log = stat((file + "-wal").c_str(), &log) == 0;
  if (stat(file.c_str(), &database) == 0) {
    state.inode = database.st_ino;
    state.size = database.st_size;
    state.modified = database.st_mtim;
  }
  return state;
}

struct EventRow {
  std::uint64_t sequence = 0;
  std::int64_t checksum = 0;
  std::string json;
};

class SqliteJournal final : public Journal, private ReplyLog {
 public:
  SqliteJournal(std::string file, Mode mode, std::optional<WriterLock> lock)
      : file_(std::move(file)), mode_(mode), lock_(std::move(lock)) {}

  absl::Status Open() {
    internal::MutexLock lock(mutex_);
    return mode_ == Mode::kReadOnly ? OpenToRead() : OpenToWrite();
  }

  absl::Status Append(std::span<const Event> events) override {
    internal::MutexLock lock(mutex_);
    if (mode_ == Mode::kReadOnly) return ReadOnlyError();
    if (absl::Status status = CheckSequences(events); !status.ok()) return status;
    const std::string attempt = absl::StrCat("appending ", events.size(), " events to journal ", file_);
    absl::StatusOr<Transaction> transaction = Transaction::Begin(connection_.get(), attempt);
    if (!transaction.ok()) return transaction.status();
    for (const Event& event : events) {
      if (absl::Status status = Insert(event, attempt); !status.ok()) return status;
    }
    Statement& update = statements_->update_extent;
    update.Reset();
    update.Bind(1, static_cast<std::int64_t>(last_sequence_ + events.size()));
    if (absl::Status status = update.Run(attempt); !status.ok()) return status;
    if (absl::Status status = transaction->Commit(attempt); !status.ok()) return status;
    last_sequence_ += events.size();
    return absl::OkStatus();
  }

  absl::Status ForEach(const std::function<absl::Status(const Event&)>& visit) override {
    // What there is now: a writer may be faster than a reader.
    const absl::StatusOr<std::uint64_t> last = LastSequence();
    if (!last.ok()) return last.status();
    std::uint64_t next = 1;
    while (next <= *last) {
      absl::StatusOr<std::vector<EventRow>> rows = ReadBatch(next, *last);
      if (!rows.ok()) return rows.status();
      if (rows->empty()) return Damaged(next, "is missing");
      for (const EventRow& row : *rows) {
        absl::StatusOr<Event> event = Decode(row, next);
        if (!event.ok()) return event.status();
        if (absl::Status status = visit(*event); !status.ok()) return status;
        ++next;
      }
    }
    return absl::OkStatus();
  }

  ReplyLog& replies() override { return *this; }

 private:
  struct Statements {
    Statement insert_event;
    Statement insert_candidate;
    Statement insert_reply;
    Statement update_extent;
    Statement select_extent;
    Statement select_events;
    Statement select_candidate;
    Statement select_reply;
  };

  absl::StatusOr<std::string> Find(std::string_view key) override {
    internal::MutexLock lock(mutex_);
    std::string reply;
    absl::Status status = Read([&]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return FindReply(key, reply); });
    if (!status.ok()) return status;
    return reply;
  }

  absl::Status Record(std::string_view key, std::string_view reply) override {
    internal::MutexLock lock(mutex_);
    if (mode_ == Mode::kReadOnly) return ReadOnlyError();
    const std::string attempt = absl::StrCat("recording a reply in journal ", file_);
    Statement& insert = statements_->insert_reply;
    insert.Reset();
    insert.Bind(1, key);
    insert.Bind(2, reply);
    insert.Bind(3, Checksum(reply));
    return insert.Run(attempt);
  }

  absl::Status ReadOnlyError() const {
    return absl::FailedPreconditionError(absl::StrCat("journal ", file_, " was opened to read"));
  }

  // --- opening

  absl::Status OpenToWrite() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const int create = mode_ == Mode::kCreate ? SQLITE_OPEN_CREATE : 0;
    const FileState state = StateOf(file_);
    const std::string attempt = absl::StrCat("opening journal ", file_);
    absl::StatusOr<Connection> connection = OpenConnection(FileUri(file_), SQLITE_OPEN_READWRITE | create, attempt);
    if (!connection.ok()) return connection.status();
    connection_ = std::move(*connection);
    if (sqlite3_db_readonly(connection_.get(), "main") == 1) {
      return absl::PermissionDeniedError(absl::StrCat(attempt, ": the file may not be written"));
    }
    if (mode_ == Mode::kCreate) {
      if (absl::Status status = Execute(connection_.get(), kCreateSchema, absl::StrCat("creating journal ", file_)); !status.ok()) {
        return status;
      }
    }
    if (absl::Status status = CheckIdentity(attempt); !status.ok()) return status;
    if (absl::Status status = CheckLength(state, attempt); !status.ok()) return status;
    const absl::Status status = Execute(connection_.get(),
                                        "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA cell_size_check=ON;"
                                        "PRAGMA journal_size_limit=67108864;",
                                        attempt);
    if (!status.ok()) return status;
    return Prepare(attempt);
  }

  absl::Status OpenToRead() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const std::string attempt = absl::StrCat("opening journal ", file_, " to read");
    // A journal without a log is closed. Reading one in the ordinary way would make side files beside it, which nobody would remove and
    // which a read-only file system refuses.
    opened_state_ = StateOf(file_);
    const std::string uri = FileUri(file_) + (opened_state_.has_log ? "?mode=ro" : "?mode=ro&immutable=1");
    statements_.reset();
    absl::StatusOr<Connection> connection = OpenConnection(uri, SQLITE_OPEN_READONLY, attempt);
    if (!connection.ok()) return connection.status();
    connection_ = std::move(*connection);
    if (absl::Status status = CheckIdentity(attempt); !status.ok()) return status;
    if (absl::Status status = CheckLength(opened_state_, attempt); !status.ok()) return status;
    return Prepare(attempt);
  }

  absl::Status CheckIdentity(const std::string& attempt) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const auto foreign = [&](std::string_view what) {
      return absl::InvalidArgumentError(absl::StrCat(file_, " is not a maxkernel journal: ", internal::ToAbsl(what)));
    };
    const absl::StatusOr<std::int64_t> application = QueryInteger(connection_.get(), "PRAGMA application_id", attempt);
    if (sqlite3_errcode(connection_.get()) == SQLITE_NOTADB) return foreign("it is not an SQLite database");
    if (!application.ok()) return application.status();
    if (*application != kApplicationId) {
      const absl::StatusOr<std::int64_t> tables = QueryInteger(connection_.get(), "SELECT count(*) FROM sqlite_schema", attempt);
      if (!tables.ok()) return tables.status();
      return foreign(*tables == 0 ? "it is empty" : "it is the SQLite database of another program");
    }
    const absl::StatusOr<std::int64_t> version = QueryInteger(connection_.get(), "PRAGMA user_version", attempt);
    if (!version.ok()) return version.status();
    if (*version > kSchemaVersion) {
      return absl::FailedPreconditionError(absl::StrCat("journal ", file_, " has schema version ", *version, "; this program reads up to ",
                                                        kSchemaVersion, ": use the version of maxkernel that wrote it, or a newer one"));
    }
    if (*version < 1) return absl::DataLossError(absl::StrCat("journal ", file_, " is damaged: it has schema version ", *version));
    return absl::OkStatus();
  }

  // SQLite compares a file's length in pages with what its header says, but takes a part of a page for a whole one that ends in zeros.
  absl::Status CheckLength(const FileState& state, const std::string& attempt) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const absl::StatusOr<std::int64_t> page_size = QueryInteger(connection_.get(), "PRAGMA page_size", attempt);
    if (!page_size.ok()) return page_size.status();
    if (state.has_log || *page_size <= 0 || state.size % *page_size == 0) return absl::OkStatus();
    return absl::DataLossError(absl::StrCat("journal ", file_, " is truncated: ", state.size, " bytes are no whole number of pages"));
  }

  absl::Status Prepare(const std::string& attempt) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    std::vector<Statement> prepared;
    for (const char* sql : {"INSERT INTO event(sequence, json, checksum) VALUES(?1, ?2, ?3)",
                            "INSERT OR IGNORE INTO candidate(content_hash, position, path, text) VALUES(?1, ?2, ?3, ?4)",
                            "INSERT OR IGNORE INTO reply(key, reply, checksum) VALUES(?1, ?2, ?3)",
                            "UPDATE extent SET events = ?1",
                            "SELECT events, (SELECT ifnull(max(sequence), 0) FROM event) FROM extent",
                            "SELECT sequence, json, checksum FROM event WHERE sequence BETWEEN ?1 AND ?2 ORDER BY sequence",
                            "SELECT path, text FROM candidate WHERE content_hash = ?1 ORDER BY position",
                            "SELECT reply, checksum FROM reply WHERE key = ?1"}) {
      absl::StatusOr<Statement> statement = Statement::Prepare(connection_.get(), sql);
      if (!statement.ok()) {
        // The version fits, so the tables must be there.
        const bool schema = statement.status().code() == absl::StatusCode::kInternal;
        return absl::Status(schema ? absl::StatusCode::kDataLoss : statement.status().code(),
                            absl::StrCat(attempt, ": ", statement.status().message()));
      }
      prepared.push_back(*std::move(statement));
    }
    statements_.emplace(Statements{std::move(prepared[0]), std::move(prepared[1]), std::move(prepared[2]), std::move(prepared[3]),
                                   std::move(prepared[4]), std::move(prepared[5]), std::move(prepared[6]), std::move(prepared[7])});
    return ReadLastSequence();
  }

  absl::Status ReadLastSequence() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    Statement& select = statements_->select_extent;
    select.Reset();
    const absl::StatusOr<bool> row = select.Step(absl::StrCat("reading journal ", file_));
    if (!row.ok()) return row.status();
    const std::int64_t counted = *row ? select.Integer(0) : -1;
    const std::int64_t greatest = *row ? select.Integer(1) : -1;
    select.Reset();
    if (counted < 0 || counted != greatest) {
      return absl::DataLossError(absl::StrCat("journal ", file_, " is damaged: it should hold ", counted, " events; the last one is ", greatest));
    }
    last_sequence_ = static_cast<std::uint64_t>(counted);
    return absl::OkStatus();
  }

  // --- reading

  // Runs a read. If the journal was closed when it was opened and a writer has come since, what was read may be torn: it is opened anew,
  // in the way that lives with a writer, and read again.
  template <typename Function>
  absl::Status Read(Function function) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    while (true) {
      const absl::Status status = function();
      const bool closed = mode_ == Mode::kReadOnly && !opened_state_.has_log;
      if (!closed || StateOf(file_) == opened_state_) return status;
      if (absl::Status reopened = OpenToRead(); !reopened.ok()) return reopened;
    }
  }

  absl::StatusOr<std::uint64_t> LastSequence() {
    internal::MutexLock lock(mutex_);
    absl::Status status = Read([&]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return ReadLastSequence(); });
    if (!status.ok()) return status;
    return last_sequence_;
  }

  absl::StatusOr<std::vector<EventRow>> ReadBatch(std::uint64_t first, std::uint64_t last) {
    internal::MutexLock lock(mutex_);
    std::vector<EventRow> rows;
    absl::Status status = Read([&]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
      rows.clear();
      return SelectEvents(first, last, rows);
    });
    if (!status.ok()) return status;
    return rows;
  }

  // In batches, so that a slow visitor does not keep a writer from shortening its log.
  absl::Status SelectEvents(std::uint64_t first, std::uint64_t last, std::vector<EventRow>& rows) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const std::string attempt = absl::StrCat("reading journal ", file_, " from event ", first);
    Statement& select = statements_->select_events;
    select.Reset();
    select.Bind(1, static_cast<std::int64_t>(first));
    select.Bind(2, static_cast<std::int64_t>(last));
    std::size_t bytes = 0;
    while (rows.size() < kBatchRows && bytes < kBatchBytes) {
      const absl::StatusOr<bool> row = select.Step(attempt);
      if (!row.ok()) return row.status();
      if (!*row) break;
      rows.push_back({static_cast<std::uint64_t>(select.Integer(0)), select.Integer(2), std::string(select.Text(1))});
      bytes += rows.back().json.size();
    }
    select.Reset();
    return absl::OkStatus();
  }

  absl::Status Damaged(std::uint64_t sequence, std::string_view what) const {
    return absl::DataLossError(absl::StrCat("journal ", file_, ", event ", sequence, ": ", internal::ToAbsl(what)));
  }

  absl::StatusOr<Event> Decode(const EventRow& row, std::uint64_t expected) {
    if (row.sequence != expected) return Damaged(expected, absl::StrCat("is missing; the next one is ", row.sequence));
    if (Checksum(row.json) != row.checksum) return Damaged(expected, "its checksum does not fit its text");
    absl::StatusOr<Event> event = EventFromJson(row.json, [this](const std::string& hash) { return FindCandidate(hash); });
    if (event.ok()) {
      if (ToNumber(event->sequence) != expected) return Damaged(expected, absl::StrCat("says that it is event ", ToNumber(event->sequence)));
      return event;
    }
    const std::string message = std::string(event.status().message());
    if (absl::IsInvalidArgument(event.status())) return Damaged(expected, message);
    return absl::Status(event.status().code(), absl::StrCat("journal ", file_, ", event ", expected, ": ", message));
  }

  absl::StatusOr<SharedCandidate> FindCandidate(const std::string& hash) {
    internal::MutexLock lock(mutex_);
    std::vector<SourceFile> files;
    absl::Status status = Read([&]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
      files.clear();
      return SelectCandidate(hash, files);
    });
    if (!status.ok()) return status;
    if (files.empty()) return absl::DataLossError(absl::StrCat("candidate ", hash, " is missing"));
    absl::StatusOr<Candidate> candidate = Candidate::Create(std::move(files));
    if (!candidate.ok() || candidate->content_hash() != hash) {
      return absl::DataLossError(absl::StrCat("candidate ", hash, " is damaged: its sources have another hash"));
    }
    return std::make_shared<const Candidate>(*std::move(candidate));
  }

  absl::Status SelectCandidate(const std::string& hash, std::vector<SourceFile>& files) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    Statement& select = statements_->select_candidate;
    select.Reset();
    select.Bind(1, hash);
    while (true) {
      const absl::StatusOr<bool> row = select.Step("reading its sources");
      if (!row.ok()) return row.status();
      if (!*row) break;
      files.push_back({std::string(select.Text(0)), std::string(select.Text(1))});
    }
    select.Reset();
    return absl::OkStatus();
  }

  absl::Status FindReply(std::string_view key, std::string& reply) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    Statement& select = statements_->select_reply;
    select.Reset();
    select.Bind(1, key);
    const absl::StatusOr<bool> row = select.Step(absl::StrCat("looking for a reply in journal ", file_));
    if (!row.ok()) return row.status();
    if (!*row) return absl::NotFoundError(absl::StrCat("no reply under '", internal::ToAbsl(key), "'"));
    reply = std::string(select.Text(0));
    const std::int64_t checksum = select.Integer(1);
    select.Reset();
    if (Checksum(reply) == checksum) return absl::OkStatus();
    return absl::DataLossError(
        absl::StrCat("journal ", file_, ", reply '", internal::ToAbsl(key), "': its checksum does not fit its text"));
  }

  // --- writing

  absl::Status CheckSequences(std::span<const Event> events) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    std::uint64_t expected = last_sequence_ + 1;
    for (const Event& event : events) {
      if (ToNumber(event.sequence) != expected) {
        return absl::InvalidArgumentError(
            absl::StrCat("journal: event has sequence ", ToNumber(event.sequence), "; expected ", expected));
      }
      ++expected;
    }
    return absl::OkStatus();
  }

  absl::Status Insert(const Event& event, const std::string& attempt) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (const auto* added = std::get_if<NodeAdded>(&event.body); added != nullptr && added->candidate != nullptr) {
      if (absl::Status status = InsertCandidate(*added->candidate, attempt); !status.ok()) return status;
    }
    const std::string json = EventToJson(event);
    Statement& insert = statements_->insert_event;
    insert.Reset();
    insert.Bind(1, static_cast<std::int64_t>(ToNumber(event.sequence)));
    insert.Bind(2, json);
    insert.Bind(3, Checksum(json));
    return insert.Run(attempt);
  }

  absl::Status InsertCandidate(const Candidate& candidate, const std::string& attempt) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    Statement& insert = statements_->insert_candidate;
    std::int64_t position = 0;
    for (const SourceFile& file : candidate.files()) {
      insert.Reset();
      insert.Bind(1, candidate.content_hash());
      insert.Bind(2, position++);
      insert.Bind(3, file.path);
      insert.Bind(4, file.text);
      if (absl::Status status = insert.Run(attempt); !status.ok()) return status;
    }
    return absl::OkStatus();
  }

  const std::string file_;
  const Mode mode_;
  // Released last, after the connection is closed.
  std::optional<WriterLock> lock_;
  internal::Mutex mutex_;
  Connection connection_ ABSL_GUARDED_BY(mutex_);
  std::optional<Statements> statements_ ABSL_GUARDED_BY(mutex_);
  std::uint64_t last_sequence_ ABSL_GUARDED_BY(mutex_) = 0;
  FileState opened_state_ ABSL_GUARDED_BY(mutex_);
};

// What can be said about the file before SQLite sees it.
absl::Status CheckFile(const std::string& file, Mode mode) {
  struct stat found {};
  if (stat(file.c_str(), &found) != 0) {
    if (errno == ENOENT && mode == Mode::kCreate) return absl::OkStatus();
    return SystemError(errno, absl::StrCat("opening journal ", file));
  }
  if (S_ISDIR(found.st_mode)) return absl::InvalidArgumentError(absl::StrCat(file, " is a folder, not a maxkernel journal"));
  // An empty file is what a crash leaves before the schema stands.
  if (mode == Mode::kCreate && found.st_size > 0) {
    return absl::AlreadyExistsError(absl::StrCat("creating journal ", file, ": there is a file of this name"));
  }
  return absl::OkStatus();
}

}  // namespace
}  // namespace store

absl::StatusOr<std::unique_ptr<Journal>> OpenSqliteJournal(const std::filesystem::path& file, const SqliteJournalOptions& options) {
  const std::string name = file.string();
  if (absl::Status status = store::CheckFile(name, options.mode); !status.ok()) return status;
  std::optional<store::WriterLock> lock;
  if (options.mode != SqliteJournalOptions::Mode::kReadOnly) {
    absl::StatusOr<store::WriterLock> taken = store::WriterLock::Take(file);
    if (!taken.ok()) return taken.status();
    lock.emplace(*std::move(taken));
    // Again: another process may have made it meanwhile.
    if (absl::Status status = store::CheckFile(name, options.mode); !status.ok()) return status;
  }
  auto journal = std::make_unique<store::SqliteJournal>(name, options.mode, std::move(lock));
  if (absl::Status status = journal->Open(); !status.ok()) return status;
  return journal;
}

}  // namespace maxkernel
