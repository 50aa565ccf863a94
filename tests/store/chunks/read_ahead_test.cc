#include "store/chunks/read_ahead.h"

#include <gtest/gtest.h>

#include <vector>

namespace unshard {
namespace {

constexpr std::uint64_t kChunk = std::uint64_t{32} << 10;
constexpr std::uint64_t kShard = std::uint64_t{64} << 20;
constexpr std::uint64_t kWindow = std::uint64_t{2} << 20;

TEST(ReadAheadTest, ASweepIsSeenAndEachByteAskedForOnce) {
  ReadAhead ahead;
  std::uint64_t asked = 0;
  std::uint64_t first = 0;
  for (std::uint64_t at = 0; at < kShard; at += kChunk) {
    const ByteRange range = ahead.Note({1, 2, 3}, {at, kChunk}, kShard);
    if (range.size == 0) continue;
    if (asked == 0) first = at;
    if (asked != 0) {
      EXPECT_EQ(range.begin, asked);
    }
    EXPECT_GE(range.begin, at + kChunk);
    EXPECT_LE(range.end(), std::min(at + kChunk + kWindow, kShard));
    asked = range.end();
  }
  EXPECT_EQ(first, 2 * kChunk);
  EXPECT_EQ(asked, kShard);
}

TEST(ReadAheadTest, ThreadsThatSweepTogetherAreOneSweep) {
  ReadAhead ahead;
  std::uint64_t asked = 0;
  for (std::uint64_t at = 0; at < kShard; at += 4 * kChunk) {
    for (const std::uint64_t chunk : {2u, 0u, 3u, 1u}) {
      const ByteRange range = ahead.Note({1, 2, 3}, {at + chunk * kChunk, kChunk}, kShard);
      asked = std::max(asked, range.end());
    }
  }
  EXPECT_EQ(asked, kShard);
}

TEST(ReadAheadTest, ReadsInNoOrderAskForNothing) {
  ReadAhead ahead;
  std::uint64_t at = 7;
  for (int i = 0; i < 1000; ++i) {
    at = (at * 48271 + 12345) % 61;  // megabytes, never two close to each other in a row
    const ByteRange range = ahead.Note({1, 2, 3}, {at << 20, kChunk}, kShard);
    EXPECT_EQ(range.size, 0u) << i;
  }
}

TEST(ReadAheadTest, ShardsAndGenerationsAreSweptEachForItself) {
  ReadAhead ahead;
  for (std::uint64_t i = 0; i < 6; ++i) {
    const ByteRange chunk{i * kChunk, kChunk};
    EXPECT_EQ(ahead.Note({1, 2, 3}, chunk, kShard).size != 0, i == 2) << i;
    EXPECT_EQ(ahead.Note({1, 20 + i, 3}, chunk, kShard).size, 0u);
    EXPECT_EQ(ahead.Note({1, 2, 10 + i}, chunk, kShard).size, 0u);
  }
}

TEST(ReadAheadTest, NothingIsAskedForBehindTheEnd) {
  ReadAhead ahead;
  for (std::uint64_t at = 0; at < 8 * kChunk; at += kChunk) {
    EXPECT_LE(ahead.Note({1, 2, 3}, {at, kChunk}, 6 * kChunk).end(), 6 * kChunk);
  }
}

}  // namespace
}  // namespace unshard
