#ifndef MAXKERNEL_STORE_EVENT_JSON_H_
#define MAXKERNEL_STORE_EVENT_JSON_H_

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "maxkernel/candidate.h"
#include "maxkernel/event.h"

namespace maxkernel {

// An event as one line of JSON; docs/reference/journal.md describes it. Candidates are written as their content hash; all else is in full
// and reads back exactly, bytes that are not UTF-8 included. Only numbers that JSON cannot hold are lost: an infinite or undefined one counts
// as absent. Stable: what one version wrote, later ones read.
std::string EventToJson(const Event& event);

// The inverse. `find_candidate` gives the candidate for a content hash; its error is passed on. InvalidArgument names the field that is
// missing, wrong or unknown; FailedPrecondition the event that is unknown.
absl::StatusOr<Event> EventFromJson(
    std::string_view json,
    const std::function<absl::StatusOr<std::shared_ptr<const Candidate>>(const std::string& content_hash)>& find_candidate);

// Values that result files and reports share with the journal. Here bytes that are not UTF-8 become U+FFFD.
std::string EvaluationToJson(const Evaluation& evaluation);
absl::StatusOr<Evaluation> EvaluationFromJson(std::string_view json);

}  // namespace maxkernel

#endif  // MAXKERNEL_STORE_EVENT_JSON_H_
