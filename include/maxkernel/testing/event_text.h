#ifndef MAXKERNEL_TESTING_EVENT_TEXT_H_
#define MAXKERNEL_TESTING_EVENT_TEXT_H_

#include <string>

#include "maxkernel/event.h"

namespace maxkernel {

// All of an event on one line, for comparisons and for people who read a failed test. Equal texts mean equal events. Not a format: it may
// change at any time.
std::string EventText(const Event& event);

}  // namespace maxkernel

#endif  // MAXKERNEL_TESTING_EVENT_TEXT_H_
