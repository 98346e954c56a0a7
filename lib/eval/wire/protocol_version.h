#ifndef MAXKERNEL_LIB_EVAL_WIRE_PROTOCOL_VERSION_H_
#define MAXKERNEL_LIB_EVAL_WIRE_PROTOCOL_VERSION_H_

#include <cstdint>

namespace maxkernel::eval {

// Of proto/maxkernel/v1/evaluation.proto; raised by what cannot be added compatibly.
inline constexpr std::uint32_t kProtocolVersion = 1;
// Of one message: sources, and an evaluation with its diagnostics.
inline constexpr int kMessageLimitBytes = 64 << 20;
// Trailing metadata of every answer that the daemon itself gave: what comes without it is the network's, or somebody else's.
inline constexpr char kOriginMetadata[] = "maxkernel-origin";

}  // namespace maxkernel::eval

#endif  // MAXKERNEL_LIB_EVAL_WIRE_PROTOCOL_VERSION_H_
