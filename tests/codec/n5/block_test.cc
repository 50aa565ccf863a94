#include "codec/codecs/n5_block.h"

#include <gtest/gtest.h>

#include <string>

#include "codec/json/parser.h"
#include "tests/support/codecs.h"

namespace unshard {
namespace {

constexpr DataType kU16{DataType::Kind::kUnsigned, 2};

ChunkCodecPtr Codec(const std::string& compression, const std::vector<std::uint64_t>& block_shape) {
  const JsonValue json = ParseJson(compression).value();
  return BindN5Chain(JsonCursor(json, "compression"), kU16, block_shape).value();
}

ChunkCodecPtr Raw() { return Codec(R"({"type": "raw"})", {2, 3}); }

// Three columns and two rows: in N5 the dimensions 3, 2.
const ByteVector kBlock{0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 2, 0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6};
const std::vector<std::uint64_t> kShape{2, 3};
const ByteVector kItems{1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0};

Voxels Of(Shape shape, ByteVector items) {
  return Voxels::Make(kU16, std::move(shape), std::move(items)).value();
}

TEST(N5Block, HeaderAndItemsAreBigEndian) {
  EXPECT_EQ(Raw()->Encode(Of(kShape, kItems)).value(), kBlock);
  EXPECT_EQ(Raw()->Decode(kBlock, kShape), Of(kShape, kItems));
  EXPECT_EQ(Raw()->EncodedSize(kShape), kBlock.size());
}

TEST(N5Block, AClippedBlockIsExtendedByZerosAndAPaddedOneIsClipped) {
  const ByteVector clipped{0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0, 1, 0, 7, 0, 8};
  EXPECT_EQ(Raw()->Decode(clipped, kShape), Of(kShape, {7, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0}));
  const std::vector<std::uint64_t> corner{1, 2};
  EXPECT_EQ(Raw()->Decode(kBlock, corner), Of(corner, {1, 0, 2, 0}));
  EXPECT_EQ(Raw()->Encode(Of(corner, {7, 0, 8, 0})).value(), clipped);
}

TEST(N5Block, Mode1HasVoxelsWhereItsCountIsThatOfItsExtents) {
  ByteVector block{0, 1, 0, 2, 0, 0, 0, 3, 0, 0, 0, 2, 0, 0, 0, 6};
  block.insert(block.end(), kBlock.begin() + 12, kBlock.end());
  EXPECT_EQ(Raw()->Decode(block, kShape), Of(kShape, kItems));
  block[15] = 7;
  EXPECT_EQ(Raw()->Decode(block, kShape).error().code, ErrorCode::kNotSupported);
}

TEST(N5Block, DamageIsNamed) {
  const auto decode = [](ByteVector block) { return Raw()->Decode(block, kShape).error(); };
  EXPECT_EQ(decode({0, 0, 0}).message, "N5 block: expected a header, found 3 bytes");
  EXPECT_EQ(decode({0, 2, 0, 0, 0, 0}).code, ErrorCode::kNotSupported);
  EXPECT_EQ(decode({0, 9, 0, 2}).message, "N5 block: expected mode 0 or 1, found 9");
  EXPECT_EQ(decode({0, 0, 0, 3}).message, "N5 block: expected 2 dimensions, found 3");
  EXPECT_EQ(decode({0, 0, 0, 2, 0, 0, 0, 3}).message,
            "N5 block: expected a header of 12 bytes, found 8 bytes");
  EXPECT_EQ(decode({0, 0, 0, 2, 0, 0, 0, 4, 0, 0, 0, 2}).message,
            "N5 block: expected at most the block size [3, 2], found [4, 2]");
  EXPECT_EQ(decode({0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 2, 1}).code, ErrorCode::kDataLoss);
  EXPECT_EQ(Raw()->Decode(ByteVector{0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 2}, kShape),
            Of(kShape, ByteVector(12)));
  ByteVector cut = kBlock;
  cut.pop_back();
  EXPECT_EQ(decode(cut).code, ErrorCode::kDataLoss);
}

TEST(N5Block, VoxelsThatAreNoBlockAreRefused) {
  EXPECT_EQ(Raw()->Encode(Of({2, 4}, ByteVector(16))).error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(Raw()->Encode(Of({6}, kItems)).error().code, ErrorCode::kInvalidArgument);
}

TEST(N5Block, EveryCompressionDecodesItsOwnBlocks) {
  for (const char* compression :
       {R"({"type": "gzip"})", R"({"type": "gzip", "level": 3, "useZlib": true})",
        R"({"type": "bzip2", "blockSize": 1})", R"({"type": "zstd"})",
        R"({"type": "xz", "preset": 1})", R"({"type": "lz4"})",
        R"({"type": "blosc", "cname": "zstd", "clevel": 3, "shuffle": 2, "nthreads": 1})"}) {
    const ChunkCodecPtr codec = Codec(compression, kShape);
    if (!codec->CanDecode()) continue;  // not in this build
    const auto block = codec->Encode(Of(kShape, kItems));
    ASSERT_TRUE(block) << block.error().message;
    EXPECT_TRUE(std::equal(kBlock.begin(), kBlock.begin() + 12, block->begin()));
    EXPECT_EQ(codec->Decode(*block, kShape), Of(kShape, kItems)) << compression;
    EXPECT_EQ(codec->EncodedSize(kShape), std::nullopt);
  }
}

}  // namespace
}  // namespace unshard
