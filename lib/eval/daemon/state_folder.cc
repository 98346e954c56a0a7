#include "lib/eval/daemon/state_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "maxkernel/internal/strings.h"

namespace maxkernel::eval {
namespace {

namespace fs = std::filesystem;

absl::Status SyncPath(const fs::path& path, int flags) {
  FileDescriptor descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | flags));
  if (!descriptor.valid() || ::fsync(descriptor.get()) != 0) return ErrnoStatus(absl::StrCat("sync ", path.string()), errno);
  return absl::OkStatus();
}

}  // namespace

ScratchFolder::~ScratchFolder() { RemoveTree(path_); }

absl::StatusOr<fs::path> ScratchFolder::Make(std::string_view name) const {
  const fs::path folder = path_ / name;
  if (absl::Status status = MakeFolder(folder); !status.ok()) return status;
  return folder;
}

absl::StatusOr<std::unique_ptr<StateFolder>> StateFolder::Open(const fs::path& path) {
  if (absl::Status status = MakeFolder(path); !status.ok()) return status;
  const fs::path canonical = fs::canonical(path);
  const fs::path lock_file = canonical / "lock";
  FileDescriptor lock(::open(lock_file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!lock.valid()) return ErrnoStatus(absl::StrCat("open ", lock_file.string()), errno);
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    return absl::FailedPreconditionError(absl::StrCat("lock the state folder ", canonical.string(),
                                                      ": another daemon uses it; give each daemon a folder of its own"));
  }
  std::unique_ptr<StateFolder> state(new StateFolder(canonical, std::move(lock)));
  RemoveTree(canonical / "scratch");
  for (const fs::path& folder : {canonical / "scratch", state->results(), state->references()}) {
    if (absl::Status status = MakeFolder(folder); !status.ok()) return status;
  }
  return state;
}

absl::StatusOr<std::unique_ptr<ScratchFolder>> StateFolder::MakeScratch() {
  const fs::path folder = path_ / "scratch" / absl::StrCat(next_scratch_.fetch_add(1));
  if (absl::Status status = MakeFolder(folder); !status.ok()) return status;
  return std::make_unique<ScratchFolder>(folder);
}

absl::Status MakeFolder(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (!error) fs::permissions(path, fs::perms::owner_all, error);
  if (error) return ErrnoStatus(absl::StrCat("make the folder ", path.string()), error.value());
  return absl::OkStatus();
}

absl::Status WriteSources(const fs::path& folder, const std::vector<SourceFile>& files) {
  for (const SourceFile& file : files) {
    const fs::path path = folder / file.path;
    std::error_code error;
    fs::create_directories(path.parent_path(), error);
    std::ofstream stream(path, std::ios::binary);
    stream << file.text;
    stream.close();
    if (!stream) return absl::UnavailableError(absl::StrCat("write ", path.string(), ": the disk may be full"));
  }
  return absl::OkStatus();
}

absl::Status WriteDurably(const fs::path& file, std::string_view bytes) {
  std::string temporary = file.string() + ".XXXXXX";
  {
    FileDescriptor descriptor(::mkostemp(temporary.data(), O_CLOEXEC));
    if (!descriptor.valid()) return ErrnoStatus(absl::StrCat("write ", temporary), errno);
    while (!bytes.empty()) {
      const ssize_t written = ::write(descriptor.get(), bytes.data(), bytes.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) return ErrnoStatus(absl::StrCat("write ", temporary), errno);
      bytes.remove_prefix(static_cast<std::size_t>(written));
    }
    if (::fsync(descriptor.get()) != 0) return ErrnoStatus(absl::StrCat("sync ", temporary), errno);
  }
  if (::rename(temporary.c_str(), file.c_str()) != 0) return ErrnoStatus(absl::StrCat("rename ", temporary), errno);
  return SyncPath(file.parent_path(), O_DIRECTORY);
}

absl::StatusOr<std::string> ReadFile(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream) return absl::NotFoundError(absl::StrCat("read ", file.string(), ": no such file"));
  std::stringstream text;
  text << stream.rdbuf();
  return text.str();
}

absl::Status SyncTree(const fs::path& folder) {
  std::error_code error;
  for (fs::recursive_directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    if (!entry->is_regular_file(error)) continue;
    if (absl::Status status = SyncPath(entry->path(), 0); !status.ok()) return status;
  }
  if (error) return ErrnoStatus(absl::StrCat("sync ", folder.string()), error.value());
  return SyncPath(folder, O_DIRECTORY);
}

void RemoveTree(const fs::path& folder) {
  std::error_code error;
  fs::remove_all(folder, error);
  if (!error) return;
  // Folders without permissions keep anyone but root from what is in them.
  fs::permissions(folder, fs::perms::owner_all, error);
  for (fs::recursive_directory_iterator entry(folder, fs::directory_options::skip_permission_denied, error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code ignored;
    if (entry->is_directory(ignored) && !entry->is_symlink(ignored)) fs::permissions(entry->path(), fs::perms::owner_all, ignored);
  }
  fs::remove_all(folder, error);
}

absl::Status KeepRegularFiles(const fs::path& folder) {
  std::error_code error;
  fs::permissions(folder, fs::perms::owner_all, error);
  std::vector<fs::path> entries;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) entries.push_back(entry.path());
  for (const fs::path& entry : entries) {
    if (fs::symlink_status(entry, error).type() != fs::file_type::regular) {
      RemoveTree(entry);
    } else {
      fs::permissions(entry, fs::perms::owner_read | fs::perms::owner_write, error);
    }
  }
  if (error) return ErrnoStatus(absl::StrCat("clean up ", folder.string()), error.value());
  return absl::OkStatus();
}

}  // namespace maxkernel::eval
