#ifndef MAXKERNEL_LIB_SEARCH_USER_CODE_H_
#define MAXKERNEL_LIB_SEARCH_USER_CODE_H_

#include <exception>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace maxkernel {

// The boundary to user code: what `call` returns, or Internal with the component's name and the text of what it threw. `call` returns a
// Status or something that can be made from one.
template <typename Call>
auto CallUserCode(std::string_view component, Call&& call) -> decltype(call()) {
  try {
    return call();
  } catch (const std::exception& error) {
    return absl::InternalError(absl::StrCat(std::string(component), " threw: ", error.what()));
  } catch (...) {
    return absl::InternalError(absl::StrCat(std::string(component), " threw something that is no std::exception"));
  }
}

}  // namespace maxkernel

#endif  // MAXKERNEL_LIB_SEARCH_USER_CODE_H_
