#include "store/http/latencies.h"

#include <algorithm>
#include <cmath>

namespace unshard {
namespace {

using std::chrono::milliseconds;

constexpr double kBucketsPerOctave = 4;
// Fewer say nothing of the slowest in twenty.
constexpr std::uint32_t kEnough = 64;
// Then the old ones count half.
constexpr std::uint32_t kMany = 1024;

}  // namespace

void Latencies::Note(std::chrono::steady_clock::duration latency) {
  const double ms = std::chrono::duration<double, std::milli>(latency).count();
  const double octaves = std::log2(std::max(ms, 1.0));
  const auto bucket = static_cast<std::size_t>(std::ceil(octaves * kBucketsPerOctave));
  ++counts_[std::min(bucket, kBuckets - 1)];
  if (++total_ < kMany) return;
  total_ = 0;
  for (std::uint32_t& count : counts_) {
    count /= 2;
    total_ += count;
  }
}

milliseconds Latencies::Percentile95(milliseconds otherwise) const {
  if (total_ < kEnough) return otherwise;
  std::uint32_t slower = total_;
  std::size_t bucket = 0;
  while (slower > total_ / 20 && bucket < kBuckets) slower -= counts_[bucket++];
  const double octaves = static_cast<double>(bucket - 1) / kBucketsPerOctave;
  return milliseconds(static_cast<std::int64_t>(std::ceil(std::exp2(octaves))));
}

}  // namespace unshard
