#ifndef MAXKERNEL_POLICIES_ANY_STOP_H_
#define MAXKERNEL_POLICIES_ANY_STOP_H_

#include <memory>
#include <vector>

#include "maxkernel/stop_policy.h"

namespace maxkernel {

// Stops as soon as one of the members does; the first of them, in order, gives the reason.
std::unique_ptr<StopPolicy> MakeAnyStop(std::vector<std::unique_ptr<StopPolicy>> members);

}  // namespace maxkernel

#endif  // MAXKERNEL_POLICIES_ANY_STOP_H_
