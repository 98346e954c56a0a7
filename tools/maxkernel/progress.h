#ifndef MAXKERNEL_TOOLS_MAXKERNEL_PROGRESS_H_
#define MAXKERNEL_TOOLS_MAXKERNEL_PROGRESS_H_

#include <memory>

#include "maxkernel/search_observer.h"

namespace maxkernel {

enum class ProgressStyle {
  kLine,   // one line that is drawn over and over, for a terminal
  kPlain,  // a line for every new best candidate, and one every ten seconds
  kNone,
};

// kLine if standard error is a terminal, else kPlain.
ProgressStyle ProgressStyleForStandardError();

// Tells a person on standard error what a search does. Null for kNone.
std::unique_ptr<SearchObserver> MakeProgress(ProgressStyle style);

// Writes every event as a line of JSON on standard output.
std::unique_ptr<SearchObserver> MakeJsonEvents();

}  // namespace maxkernel

#endif  // MAXKERNEL_TOOLS_MAXKERNEL_PROGRESS_H_
