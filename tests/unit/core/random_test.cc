#include "maxkernel/random.h"

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <numeric>
#include <vector>

namespace maxkernel {
namespace {

TEST_CASE("Philox gives the known answers of its authors") {
  using Block = std::array<std::uint32_t, 4>;
  CHECK(Philox({0, 0, 0, 0}, {0, 0}) == Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  CHECK(Philox({~0U, ~0U, ~0U, ~0U}, {~0U, ~0U}) == Block{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(Philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}) ==
        Block{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("KeyedRandom depends on its address alone") {
  KeyedRandom a(7, RandomStream::kSelect, 3);
  KeyedRandom b(7, RandomStream::kSelect, 3);
  KeyedRandom other_id(7, RandomStream::kSelect, 4);
  KeyedRandom other_stream(7, RandomStream::kPrepare, 3);
  KeyedRandom other_seed(8, RandomStream::kSelect, 3);
  const std::uint32_t first = a.NextUint32();
  CHECK(b.NextUint32() == first);
  CHECK(other_id.NextUint32() != first);
  CHECK(other_stream.NextUint32() != first);
  CHECK(other_seed.NextUint32() != first);
}

TEST_CASE("KeyedRandom doubles lie in the unit interval and average to a half") {
  KeyedRandom random(1, RandomStream::kSimulator, 0);
  double sum = 0;
  for (int i = 0; i < 10000; ++i) {
    const double draw = random.NextDouble();
    REQUIRE(draw >= 0);
    REQUIRE(draw < 1);
    sum += draw;
  }
  CHECK(sum / 10000 == Approx(0.5).margin(0.02));
}

TEST_CASE("KeyedRandom bounded draws cover their range evenly") {
  KeyedRandom random(1, RandomStream::kSimulator, 0);
  std::array<int, 7> counts{};
  for (int i = 0; i < 70000; ++i) ++counts[random.NextBelow(7)];
  for (int count : counts) CHECK(count == Approx(10000).margin(500));
  CHECK(random.NextBelow(1) == 0);
}

TEST_CASE("KeyedRandom shuffles to a permutation") {
  KeyedRandom random(5, RandomStream::kPropose, 9);
  std::vector<int> items(20);
  std::iota(items.begin(), items.end(), 0);
  std::vector<int> shuffled = items;
  random.Shuffle(shuffled);
  CHECK(shuffled != items);
  CHECK(std::is_permutation(items.begin(), items.end(), shuffled.begin()));
}

}  // namespace
}  // namespace maxkernel
