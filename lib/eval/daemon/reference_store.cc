#include "lib/eval/daemon/reference_store.h"

#include <algorithm>
#include <cerrno>
#include <vector>

#include "absl/strings/str_cat.h"
#include "lib/eval/daemon/file_descriptor.h"
#include "lib/eval/daemon/state_folder.h"

namespace maxkernel::eval {
namespace {

namespace fs = std::filesystem;

std::uint64_t SizeOf(const fs::path& folder) {
  std::uint64_t bytes = 0;
  std::error_code error;
  for (fs::recursive_directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    std::error_code ignored;
    if (entry->is_regular_file(ignored)) bytes += entry->file_size(ignored);
  }
  return bytes;
}

}  // namespace

ReferenceStore::ReferenceStore(fs::path root, std::uint64_t limit_bytes) : root_(std::move(root)), limit_bytes_(limit_bytes) {
  // Folders that a killed daemon was still filling.
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(root_, error)) {
    if (entry.path().extension() == ".new") RemoveTree(entry.path());
  }
}

absl::StatusOr<ReferenceStore::Pin> ReferenceStore::Get(const std::string& key, std::stop_token stop, const Compute& compute) {
  std::stop_callback wake(stop, [this] {
    internal::MutexLock lock(mutex_);
    changed_.NotifyAll();
  });
  std::shared_ptr<Computation> computation;
  {
    internal::MutexLock lock(mutex_);
    while (true) {
      if (std::optional<Pin> pin = Find(key)) return std::move(*pin);
      const auto found = running_.find(key);
      if (found == running_.end()) break;
      const std::shared_ptr<Computation> other = found->second;
      changed_.Wait(mutex_, [&] { return other->finished || stop.stop_requested(); });
      if (stop.stop_requested()) return absl::CancelledError("cancelled while waiting for reference outputs");
      // The one who computed may have been cancelled, which is nobody else's affair.
      if (!other->status.ok() && !absl::IsCancelled(other->status)) return other->status;
    }
    computation = std::make_shared<Computation>();
    running_[key] = computation;
  }
  const absl::Status status = ComputeAndKeep(key, compute);
  internal::MutexLock lock(mutex_);
  computation->status = status;
  computation->finished = true;
  running_.erase(key);
  changed_.NotifyAll();
  if (!status.ok()) return status;
  std::optional<Pin> pin = Find(key);
  if (!pin.has_value()) return absl::UnavailableError(absl::StrCat("keep reference outputs: ", key, " vanished"));
  Trim();
  return std::move(*pin);
}

absl::Status ReferenceStore::ComputeAndKeep(const std::string& key, const Compute& compute) {
  const fs::path unfinished = root_ / (key + ".new");
  RemoveTree(unfinished);
  if (absl::Status status = MakeFolder(unfinished); !status.ok()) return status;
  absl::Status status = compute(unfinished);
  if (status.ok()) status = SyncTree(unfinished);
  if (!status.ok()) {
    RemoveTree(unfinished);
    return status;
  }
  std::error_code error;
  fs::rename(unfinished, root_ / key, error);
  if (error) return ErrnoStatus(absl::StrCat("keep reference outputs in ", (root_ / key).string()), error.value());
  return absl::OkStatus();
}

std::optional<ReferenceStore::Pin> ReferenceStore::Find(const std::string& key) {
  if (Pin pin = pins_[key].lock()) return pin;
  const fs::path folder = root_ / key;
  std::error_code error;
  if (!fs::is_directory(folder, error)) return std::nullopt;
  fs::last_write_time(folder, fs::file_time_type::clock::now(), error);
  Pin pin = std::make_shared<const fs::path>(folder);
  pins_[key] = pin;
  return pin;
}

void ReferenceStore::Trim() {
  struct Kept {
    fs::path folder;
    fs::file_time_type used;
    std::uint64_t bytes;
  };
  std::vector<Kept> kept;
  std::uint64_t total = 0;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(root_, error)) {
    if (entry.path().extension() == ".new") continue;
    kept.push_back({entry.path(), entry.last_write_time(error), SizeOf(entry.path())});
    total += kept.back().bytes;
  }
  std::sort(kept.begin(), kept.end(), [](const Kept& a, const Kept& b) { return a.used < b.used; });
  for (const Kept& entry : kept) {
    if (total <= limit_bytes_) return;
    const auto pinned = pins_.find(entry.folder.filename().string());
    if (pinned != pins_.end() && !pinned->second.expired()) continue;
    RemoveTree(entry.folder);
    total -= entry.bytes;
  }
}

}  // namespace maxkernel::eval
