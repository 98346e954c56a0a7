#ifndef MAXKERNEL_LIB_STORE_SQLITE_DATABASE_H_
#define MAXKERNEL_LIB_STORE_SQLITE_DATABASE_H_

#include <sqlite3.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace maxkernel::store {

// The last error of a connection as a Status, to be called right after the failure: `attempt` says what was tried. Damage is kDataLoss, a full disk kResourceExhausted,
// missing rights kPermissionDenied, a missing file kNotFound, a database held by another process kUnavailable.
absl::Status SqliteError(sqlite3* connection, int code, std::string_view attempt);

// A prepared statement. Step() and the column accessors as in SQLite; Reset() before each use.
// Thread-compatible.
class Statement {
 public:
  static absl::StatusOr<Statement> Prepare(sqlite3* connection, std::string_view sql);

  // Forgets bindings and the running query.
  void Reset();
  void Bind(int parameter, std::int64_t value) { sqlite3_bind_int64(statement_.get(), parameter, value); }
  // `text` must live until the next Reset().
  void Bind(int parameter, std::string_view text);

  // True: there is a row. False: done.
  absl::StatusOr<bool> Step(std::string_view attempt);
  // For a statement without rows.
  absl::Status Run(std::string_view attempt);

  std::int64_t Integer(int column) const { return sqlite3_column_int64(statement_.get(), column); }
  // Valid until the next Step() or Reset().
  std::string_view Text(int column) const;

 private:
  struct Finalizer {
    void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
  };
  explicit Statement(sqlite3_stmt* statement) : statement_(statement) {}

  std::unique_ptr<sqlite3_stmt, Finalizer> statement_;
};

struct ConnectionCloser {
  void operator()(sqlite3* connection) const { sqlite3_close_v2(connection); }
};
using Connection = std::unique_ptr<sqlite3, ConnectionCloser>;

// `uri` as in https://www.sqlite.org/uri.html; `flags` are those of sqlite3_open_v2.
absl::StatusOr<Connection> OpenConnection(const std::string& uri, int flags, std::string_view attempt);

// Statements without results.
absl::Status Execute(sqlite3* connection, const std::string& sql, std::string_view attempt);

// The one integer that a query gives.
absl::StatusOr<std::int64_t> QueryInteger(sqlite3* connection, std::string_view sql, std::string_view attempt);

// "file:" and the percent-encoded path.
std::string FileUri(std::string_view path);

// Rolls back unless committed.
class Transaction {
 public:
  static absl::StatusOr<Transaction> Begin(sqlite3* connection, std::string_view attempt);
  Transaction(Transaction&& other) noexcept : connection_(std::exchange(other.connection_, nullptr)) {}
  Transaction& operator=(Transaction&&) = delete;
  ~Transaction();

  absl::Status Commit(std::string_view attempt);

 private:
  explicit Transaction(sqlite3* connection) : connection_(connection) {}

  sqlite3* connection_;
};

}  // namespace maxkernel::store

#endif  // MAXKERNEL_LIB_STORE_SQLITE_DATABASE_H_
