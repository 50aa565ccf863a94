#include "codec/codecs/segmentation_format.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace unshard {
namespace {

using Labels = std::vector<std::uint64_t>;
using Words = std::vector<std::uint32_t>;
using Extent = std::array<std::uint64_t, 3>;

ByteVector Bytes64(const Labels& labels) {
  ByteVector bytes(8 * labels.size());
  for (std::size_t i = 0; i < labels.size(); ++i) StoreU64Le(bytes.data() + 8 * i, labels[i]);
  return bytes;
}

Result<ByteVector> EncodeOne(const Labels& labels, const Extent& shape, const Extent& block_shape) {
  return EncodeCompressedSegmentation(Bytes64(labels), {shape, block_shape, 1, 2});
}

// The words of a chunk of one channel, which decode to the labels again.
Words Encode(const Labels& labels, const Extent& shape, const Extent& block_shape) {
  const auto encoded = EncodeOne(labels, shape, block_shape);
  EXPECT_TRUE(encoded) << encoded.error().message;
  if (!encoded) return {};
  EXPECT_EQ(DecodeCompressedSegmentation(*encoded, {shape, block_shape, 1, 2}), Bytes64(labels));
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

// All of these labels have the first slot of the hash table: its multiplier times the label is
// small.
TEST(CompressedSegmentation, LabelsThatAreMadeToCollideAreEncoded) {
  constexpr std::uint64_t kMultiplier = 0x9e3779b97f4a7c15;
  std::uint64_t inverse = kMultiplier;  // correct in 3 bits; each step doubles that
  for (int step = 0; step < 5; ++step) inverse *= 2 - kMultiplier * inverse;
  Labels labels;
  for (std::uint64_t i = 0; i < 4096; ++i) labels.push_back(i % 1000 * inverse);
  const SegmentationForm form = {{64, 64, 1}, {64, 64, 1}, 1, 2};
  const auto encoded = EncodeCompressedSegmentation(Bytes64(labels), form);
  ASSERT_TRUE(encoded) << encoded.error().message;
  EXPECT_EQ(DecodeCompressedSegmentation(*encoded, form).value(), Bytes64(labels));
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
  const auto encoded = EncodeOne(labels, {labels.size(), 1, 1}, {block, 1, 1});
  ASSERT_FALSE(encoded);
  EXPECT_EQ(encoded.error().code, ErrorCode::kResourceExhausted);
  EXPECT_NE(encoded.error().message.find("24 bits"), std::string::npos);
}

TEST(CompressedSegmentation, RefusesBlockHeadersBeyond24Bits) {
  const Labels labels(std::size_t{1} << 23, 1);
  const auto encoded = EncodeOne(labels, {labels.size(), 1, 1}, {1, 1, 1});
  ASSERT_FALSE(encoded);
  EXPECT_EQ(encoded.error().code, ErrorCode::kResourceExhausted);
}

TEST(CompressedSegmentation, RefusesExtentsThatDoNotFit) {
  const std::uint64_t huge = std::uint64_t{1} << 62;
  const auto code = [](const Labels& labels, const Extent& shape, const Extent& block_shape) {
    const auto encoded = EncodeOne(labels, shape, block_shape);
    return encoded ? ErrorCode::kInternal : encoded.error().code;
  };
  EXPECT_EQ(code({1, 2, 3}, {2, 2, 1}, {8, 8, 8}), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code({1}, {huge, huge, huge}, {8, 8, 8}), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code({1}, {1, 1, 1}, {8, 0, 8}), ErrorCode::kInvalidArgument);
  EXPECT_EQ(code({1}, {1, 1, 1}, {huge, huge, huge}), ErrorCode::kInvalidArgument);
}

Result<ByteVector> DecodeWords(const Words& words, const SegmentationForm& form) {
  ByteVector bytes;
  for (const std::uint32_t word : words) AppendU32Le(bytes, word);
  return DecodeCompressedSegmentation(bytes, form);
}

TEST(CompressedSegmentation, ChannelsHaveTablesOfTheirOwn) {
  const SegmentationForm form = {{4, 2, 1}, {2, 2, 1}, 2, 1};
  ByteVector labels;
  for (const std::uint32_t label :
       {5u, 5u, 5u, 5u, 5u, 5u, 5u, 5u, 1u, 2u, 1u, 2u, 1u, 2u, 1u, 2u}) {
    AppendU32Le(labels, label);
  }
  const Words words = {2, 7, 4, 4, 4, 5, 5, 0x1000005, 4, 0x1000005, 7, 0xa, 1, 2, 0xa};
  EXPECT_EQ(DecodeWords(words, form), labels);
  const auto encoded = EncodeCompressedSegmentation(labels, form);
  ASSERT_TRUE(encoded);
  ByteVector expected;
  for (const std::uint32_t word : words) AppendU32Le(expected, word);
  EXPECT_EQ(*encoded, expected);
}

TEST(CompressedSegmentation, RefusesOffsetsBeyond24BitsFromTheStartOfTheChunk) {
  // Each channel is within reach of its own start, the last block of the second one not of the
  // start of the chunk.
  const std::uint64_t block = 1u << 16;
  ByteVector labels(2 * 52 * block * 8);
  for (std::size_t i = 0; i < labels.size() / 8; ++i) StoreU64Le(labels.data() + 8 * i, i);
  const auto encoded =
      EncodeCompressedSegmentation(labels, {{52 * block, 1, 1}, {block, 1, 1}, 2, 2});
  ASSERT_FALSE(encoded);
  EXPECT_EQ(encoded.error().code, ErrorCode::kResourceExhausted);
}

TEST(CompressedSegmentation, PartsMayBeInAnyOrder) {
  // The table before the values, a word that nobody refers to, labels beyond what is used.
  EXPECT_EQ(DecodeWords({1, 0x1000003, 9, 77, 5, 6, 1, 2, 3, 4, 0xfffffff2},
                        {{4, 1, 1}, {4, 8, 8}, 1, 1}),
            (ByteVector{5, 0, 0, 0, 6, 0, 0, 0, 5, 0, 0, 0, 5, 0, 0, 0}));
}

TEST(CompressedSegmentation, RefusesOffsetsOutsideOfTheChunk) {
  const SegmentationForm form = {{2, 1, 1}, {2, 1, 1}, 1, 1};
  const auto why = [&](const Words& words) {
    const auto labels = DecodeWords(words, form);
    if (labels) return std::string();
    EXPECT_EQ(labels.error().code, ErrorCode::kDataLoss);
    return labels.error().message;
  };
  EXPECT_EQ(why({1, 0x1000003, 2, 2, 8, 9}), "");
  EXPECT_EQ(why({1, 0x2000003, 2, 0xf, 9}),
            "compressed_segmentation chunk: an index has no label in the table at word 4");
  EXPECT_EQ(
      why({1, 0x3000003, 2, 2, 8, 9}),
      "compressed_segmentation chunk: expected 0, 1, 2, 4, 8, 16 or 32 bits a voxel, found 3");
  EXPECT_NE(why({1, 0x1000006, 2, 2, 8, 9}), "") << "the table";
  EXPECT_NE(why({1, 0x1000003, 6, 2, 8, 9}), "") << "the values";
  EXPECT_NE(why({0, 0x1000003, 2, 2, 8, 9}), "") << "the channel is where its offset is";
  EXPECT_NE(why({5, 0x1000003, 2, 2, 8, 9}), "") << "the headers";
  EXPECT_NE(why({}), "");
}

}  // namespace
}  // namespace unshard
