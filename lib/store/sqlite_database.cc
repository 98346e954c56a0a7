#include "lib/store/sqlite_database.h"

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "maxkernel/internal/strings.h"

namespace maxkernel::store {
namespace {

constexpr int kBusyTimeoutMilliseconds = 5000;

bool IsFull(int system_error) { return system_error == ENOSPC || system_error == EDQUOT || system_error == EFBIG; }
bool IsForbidden(int system_error) { return system_error == EACCES || system_error == EPERM || system_error == EROFS; }

absl::StatusCode CodeOf(int code, int system_error) {
  switch (code & 0xff) {
    case SQLITE_FULL:
    case SQLITE_NOMEM:
      return absl::StatusCode::kResourceExhausted;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return absl::StatusCode::kDataLoss;
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
      return absl::StatusCode::kPermissionDenied;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return absl::StatusCode::kUnavailable;
    case SQLITE_CANTOPEN:
    case SQLITE_IOERR:
      if (IsFull(system_error)) return absl::StatusCode::kResourceExhausted;
      if (IsForbidden(system_error)) return absl::StatusCode::kPermissionDenied;
      if (code == SQLITE_IOERR_SHORT_READ || code == SQLITE_IOERR_CORRUPTFS) return absl::StatusCode::kDataLoss;
      if ((code & 0xff) == SQLITE_CANTOPEN && system_error == ENOENT) return absl::StatusCode::kNotFound;
      return absl::StatusCode::kUnavailable;
    default:
      return absl::StatusCode::kInternal;
  }
}

}  // namespace

absl::Status SqliteError(sqlite3* connection, int code, std::string_view attempt) {
  // SQLite keeps the system's error of some failures only; of a refused write it leaves it in errno.
  const int left = errno;
  int system_error = connection == nullptr ? 0 : sqlite3_system_errno(connection);
  if (system_error == 0 && (code & 0xff) == SQLITE_IOERR) system_error = left;
  std::string message = absl::StrCat(internal::ToAbsl(attempt), ": ", sqlite3_errstr(code));
  if (connection != nullptr) {
    const std::string detail = sqlite3_errmsg(connection);
    if (detail != sqlite3_errstr(code)) absl::StrAppend(&message, " (", detail, ")");
  }
  if (system_error != 0) absl::StrAppend(&message, ": ", std::strerror(system_error));
  return absl::Status(CodeOf(code, system_error), message);
}

absl::StatusOr<Statement> Statement::Prepare(sqlite3* connection, std::string_view sql) {
  sqlite3_stmt* statement = nullptr;
  const int code = sqlite3_prepare_v3(connection, sql.data(), static_cast<int>(sql.size()), SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
  if (code != SQLITE_OK) return SqliteError(connection, code, absl::StrCat("preparing \"", internal::ToAbsl(sql), "\""));
  return Statement(statement);
}

void Statement::Reset() {
  sqlite3_reset(statement_.get());
  sqlite3_clear_bindings(statement_.get());
}

void Statement::Bind(int parameter, std::string_view text) {
  sqlite3_bind_text64(statement_.get(), parameter, text.data() == nullptr ? "" : text.data(), text.size(), SQLITE_STATIC, SQLITE_UTF8);
}

absl::StatusOr<bool> Statement::Step(std::string_view attempt) {
  errno = 0;
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  absl::Status error = SqliteError(sqlite3_db_handle(statement_.get()), code, attempt);
  Reset();
  return error;
}

absl::Status Statement::Run(std::string_view attempt) {
  const absl::StatusOr<bool> row = Step(attempt);
  if (!row.ok()) return row.status();
  Reset();
  return absl::OkStatus();
}

std::string_view Statement::Text(int column) const {
  const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement_.get(), column));
  if (text == nullptr) return {};
  return {text, static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column))};
}

absl::StatusOr<Connection> OpenConnection(const std::string& uri, int flags, std::string_view attempt) {
  sqlite3* raw = nullptr;
  const int code = sqlite3_open_v2(uri.c_str(), &raw, flags | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, nullptr);
  Connection connection(raw);
  if (code != SQLITE_OK) return SqliteError(raw, code, attempt);
  sqlite3_busy_timeout(raw, kBusyTimeoutMilliseconds);
  return connection;
}

absl::Status Execute(sqlite3* connection, const std::string& sql, std::string_view attempt) {
  errno = 0;
  const int code = sqlite3_exec(connection, sql.c_str(), nullptr, nullptr, nullptr);
  return code == SQLITE_OK ? absl::OkStatus() : SqliteError(connection, code, attempt);
}

absl::StatusOr<std::int64_t> QueryInteger(sqlite3* connection, std::string_view sql, std::string_view attempt) {
  absl::StatusOr<Statement> statement = Statement::Prepare(connection, sql);
  if (!statement.ok()) {
    return absl::Status(statement.status().code(), absl::StrCat(internal::ToAbsl(attempt), ": ", statement.status().message()));
  }
  const absl::StatusOr<bool> row = statement->Step(attempt);
  if (!row.ok()) return row.status();
  return *row ? statement->Integer(0) : 0;
}

std::string FileUri(std::string_view path) {
  constexpr char kHex[] = "0123456789ABCDEF";
  std::string uri = "file:";
  for (const char c : path) {
    if (c == '%' || c == '?' || c == '#') {
      const auto byte = static_cast<unsigned char>(c);
      uri += {'%', kHex[byte >> 4], kHex[byte & 15]};
    } else {
      uri.push_back(c);
    }
  }
  return uri;
}

absl::StatusOr<Transaction> Transaction::Begin(sqlite3* connection, std::string_view attempt) {
  if (absl::Status status = Execute(connection, "BEGIN IMMEDIATE", attempt); !status.ok()) return status;
  return Transaction(connection);
}

Transaction::~Transaction() {
  // Some errors have rolled back already.
  if (connection_ != nullptr && sqlite3_get_autocommit(connection_) == 0) {
    sqlite3_exec(connection_, "ROLLBACK", nullptr, nullptr, nullptr);
  }
}

absl::Status Transaction::Commit(std::string_view attempt) {
  if (absl::Status status = Execute(connection_, "COMMIT", attempt); !status.ok()) return status;
  connection_ = nullptr;
  return absl::OkStatus();
}

}  // namespace maxkernel::store
