// Replays the seeds of every fuzz target, whole, cut short and damaged. Under the sanitizers this
// finds again whatever a fuzzer found once.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "tests/fuzz/fuzz_targets.h"
#include "tests/support/folders.h"

namespace unshard {
namespace {

std::vector<ByteVector> Seeds(std::string_view target) {
  const std::filesystem::path folder =
      std::filesystem::path(SourceFolder()) / "tests/fuzz/corpus" / target;
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  std::vector<ByteVector> seeds;
  for (const auto& file : files) {
    std::ifstream stream(file, std::ios::binary);
    seeds.emplace_back(std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>());
  }
  return seeds;
}

class FuzzReplay : public testing::TestWithParam<FuzzTarget> {
 protected:
  void SetUp() override {
    seeds_ = Seeds(GetParam().name);
    ASSERT_FALSE(seeds_.empty()) << "corpus/" << GetParam().name << " has no seeds";
  }
  std::vector<ByteVector> seeds_;
};

TEST_P(FuzzReplay, SeedsAreSurvived) {
  GetParam().run({});
  for (const ByteVector& seed : seeds_) GetParam().run(seed);
}

TEST_P(FuzzReplay, SeedsThatAreCutShortAreSurvived) {
  for (const ByteVector& seed : seeds_) {
    const std::size_t step = std::max<std::size_t>(1, seed.size() / 256);
    for (std::size_t size = 0; size < seed.size(); size += step) {
      // A copy of its own, so that reading beyond its end is noticed.
      GetParam().run(ByteVector(seed.begin(), seed.begin() + static_cast<std::ptrdiff_t>(size)));
    }
  }
}

TEST_P(FuzzReplay, DamagedSeedsAreSurvived) {
  std::mt19937 random(1);
  for (const ByteVector& seed : seeds_) {
    for (int round = 0; round < 200 && !seed.empty(); ++round) {
      ByteVector damaged = seed;
      for (unsigned damages = random() % 4 + 1; damages > 0; --damages) {
        damaged[random() % damaged.size()] ^= static_cast<std::uint8_t>(random());
      }
      GetParam().run(damaged);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(EveryTarget, FuzzReplay, testing::ValuesIn(kFuzzTargets),
                         [](const auto& target) { return std::string(target.param.name); });

}  // namespace
}  // namespace unshard
