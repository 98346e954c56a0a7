#include "maxkernel/random.h"

namespace maxkernel {

std::array<std::uint32_t, 4> Philox(std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key) {
  // Constants of Philox4x32: table 2 of the paper.
  constexpr std::uint64_t kMultiplier0 = 0xD2511F53;
  constexpr std::uint64_t kMultiplier1 = 0xCD9E8D57;
  constexpr std::uint32_t kWeyl0 = 0x9E3779B9;
  constexpr std::uint32_t kWeyl1 = 0xBB67AE85;
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t product0 = kMultiplier0 * counter[0];
    const std::uint64_t product1 = kMultiplier1 * counter[2];
    counter = {static_cast<std::uint32_t>(product1 >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(product1),
               static_cast<std::uint32_t>(product0 >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(product0)};
    key[0] += kWeyl0;
    key[1] += kWeyl1;
  }
  return counter;
}

KeyedRandom::KeyedRandom(std::uint64_t run_seed, RandomStream stream, std::uint64_t id)
    : key_{static_cast<std::uint32_t>(run_seed), static_cast<std::uint32_t>(run_seed >> 32)},
      counter_{0, static_cast<std::uint32_t>(stream), static_cast<std::uint32_t>(id), static_cast<std::uint32_t>(id >> 32)} {}

std::uint32_t KeyedRandom::NextUint32() {
  if (used_ == block_.size()) {
    block_ = Philox(counter_, key_);
    ++counter_[0];
    used_ = 0;
  }
  return block_[used_++];
}

double KeyedRandom::NextDouble() {
  const std::uint32_t high = NextUint32() >> 5;
  const std::uint32_t low = NextUint32() >> 6;
  return (high * 67108864.0 + low) * (1.0 / 9007199254740992.0);
}

std::uint32_t KeyedRandom::NextBelow(std::uint32_t bound) {
  std::uint64_t product = std::uint64_t{NextUint32()} * bound;
  if (static_cast<std::uint32_t>(product) < bound) {
    const std::uint32_t threshold = (0U - bound) % bound;
    while (static_cast<std::uint32_t>(product) < threshold) product = std::uint64_t{NextUint32()} * bound;
  }
  return static_cast<std::uint32_t>(product >> 32);
}

}  // namespace maxkernel
