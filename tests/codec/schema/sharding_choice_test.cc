// Parameters that TensorStore 0.1.86 was seen to choose.
#include "codec/schema/sharding_choice.h"

#include <gtest/gtest.h>

#include <string>

namespace unshard {
namespace {

constexpr Extents3 kVolume = {1000, 1000, 1000};
constexpr Extents3 kChunk = {30, 40, 50};
constexpr std::int64_t kChunkElements = 30 * 40 * 50;

ChunkShapeConstraints Elements(std::int64_t elements) {
  ChunkShapeConstraints write;
  write.elements = {elements, Strength::kHard};
  return write;
}

ChunkShapeConstraints ShapeWith(const std::vector<std::int64_t>& shape, Strength strength) {
  ChunkShapeConstraints write;
  write.shape = HardShape(shape);
  for (auto& one : write.shape) one.strength = strength;
  return write;
}

// "preshift/minishard/shard", or the failure.
std::string Bits(const ChunkShapeConstraints& write, const Extents3& volume = kVolume,
                 const Extents3& chunk = kChunk) {
  const auto spec = ChooseSharding(write, volume, chunk);
  if (!spec) return spec.error().message;
  return std::to_string(spec->preshift_bits) + "/" + std::to_string(spec->minishard_bits) + "/" +
         std::to_string(spec->shard_bits);
}

TEST(ShardingChoice, ElementsChooseTheNearestPowerOfTwo) {
  EXPECT_EQ(Bits(Elements(8 * kChunkElements)), "3/0/13");
  EXPECT_EQ(Bits(Elements(9 * kChunkElements)), "3/0/13");
  EXPECT_EQ(Bits(Elements(12 * kChunkElements)), "4/0/12");
  EXPECT_EQ(Bits(Elements(13 * kChunkElements)), "4/0/12");
  EXPECT_EQ(Bits(Elements(16 * 64 * 64), {1000, 1000, 1}, {64, 64, 1}), "4/0/4");
}

TEST(ShardingChoice, ShapesChooseTheNearestBox) {
  EXPECT_EQ(Bits(ShapeWith({0, 0, -1}, Strength::kSoft)), "9/6/1");
  EXPECT_EQ(Bits(ShapeWith({120, 160, 100}, Strength::kHard)), "5/0/11");
  constexpr Extents3 kBrain = {34432, 39552, 51508};
  EXPECT_EQ(Bits(ShapeWith({2048, 2048, 2048}, Strength::kHard), kBrain, {64, 64, 64}), "9/6/15");
  EXPECT_EQ(Bits(ShapeWith({4096, 4096, 4096}, Strength::kSoft), kBrain, {64, 64, 64}), "9/9/12");
  EXPECT_EQ(Bits(ShapeWith({512, 512, 64}, Strength::kSoft), {512, 512, 64}, {64, 64, 64}),
            "6/0/0");
  EXPECT_EQ(Bits(ShapeWith({512, 512, 512}, Strength::kSoft), {512, 512, 512}, {64, 64, 64}),
            "9/0/0");
}

TEST(ShardingChoice, BoxesOutsideTheMortonOrderAreRefused) {
  EXPECT_NE(Bits(ShapeWith({120, 80, 200}, Strength::kHard)).find("make it a soft constraint"),
            std::string::npos);
}

TEST(ShardingChoice, WithoutConstraintsAShardHasOneChunk) { EXPECT_EQ(Bits({}), "0/0/16"); }

TEST(ShardingChoice, ShardsOfAllBitsSpanTheVolume) {
  const auto spec = ChooseSharding(ShapeWith({0, 0, -1}, Strength::kSoft), kVolume, kChunk);
  EXPECT_EQ(ShardShapeInChunks(*spec, kVolume, kChunk), (Extents3{32, 25, 20}));
}

TEST(ShardingChoice, ShardsAreNoBoxesWhereIdsAreHashedOrShortOfBits) {
  ShardingSpec hashed;
  hashed.hash = ChunkIdHash::kMurmurHash3X86_128;
  hashed.shard_bits = 20;
  EXPECT_FALSE(ShardShapeInChunks(hashed, kVolume, kChunk));
  ShardingSpec narrow;
  narrow.shard_bits = 3;
  EXPECT_FALSE(ShardShapeInChunks(narrow, kVolume, kChunk));
}

}  // namespace
}  // namespace unshard
