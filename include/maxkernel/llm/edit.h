#ifndef MAXKERNEL_LLM_EDIT_H_
#define MAXKERNEL_LLM_EDIT_H_

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "maxkernel/candidate.h"

namespace maxkernel {

// One edit block that could not be applied.
struct EditFailure {
  std::size_t block = 0;      // from 1; 0 if the reply has no block at all
  std::string reason;         // "the SEARCH text matches 3 places; add lines until it is unique"
};

struct EditResult {
  std::shared_ptr<const Candidate> candidate;  // null if anything failed: edits apply all or nothing
  std::vector<EditFailure> failures;
  std::string rationale;                       // the reply's text outside the blocks, trimmed
};

// Applies the edits in a model's reply to a candidate: SEARCH/REPLACE blocks (exact, unique match) or one fenced whole file.
// docs/reference/edits.md has the grammar. An edit that changes nothing is a failure.
EditResult ApplyReply(const Candidate& parent, std::string_view reply);

// The message that reports the failures back to the model.
std::string DescribeFailures(const Candidate& parent, const EditResult& result);

}  // namespace maxkernel

#endif  // MAXKERNEL_LLM_EDIT_H_
