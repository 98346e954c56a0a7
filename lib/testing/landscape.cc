#include <cmath>

#include "absl/strings/str_cat.h"
#include "maxkernel/internal/check.h"
#include "maxkernel/random.h"
#include "maxkernel/testing/simulation.h"

namespace maxkernel {
namespace {

constexpr char kPrefix[] = "BITS = \"";

// Uniform in [0, 1), a function of its address alone.
double Draw(std::uint64_t seed, std::uint64_t table, std::uint64_t index) {
  return KeyedRandom(seed, RandomStream::kSimulator, (table << 32) | index).NextDouble();
}

constexpr std::uint64_t kValidityTable = 1 << 20;

}  // namespace

absl::Status LandscapeOptions::Validate() const {
  if (bits == 0 || bits > 24) return absl::InvalidArgumentError(absl::StrCat("landscape: bits is ", bits, "; expected 1..24"));
  if (partners >= bits) {
    return absl::InvalidArgumentError(absl::StrCat("landscape: partners is ", partners, "; expected less than bits, ", bits));
  }
  if (invalid_percent > 99) {
    return absl::InvalidArgumentError(absl::StrCat("landscape: invalid_percent is ", invalid_percent, "; expected 0..99"));
  }
  if (!std::isfinite(noise) || noise < 0) return absl::InvalidArgumentError("landscape: noise is not a number of 0 or more");
  return absl::OkStatus();
}

absl::StatusOr<Landscape> Landscape::Create(const LandscapeOptions& options) {
  if (absl::Status status = options.Validate(); !status.ok()) return status;
  return Landscape(options);
}

Landscape::Landscape(const LandscapeOptions& options) : options_(options) {
  for (std::uint32_t bit = 0; bit < options.bits; ++bit) {
    std::vector<std::uint32_t> others;
    for (std::uint32_t other = 0; other < options.bits; ++other) {
      if (other != bit) others.push_back(other);
    }
    KeyedRandom random(options.seed, RandomStream::kSimulator, (std::uint64_t{2} << 52) | bit);
    random.Shuffle(others);
    others.resize(options.partners);
    others.insert(others.begin(), bit);
    neighbourhoods_.push_back(std::move(others));
  }
}

double Landscape::Fitness(std::uint32_t point) const {
  double sum = 0;
  for (std::uint32_t bit = 0; bit < options_.bits; ++bit) {
    std::uint64_t index = 0;
    for (std::uint32_t member : neighbourhoods_[bit]) index = (index << 1) | ((point >> member) & 1);
    sum += Draw(options_.seed, bit, index);
  }
  return sum / options_.bits;
}

bool Landscape::IsValid(std::uint32_t point) const {
  return point == 0 || Draw(options_.seed, kValidityTable, point) * 100 >= options_.invalid_percent;
}

double Landscape::Seconds(std::uint32_t point) const { return 1e-3 * std::exp(-4 * Fitness(point)); }

std::uint32_t Landscape::Optimum() const {
  std::uint32_t best = 0;
  double best_fitness = Fitness(0);
  for (std::uint32_t point = 1; point < (1U << options_.bits); ++point) {
    if (!IsValid(point)) continue;
    if (const double fitness = Fitness(point); fitness > best_fitness) {
      best = point;
      best_fitness = fitness;
    }
  }
  return best;
}

Candidate Landscape::CandidateOf(std::uint32_t point) const {
  std::string text = kPrefix;
  for (std::uint32_t bit = 0; bit < options_.bits; ++bit) text.push_back(((point >> bit) & 1) != 0 ? '1' : '0');
  absl::StrAppend(&text, "\"\n");
  absl::StatusOr<Candidate> candidate = Candidate::FromText("kernel.py", text);
  MAXKERNEL_CHECK(candidate.ok());
  return *std::move(candidate);
}

std::optional<std::uint32_t> Landscape::PointOf(const Candidate& candidate) const {
  const std::string& text = candidate.entry().text;
  const std::size_t begin = sizeof(kPrefix) - 1;
  if (text.compare(0, begin, kPrefix) != 0 || text.size() != begin + options_.bits + 2) return std::nullopt;
  std::uint32_t point = 0;
  for (std::uint32_t bit = 0; bit < options_.bits; ++bit) {
    const char c = text[begin + bit];
    if (c != '0' && c != '1') return std::nullopt;
    if (c == '1') point |= 1U << bit;
  }
  return point;
}

}  // namespace maxkernel
