// How values are written for people.
#ifndef MAXKERNEL_TOOLS_MAXKERNEL_FORMAT_H_
#define MAXKERNEL_TOOLS_MAXKERNEL_FORMAT_H_

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "maxkernel/cost.h"
#include "maxkernel/evaluation.h"
#include "maxkernel/score.h"
#include "maxkernel/search_graph.h"

namespace maxkernel {

// "1.84x (estimate)", with the interval where there is one.
std::string ScoreText(const Score& score);
// "812 us"
std::string SecondsText(double seconds);
// "1m02s"
std::string DurationText(absl::Duration duration);
// "24 evaluations, 31 nodes, 12,345 tokens, $0.02"
std::string CostText(const Cost& cost);
// "square 812 us, wide 1.2 ms": the median of every timed case.
std::string TimesText(const Evaluation& evaluation);
// "BLOCK_M=256 BLOCK_N=512"
std::string ParametersText(const Parameters& parameters);
// One per diagnostic: "candidate.py:12: error: ... (hint)".
std::vector<std::string> DiagnosticLines(const Evaluation& evaluation);

}  // namespace maxkernel

#endif  // MAXKERNEL_TOOLS_MAXKERNEL_FORMAT_H_
