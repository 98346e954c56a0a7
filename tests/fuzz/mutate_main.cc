// A stand-in for libFuzzer where the compiler has none: runs the target on every file of a corpus and then on mutations of them.
// No coverage feedback; the same seed gives the same inputs.
//
//   target CORPUS_FOLDER [ITERATIONS [SEED]]
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

constexpr std::size_t kLongestInput = 1 << 16;

void Run(const std::string& input) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(input.data()), input.size());
}

std::string Mutate(const std::vector<std::string>& corpus, std::mt19937_64& random) {
  const auto below = [&](std::size_t bound) { return bound == 0 ? 0 : static_cast<std::size_t>(random() % bound); };
  std::string input = corpus[below(corpus.size())];
  for (std::size_t round = 1 + below(6); round > 0; --round) {
    const std::size_t at = below(input.size() + 1);
    const std::size_t length = std::min(below(24) + 1, input.size() - at);
    switch (below(6)) {
      case 0: if (at < input.size()) input[at] = static_cast<char>(input[at] ^ (1 << below(8))); break;
      case 1: input.erase(at, length); break;
      case 2: input.insert(at, 1, "\n\r:=<>`{}[]\",\\ \0\xFF"[below(17)]); break;
      case 3: input.insert(below(input.size() + 1), std::string(input, at, length)); break;
      case 4: input.resize(at); break;
      default: {  // a piece of another input
        const std::string& other = corpus[below(corpus.size())];
        const std::size_t from = below(other.size() + 1);
        input.insert(at, other.substr(from, below(200) + 1));
      }
    }
    if (input.size() > kLongestInput) input.resize(kLongestInput);
  }
  return input;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return std::fprintf(stderr, "usage: %s CORPUS_FOLDER [ITERATIONS [SEED]]\n", argv[0]), 2;
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(argv[1])) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  std::vector<std::string> corpus;
  for (const auto& file : files) {
    std::ifstream stream(file, std::ios::binary);
    corpus.emplace_back(std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>());
    Run(corpus.back());
  }
  if (corpus.empty()) return std::fprintf(stderr, "%s has no files\n", argv[1]), 2;
  const unsigned long iterations = argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 20'000;
  std::mt19937_64 random(argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 1);
  for (unsigned long i = 0; i < iterations; ++i) {
    const std::string input = Mutate(corpus, random);
    Run(input);
    corpus.push_back(input);
    if (corpus.size() > 4 * files.size() + 64) corpus.erase(corpus.begin() + static_cast<std::ptrdiff_t>(files.size()));
  }
  std::printf("%zu files and %lu mutations of them\n", files.size(), iterations);
  return 0;
}
