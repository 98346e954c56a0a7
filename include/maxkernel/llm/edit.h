#ifndef MAXKERNEL_LLM_EDIT_H_
#define MAXKERNEL_LLM_EDIT_H_

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "maxkernel/candidate.h"

namespace maxkernel {

// One edit that could not be applied.
struct EditFailure {
  std::size_t block = 0;      // from 1; 0 if it concerns the reply as a whole
  std::string reason;         // "the SEARCH text is not unique, it matches at lines 4, 9: add lines ..."
  std::string file;           // that the block is for; empty if unknown
  std::string search;         // the block's SEARCH text; empty for a whole file
};

struct EditResult {
  std::shared_ptr<const Candidate> candidate;  // null if anything failed: edits apply all or nothing
  std::vector<EditFailure> failures;
  std::string rationale;                       // the reply's text outside the edits, trimmed
};

// Applies the edits in a model's reply to a candidate: SEARCH/REPLACE blocks (exact, unique match) or fenced whole files.
// docs/reference/edits.md has the grammar. An edit that changes nothing is a failure.
EditResult ApplyReply(const Candidate& parent, std::string_view reply);

// The message that reports the failures back to the model.
std::string DescribeFailures(const Candidate& parent, const EditResult& result);

}  // namespace maxkernel

#endif  // MAXKERNEL_LLM_EDIT_H_
