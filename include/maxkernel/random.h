#ifndef MAXKERNEL_RANDOM_H_
#define MAXKERNEL_RANDOM_H_

#include <array>
#include <cstddef>
#include <cstdint>

namespace maxkernel {

// Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011): a keyed bijection of a 128-bit
// counter. Stateless: a draw is a function of its address alone.
std::array<std::uint32_t, 4> Philox(std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key);

// What a stream of draws is for; part of the address, so that no use can shift the draws of another.
enum class RandomStream : std::uint32_t {
  kSelect = 0,    // address: decision id
  kOnEvent = 1,   // address: event sequence
  kPrepare = 2,   // address: decision id, order index and sample
  kPropose = 3,   // address: decision id, order index and sample
  kSimulator = 4,
  kTieBreak = 5,  // address: decision id
};

// A stream of random numbers addressed by (run seed, stream, id). Two objects with one address draw the same numbers,
// whatever else was drawn before, so results do not depend on which worker was faster. The algorithms are fixed here rather
// than taken from <random>, whose distributions differ between standard libraries.
// Thread-compatible; cheap to copy (a copy continues from the same position).
class KeyedRandom {
 public:
  KeyedRandom(std::uint64_t run_seed, RandomStream stream, std::uint64_t id);

  std::uint32_t NextUint32();
  // Uniform in [0, 1), 53 bits.
  double NextDouble();
  // Uniform in [0, bound), without bias (Lemire, "Fast random integer generation in an interval", 2019). bound > 0.
  std::uint32_t NextBelow(std::uint32_t bound);

  // Fisher-Yates.
  template <typename Container>
  void Shuffle(Container& items) {
    for (std::size_t i = items.size(); i > 1; --i) {
      using std::swap;
      swap(items[i - 1], items[NextBelow(static_cast<std::uint32_t>(i))]);
    }
  }

 private:
  std::array<std::uint32_t, 2> key_;
  std::array<std::uint32_t, 4> counter_;
  std::array<std::uint32_t, 4> block_{};
  std::size_t used_ = 4;
};

}  // namespace maxkernel

#endif  // MAXKERNEL_RANDOM_H_
