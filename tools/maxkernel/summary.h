#ifndef MAXKERNEL_TOOLS_MAXKERNEL_SUMMARY_H_
#define MAXKERNEL_TOOLS_MAXKERNEL_SUMMARY_H_

#include <filesystem>
#include <string>
#include <string_view>

#include "maxkernel/search.h"
#include "maxkernel/task.h"

namespace maxkernel {

// What a person reads at the end of a run: baseline, best candidate, what changed, what it cost, what to do next.
std::string SummaryText(const RunSummary& run, const Task& task, const std::filesystem::path& folder);

// The diff from the root's files to a node's.
std::string DiffFromRoot(const GraphView& graph, NodeId node);
// The diff from one candidate's files to another's.
std::string DiffText(const Candidate& before, const Candidate& after);

// result.json on one line, as the last line of --json output: {"event": "result", "result": {...}}.
std::string ResultLine(std::string_view result_json);

// "runs/x" for a folder below the working folder, else the absolute path: what a person can copy.
std::string ShownPath(const std::filesystem::path& path);

}  // namespace maxkernel

#endif  // MAXKERNEL_TOOLS_MAXKERNEL_SUMMARY_H_
