// Events with every field filled at random, from the list of fields that the journal itself uses.
#ifndef MAXKERNEL_TESTS_UNIT_STORE_RANDOM_EVENTS_H_
#define MAXKERNEL_TESTS_UNIT_STORE_RANDOM_EVENTS_H_

#include <bit>
#include <cmath>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>

#include "lib/store/event_fields.h"
#include "maxkernel/random.h"

namespace maxkernel {

class RandomFiller {
 public:
  template <typename T>
  using Ref = T&;

  explicit RandomFiller(KeyedRandom& random) : random_(random) {}

  template <typename T>
  void operator()(std::string_view, T& value) {
    Fill(value);
  }

  template <typename T>
  void Fill(T& value) {
    if constexpr (std::is_same_v<T, bool>) {
      value = random_.NextBelow(2) == 1;
    } else if constexpr (std::is_enum_v<T> && std::is_same_v<std::remove_cv_t<decltype(store::kValuesOf<T>)>, int>) {
      value = T{Word()};
    } else if constexpr (std::is_enum_v<T>) {
      value = store::kValuesOf<T>[random_.NextBelow(static_cast<std::uint32_t>(store::kValuesOf<T>.size()))];
    } else if constexpr (std::is_floating_point_v<T>) {
      value = Double();
    } else if constexpr (std::is_integral_v<T>) {
      value = static_cast<T>(Word());
    } else {
      store::Fields(*this, value);
    }
  }
  void Fill(std::string& value) {
    const std::uint32_t size = random_.NextBelow(20);
    value.clear();
    for (std::uint32_t i = 0; i < size; ++i) value += Piece();
  }
  void Fill(absl::Duration& value) {
    if (random_.NextBelow(20) == 0) {
      value = random_.NextBelow(2) == 0 ? absl::InfiniteDuration() : -absl::InfiniteDuration();
      return;
    }
    // Quarters of a nanosecond are what absl::Duration resolves.
    value = absl::Nanoseconds(static_cast<std::int64_t>(Word()) / 2) + (absl::Nanoseconds(1) / 4) * static_cast<int>(random_.NextBelow(4));
  }
  void Fill(std::shared_ptr<const Candidate>& value) {
    std::vector<SourceFile> files{{"kernel.py", "x = 1\n"}};
    Fill(files[0].text);
    files[0].text = "k" + files[0].text;
    if (random_.NextBelow(3) == 0) files.push_back({"more/tiles.py", "TILE = " + std::to_string(random_.NextUint32()) + "\r\n"});
    value = std::make_shared<const Candidate>(*Candidate::Create(std::move(files)));
  }
  void Fill(Order& value) {
    switch (random_.NextBelow(4)) {
      case 0:
        return FillAs<ExpandOrder>(value);
      case 1:
        return FillAs<EvaluateOrder>(value);
      case 2:
        return FillAs<CancelOrder>(value);
      default:
        return FillAs<RelabelOrder>(value);
    }
  }
  template <typename T>
  void Fill(std::optional<T>& value) {
    value.reset();
    if (random_.NextBelow(3) > 0) Fill(value.emplace());
  }
  template <typename T>
  void Fill(std::vector<T>& values) {
    values.resize(random_.NextBelow(4));
    for (T& value : values) Fill(value);
  }
  template <typename T>
  void Fill(std::map<std::string, T>& values) {
    values.clear();
    const std::uint32_t size = random_.NextBelow(4);
    for (std::uint32_t i = 0; i < size; ++i) {
      std::string key;
      Fill(key);
      Fill(values[key]);
    }
  }

 private:
  template <typename Alternative>
  void FillAs(Order& value) {
    Alternative alternative;
    store::Fields(*this, alternative);
    value = std::move(alternative);
  }
  std::uint64_t Word() {
    const std::uint64_t word = (std::uint64_t{random_.NextUint32()} << 32) | random_.NextUint32();
    return word >> random_.NextBelow(64);
  }
  double Double() {
    switch (random_.NextBelow(4)) {
      case 0:
        return std::array{0.0, -0.0, 1.0, 0.1, 1e-300, std::numeric_limits<double>::denorm_min(), std::numeric_limits<double>::max(),
                          std::numeric_limits<double>::lowest()}[random_.NextBelow(8)];
      case 1:
        return random_.NextDouble() * 1e-5;
      default: {
        const auto value = std::bit_cast<double>((std::uint64_t{random_.NextUint32()} << 32) | random_.NextUint32());
        return std::isfinite(value) ? value : 0.5;
      }
    }
  }
  std::string Piece() {
    static constexpr const char* kPieces[] = {"a",    "Z",        "\"",           "\\",   "\n",   "\t",       "\r",           " ",
                                              "/",    "\x01",     "\x1f",         "\x7f", "{",    "\xC3\xA4", "\xE2\x82\xAC", "\xF0\x9F\x9A\x80",
                                              "\x80", "\xff",     "\xED\xB2\x80", "\xC3", "\\u",  "\xC0\x80", "null",         "\xF4\x90\x80\x80"};
    const std::uint32_t choice = random_.NextBelow(std::size(kPieces) + 1);
    return choice == std::size(kPieces) ? std::string(1, '\0') : kPieces[choice];
  }

  KeyedRandom& random_;
};

template <std::size_t Index = 0>
EventBody RandomBody(std::size_t kind, RandomFiller& filler) {
  if constexpr (Index < std::variant_size_v<EventBody>) {
    if (kind != Index) return RandomBody<Index + 1>(kind, filler);
    std::variant_alternative_t<Index, EventBody> body;
    store::Fields(filler, body);
    return body;
  } else {
    return {};
  }
}

// The same event for the same sequence and seed.
inline Event RandomEvent(std::uint64_t sequence, std::uint64_t seed = 7) {
  KeyedRandom random(seed, RandomStream::kSimulator, sequence);
  RandomFiller filler(random);
  Event event;
  event.sequence = EventSequence{sequence};
  absl::Duration since_epoch;
  filler.Fill(since_epoch);
  event.time = absl::UnixEpoch() + since_epoch;
  event.body = RandomBody(random.NextBelow(std::variant_size_v<EventBody>), filler);
  return event;
}

}  // namespace maxkernel

#endif  // MAXKERNEL_TESTS_UNIT_STORE_RANDOM_EVENTS_H_
