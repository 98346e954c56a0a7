// What every implementation of an interface has to keep, as functions that need no test framework: each returns the violations that it
// found, in words, and an empty list is a pass. With Catch2: CHECK(CheckSelectionContract(make) == std::vector<std::string>{}).
#ifndef MAXKERNEL_TESTING_CONTRACT_H_
#define MAXKERNEL_TESTING_CONTRACT_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "maxkernel/evaluator.h"
#include "maxkernel/expansion_policy.h"
#include "maxkernel/journal.h"
#include "maxkernel/selection_policy.h"
#include "maxkernel/stop_policy.h"

namespace maxkernel {

struct SelectionContractOptions {
  std::vector<std::uint64_t> seeds = {1, 2, 3};
  absl::Duration select_limit = absl::Milliseconds(20);  // mean time of Select on 10,000 nodes; infinite: not measured
};
// Runs the policy in simulated searches with failing proposals, invalid candidates, a flaky evaluator, vetoes and several workers, and
// checks: it ends neither with a fault nor stuck; Select is a pure function (twice the same answer; a fresh object that was told the same
// events answers alike, at every prefix); it copes with graphs that have no valid node; Select is fast.
std::vector<std::string> CheckSelectionContract(const std::function<std::unique_ptr<SelectionPolicy>()>& make,
                                                const SelectionContractOptions& options = {});

struct ExpansionContractOptions {
  std::shared_ptr<const Candidate> baseline;  // that the policy can expand
  std::uint32_t orders = 20;                  // on the baseline and on what comes of it
};
// Checks: operators() are named and its requests keep to them; Prepare is pure and a fresh object that was told the same events prepares
// alike; equal requests get equal proposals from several threads at once; no proposal is without a candidate or equal to its parent;
// a call that is cancelled before it starts returns.
std::vector<std::string> CheckExpansionContract(const std::function<std::unique_ptr<ExpansionPolicy>()>& make,
                                                const ExpansionContractOptions& options);

// Checks that Check is pure, that a fresh object that was told the same events agrees, and that a simulated run with it ends without a
// fault.
std::vector<std::string> CheckStopContract(const std::function<std::unique_ptr<StopPolicy>()>& make);

struct EvaluatorContractOptions {
  std::shared_ptr<const Candidate> correct;
  std::shared_ptr<const Candidate> wrong;     // must get a verdict other than correct
  Fidelity fidelity = Fidelity::kEstimate;
  absl::Duration patience = absl::Minutes(5); // for one evaluation
};
// Checks: a description that makes sense; a candidate's faults are verdicts and never a Status; stages in order, none after a failed one;
// times only where there are some; equal keys get equal verdicts; calls from several threads; cancellation and a deadline in the past end
// a call.
std::vector<std::string> CheckEvaluatorContract(Evaluator& evaluator, const EvaluatorContractOptions& options);

struct JournalContractOptions {
  // Closes the journal and opens the same one again. None: it lives in memory.
  std::function<std::unique_ptr<Journal>(std::unique_ptr<Journal>)> reopen;
};
// Checks: every kind of event comes back as it was, in order; groups are all or nothing; a gap in the sequences is refused; a visitor's
// error stops the visit; the first reply under a key is kept, also from several threads; all of it again after reopening.
std::vector<std::string> CheckJournalContract(const std::function<std::unique_ptr<Journal>()>& make,
                                              const JournalContractOptions& options = {});

}  // namespace maxkernel

#endif  // MAXKERNEL_TESTING_CONTRACT_H_
