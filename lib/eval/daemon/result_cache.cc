#include "lib/eval/daemon/result_cache.h"

#include "absl/strings/str_cat.h"
#include "lib/eval/daemon/state_folder.h"
#include "lib/eval/wire/evaluation_conversion.h"
#include "maxkernel/candidate.h"
#include "maxkernel/internal/strings.h"
#include "maxkernel/v1/evald_state.pb.h"

namespace maxkernel::eval {
namespace {

using internal::ToAbsl;

std::optional<v1::StoredAnswer> Read(const std::filesystem::path& file, std::string_view key) {
  absl::StatusOr<std::string> bytes = ReadFile(file);
  v1::StoredAnswer stored;
  if (!bytes.ok() || !stored.ParseFromString(*bytes) || stored.key() != key) return std::nullopt;
  return stored;
}

std::optional<JobAnswer> ToAnswer(const v1::StoredAnswer& stored) {
  if (stored.has_evaluation()) {
    absl::StatusOr<Evaluation> evaluation = FromProto(stored.evaluation());
    if (!evaluation.ok()) return std::nullopt;
    evaluation->from_cache = true;
    return std::move(*evaluation);
  }
  absl::StatusOr<AdmissionReport> report = FromProto(stored.admission());
  if (!stored.has_admission() || !report.ok()) return std::nullopt;
  report->from_cache = true;
  return std::move(*report);
}

}  // namespace

std::filesystem::path ResultCache::FileFor(std::string_view kind, std::string_view key) const {
  const std::string hash = Sha256Hex(absl::StrCat(ToAbsl(kind), ":", ToAbsl(key)));
  return folder_ / hash.substr(0, 2) / absl::StrCat(hash.substr(2), ".", ToAbsl(kind));
}

absl::StatusOr<std::optional<JobAnswer>> ResultCache::FindByKey(std::string_view key, std::string_view fingerprint) const {
  const std::optional<v1::StoredAnswer> stored = Read(FileFor("key", key), key);
  if (!stored.has_value()) return std::nullopt;
  if (stored->fingerprint() != fingerprint) {
    return absl::InvalidArgumentError(absl::StrCat("idempotency key '", ToAbsl(key), "': it was used for another request"));
  }
  return ToAnswer(*stored);
}

std::optional<JobAnswer> ResultCache::FindByContent(std::string_view content) const {
  const std::optional<v1::StoredAnswer> stored = Read(FileFor("content", content), content);
  return stored.has_value() ? ToAnswer(*stored) : std::nullopt;
}

absl::Status ResultCache::Store(std::string_view key, std::string_view fingerprint, std::string_view content, const JobAnswer& answer) {
  v1::StoredAnswer stored;
  stored.set_fingerprint(std::string(fingerprint));
  if (const auto* evaluation = std::get_if<Evaluation>(&answer)) {
    ToProto(*evaluation, *stored.mutable_evaluation());
  } else {
    ToProto(std::get<AdmissionReport>(answer), *stored.mutable_admission());
  }
  struct Place {
    std::string_view kind;
    std::string_view key;
  };
  for (const Place place : {Place{"content", content}, Place{"key", key}}) {
    if (place.key.empty()) continue;
    stored.set_key(std::string(place.key));
    const std::filesystem::path file = FileFor(place.kind, place.key);
    if (absl::Status status = MakeFolder(file.parent_path()); !status.ok()) return status;
    if (absl::Status status = WriteDurably(file, stored.SerializeAsString()); !status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace maxkernel::eval
