#ifndef MAXKERNEL_VERSION_H_
#define MAXKERNEL_VERSION_H_

namespace maxkernel {

inline constexpr int kVersionMajor = 0;
inline constexpr int kVersionMinor = 1;
inline constexpr int kVersionPatch = 0;
inline constexpr char kVersion[] = "0.1.0";

}  // namespace maxkernel

#endif  // MAXKERNEL_VERSION_H_
