// What shard formats ask for when a shard is opened.
#include <gtest/gtest.h>

#include <string>

#include "codec/precomputed/shard.h"
#include "codec/zarr3/document.h"

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

// The shard index of 2^bits minishards with these ranges, from the end of the index on.
ByteVector ShardIndexOf(std::initializer_list<ByteRange> pages) {
  ByteVector index;
  for (const ByteRange& page : pages) {
    AppendU64Le(index, page.begin);
    AppendU64Le(index, page.end());
  }
  return index;
}

TEST(OpeningRangeTest, TrailingPageBytesAreTheEndWithAllPages) {
  const auto bytes = [](std::initializer_list<ByteRange> pages, std::uint64_t object_size) {
    return Precomputed(2)->TrailingPageBytes(ShardIndexOf(pages), object_size);
  };
  // The index takes 64 bytes. CloudVolume: all pages at the end, in any order, some of them empty.
  EXPECT_EQ(bytes({{500, 10}, {510, 20}, {530, 5}, {535, 1}}, 64 + 536), 36u);
  EXPECT_EQ(bytes({{530, 5}, {0, 0}, {500, 30}, {0, 0}}, 64 + 535), 35u);
  EXPECT_EQ(bytes({{0, 0}, {0, 0}, {500, 30}, {7, 0}}, 64 + 530), 30u);
  // TensorStore: each behind its chunks.
  EXPECT_EQ(bytes({{100, 10}, {200, 10}, {300, 10}, {400, 10}}, 64 + 410), 0u);
  // Something behind them, or missing; ranges that no object has; no chunks.
  EXPECT_EQ(bytes({{500, 10}, {510, 20}, {530, 5}, {535, 1}}, 64 + 537), 0u);
  EXPECT_EQ(bytes({{500, 10}, {510, 20}, {530, 5}, {535, 1}}, 64 + 535), 0u);
  EXPECT_EQ(bytes({{500, ~std::uint64_t{0}}, {510, 20}, {530, 5}, {535, 1}}, 64 + 536), 0u);
  EXPECT_EQ(bytes({{0, 0}, {0, 0}, {0, 0}, {0, 0}}, 64), 0u);
  EXPECT_EQ(bytes({{0, 1}, {1, 1}, {2, 1}, {3, 1}}, 10), 0u);
  EXPECT_EQ(Precomputed(3)->TrailingPageBytes(ShardIndexOf({{500, 10}}), 1000), 0u)
      << "only a part of the index";
  const auto zarr = Zarr(64, "end");
  EXPECT_EQ(zarr->TrailingPageBytes(ByteVector(64 * 16 + 4), 5000), 0u);
}

TEST(OpeningRangeTest, OfALargePrecomputedIndexItIsTheBeginning) {
  for (const unsigned bits : {13u, 40u, 63u}) {
    EXPECT_EQ(Precomputed(bits)->opening_range(), RangeRequest::At(0, kMaxOpeningBytes)) << bits;
  }
}

TEST(OpeningRangeTest, IsWhereTheWalkOfAZarrShardBegins) {
  for (const std::uint64_t chunks : {1u, 64u, 4096u, 32768u}) {
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
    EXPECT_EQ(Zarr(131072, location)->opening_range(), RangeRequest::At(0, 0));
  }
}

TEST(OpeningRangeTest, IsTheBeginningOfAShardThatIsCompressedAsAWhole) {
  const auto format = Zarr(64, "end", R"(,{"name":"gzip","configuration":{"level":1}})");
  ASSERT_TRUE(format);
  ASSERT_TRUE(format->has_outer_codecs());
  EXPECT_EQ(format->opening_range(), RangeRequest::At(0, kMaxOpeningBytes));
}

}  // namespace
}  // namespace unshard
