// What shard formats ask for when a shard is opened.
#include <gtest/gtest.h>

#include <string>

#include "codec/precomputed/shard.h"
#include "codec/zarr3/metadata.h"

namespace unshard {
namespace {

std::unique_ptr<ShardFormat> Precomputed(unsigned minishard_bits) {
  ShardingSpec spec;
  spec.minishard_bits = minishard_bits;
  return MakeNeuroglancerShardFormat(spec);
}

// Shards of so many chunks; `after` are codecs behind sharding_indexed, with a comma before each.
std::shared_ptr<const ShardFormat> Zarr(std::uint64_t chunks, const std::string& location,
                                        const std::string& after = "") {
  const std::string shard = std::to_string(chunks);
  const auto node = ParseZarrMetadata(
      R"({"zarr_format":3,"node_type":"array","shape":[1000000],"data_type":"uint8","fill_value":0,
      "chunk_grid":{"name":"regular","configuration":{"chunk_shape":[)" +
      shard + R"(]}},"chunk_key_encoding":{"name":"default"},"codecs":[{"name":"sharding_indexed",
      "configuration":{"chunk_shape":[1],"codecs":[{"name":"bytes"}],"index_codecs":[{"name":
      "bytes","configuration":{"endian":"little"}},{"name":"crc32c"}],"index_location":")" +
      location + R"("}})" + after + "]}");
  EXPECT_TRUE(node) << node.error().message;
  return node && node->sharded ? node->sharded->format : nullptr;
}

RangeRequest Begin(const ShardFormat& format, std::uint64_t page) {
  return format.Walk(0, page, std::uint64_t{1} << 30)->Start();
}

TEST(OpeningRangeTest, IsTheShardIndexOfAPrecomputedShard) {
  EXPECT_EQ(Precomputed(0)->opening_range(), RangeRequest::At(0, 16));
  EXPECT_EQ(Precomputed(12)->opening_range(), RangeRequest::At(0, 16 * 4096));
  EXPECT_EQ(Begin(*Precomputed(12), 4095), RangeRequest::At(16 * 4095, 16)) << "within it";
}

TEST(OpeningRangeTest, OfALargePrecomputedIndexItIsTheBeginning) {
  for (const unsigned bits : {13u, 40u, 63u}) {
    EXPECT_EQ(Precomputed(bits)->opening_range(), RangeRequest::At(0, kMaxOpeningBytes)) << bits;
  }
}

TEST(OpeningRangeTest, IsWhereTheWalkOfAZarrShardBegins) {
  for (const std::uint64_t chunks : {1u, 64u, 4096u}) {
    for (const char* location : {"start", "end"}) {
      for (const char* after : {"", R"(,{"name":"crc32c"})"}) {
        const auto format = Zarr(chunks, location, after);
        ASSERT_TRUE(format);
        EXPECT_EQ(format->opening_range(), Begin(*format, 0)) << chunks << location << after;
        EXPECT_GE(format->opening_range().size, chunks * 16 + 4);
      }
    }
  }
}

TEST(OpeningRangeTest, OfALargeZarrIndexItIsNothing) {
  for (const char* location : {"start", "end"}) {
    EXPECT_EQ(Zarr(8192, location)->opening_range(), RangeRequest::At(0, 0));
  }
}

TEST(OpeningRangeTest, IsTheBeginningOfAShardThatIsCompressedAsAWhole) {
  const auto format = Zarr(64, "end", R"(,{"name":"gzip","configuration":{"level":1}})");
  ASSERT_TRUE(format);
  ASSERT_TRUE(format->is_wrapped());
  EXPECT_EQ(format->opening_range(), RangeRequest::At(0, kMaxOpeningBytes));
}

}  // namespace
}  // namespace unshard
