#include "codec/voxel/compressed_segmentation.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace unshard {
namespace {

using Labels = std::vector<std::uint64_t>;
using Words = std::vector<std::uint32_t>;
using Extent = std::array<std::uint64_t, 3>;

Words Encode(const Labels& labels, const Extent& shape, const Extent& block_shape) {
  const auto encoded = EncodeCompressedSegmentation(labels, shape, block_shape);
  EXPECT_TRUE(encoded) << encoded.error().message;
  if (!encoded) return {};
  EXPECT_EQ(encoded->size() % 4, 0u);
  Words words;
  for (std::size_t at = 0; at + 4 <= encoded->size(); at += 4) {
    words.push_back(LoadU32Le(encoded->data() + at));
  }
  return words;
}

// The vectors of the next four tests are what TensorStore 0.1.86 writes for the same labels.
TEST(CompressedSegmentation, ClipsTheLastBlockAndPadsItWithIndexZero) {
  EXPECT_EQ(Encode({5, 5, 7, 5, 6, 9}, {3, 2, 1}, {2, 2, 1}),
            (Words{1, 0x1000005, 4, 0x100000a, 9, 8, 5, 0, 6, 0, 4, 7, 0, 9, 0}));
}

TEST(CompressedSegmentation, WritesLabelsAbove32BitsLowWordFirst) {
  const std::uint64_t base = std::uint64_t{1} << 40;
  EXPECT_EQ(Encode({base, base + 1, base + 2, base + 3, base + 4}, {5, 1, 1}, {8, 1, 1}),
            (Words{1, 0x4000003, 2, 0x43210, 0, 0x100, 1, 0x100, 2, 0x100, 3, 0x100, 4, 0x100}));
}

TEST(CompressedSegmentation, SharesTablesBetweenBlocks) {
  const std::uint64_t large = (std::uint64_t{1} << 63) + 1;
  EXPECT_EQ(
      Encode({3, 4, 4, 3, 3, 3, 4, 4, 3, large, 3, 3}, {6, 1, 2}, {2, 1, 1}),
      (Words{1, 0x100000d, 12, 0x100000d, 17, 18, 18, 20, 20, 0x1000017, 22, 18, 27, 2,
             3, 0,         4,  0,         1,  3,  0,  4,  0,  2,         3,  0,  1,  0x80000000}));
}

TEST(CompressedSegmentation, RoundsTheNumberOfBitsUpToAPowerOfTwo) {
  Labels labels;
  for (std::uint64_t i = 17; i-- > 0;) labels.push_back(3 * i + 1);
  const Words words = Encode(labels, {17, 1, 1}, {17, 1, 1});
  ASSERT_EQ(words.size(), 3u + 5 + 34);  // 17 labels need 5 bits, which become 8
  EXPECT_EQ(Words(words.begin(), words.begin() + 8),
            (Words{1, 0x8000007, 2, 0x0d0e0f10, 0x090a0b0c, 0x05060708, 0x01020304, 0}));
}

TEST(CompressedSegmentation, AUniformChunkIsItsHeadersAndOneTable) {
  EXPECT_EQ(Encode(Labels(64, 42), {4, 4, 4}, {4, 4, 2}), (Words{1, 4, 4, 4, 6, 42, 0}));
}

TEST(CompressedSegmentation, MoreThan65536LabelsInABlockUse32Bits) {
  Labels labels(41 * 41 * 41);
  std::iota(labels.begin(), labels.end(), 7);
  const Words words = Encode(labels, {41, 41, 41}, {41, 41, 41});
  ASSERT_EQ(words.size(), 3 + labels.size() + 2 * labels.size());
  EXPECT_EQ(words[1], (32u << 24) | static_cast<std::uint32_t>(2 + labels.size()));
  EXPECT_EQ(words[3 + 1234], 1234u);
}

TEST(CompressedSegmentation, AnEmptyChunkHasNoBlocks) {
  EXPECT_EQ(Encode({}, {0, 4, 4}, {8, 8, 8}), (Words{1}));
}

TEST(CompressedSegmentation, RefusesOffsetsBeyond24Bits) {
  // A block of 2^16 distinct labels takes 2^15 words of values and 2^17 of table: 103 blocks end
  // just above 2^24 words, so that one block more has nowhere to start.
  const std::uint64_t block = 1u << 16;
  Labels labels(103 * block + 1);
  std::iota(labels.begin(), labels.end(), 0);
  const auto encoded = EncodeCompressedSegmentation(labels, {labels.size(), 1, 1}, {block, 1, 1});
  ASSERT_FALSE(encoded);
  EXPECT_EQ(encoded.error().code, ErrorCode::kResourceExhausted);
  EXPECT_NE(encoded.error().message.find("24 bits"), std::string::npos);
}

TEST(CompressedSegmentation, RefusesBlockHeadersBeyond24Bits) {
  const Labels labels(std::size_t{1} << 23, 1);
  const auto encoded = EncodeCompressedSegmentation(labels, {labels.size(), 1, 1}, {1, 1, 1});
  ASSERT_FALSE(encoded);
  EXPECT_EQ(encoded.error().code, ErrorCode::kResourceExhausted);
}

TEST(CompressedSegmentation, RefusesExtentsThatDoNotFit) {
  const std::uint64_t huge = std::uint64_t{1} << 62;
  const auto code = [](const Labels& labels, const Extent& shape, const Extent& block_shape) {
    const auto encoded = EncodeCompressedSegmentation(labels, shape, block_shape);
    return encoded ? ErrorCode::kInternal : encoded.error().code;
  };
  EXPECT_EQ(code({1, 2, 3}, {2, 2, 1}, {8, 8, 8}), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code({1}, {huge, huge, huge}, {8, 8, 8}), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code({1}, {1, 1, 1}, {8, 0, 8}), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code({1}, {1, 1, 1}, {huge, huge, huge}), ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace unshard
