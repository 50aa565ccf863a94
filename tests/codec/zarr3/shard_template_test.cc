#include "codec/zarr3/shard_template.h"

#include <gtest/gtest.h>

#include <string>

#include "codec/json/json.h"
#include "codec/json/parser.h"
#include "codec/json/writer.h"
#include "codec/zarr3/document.h"

namespace unshard {
namespace {

constexpr std::string_view kArray = R"({"zarr_format": 3, "node_type": "array",
  "shape": [20, 33], "data_type": "uint16", "fill_value": 0,
  "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [5, 8]}},
  "chunk_key_encoding": {"name": "default"},
  "codecs": [{"name": "transpose", "configuration": {"order": [1, 0]}},
             {"name": "bytes", "configuration": {"endian": "little"}}], "mine": 1.50})";

std::optional<std::string> Sharded(std::string_view text, std::string_view shards) {
  const auto parsed = ParseShardTemplate(shards);
  EXPECT_TRUE(parsed) << shards;
  return WithShards(text, *parsed);
}

// The shape of the shards, as JSON.
std::string ShardShape(std::string_view shards) {
  const auto text = Sharded(kArray, shards);
  if (!text) return "none";
  const auto document = ParseJson(*text);
  return WriteJson(*document->Find("chunk_grid")->Find("configuration")->Find("chunk_shape"), 0);
}

TEST(ShardTemplate, ExtentsAreInElementsOrChunks) {
  EXPECT_EQ(ShardShape("10x16"), "[10, 16]");
  EXPECT_EQ(ShardShape("2cx16"), "[10, 16]");
  EXPECT_EQ(ShardShape("3c"), "[15, 24]");
}

TEST(ShardTemplate, ShardsAreWholeChunksOfTheArray) {
  EXPECT_EQ(ShardShape("11x9"), "[15, 16]");
  EXPECT_EQ(ShardShape("1000"), "[20, 40]");
  EXPECT_EQ(ShardShape("1x1000"), "[5, 40]");
}

TEST(ShardTemplate, ShardsOfOneChunkAreNone) {
  EXPECT_EQ(ShardShape("1c"), "none");
  EXPECT_EQ(ShardShape("5x8"), "none");
}

TEST(ShardTemplate, AnotherRankIsNone) { EXPECT_EQ(ShardShape("2cx2cx2c"), "none"); }

TEST(ShardTemplate, ReadersSeeTheArrayThatWasWritten) {
  const auto node = ParseZarrMetadata(*Sharded(kArray, "2c"));
  ASSERT_TRUE(node) << node.error().message;
  ASSERT_TRUE(node->sharded);
  EXPECT_EQ(*ParseJson(node->unsharded_text), *ParseJson(kArray));
}

TEST(ShardTemplate, WhatIsShardedAlreadyOrNoArrayStays) {
  const std::string sharded = *Sharded(kArray, "2c");
  EXPECT_FALSE(Sharded(sharded, "2c"));
  EXPECT_FALSE(Sharded(R"({"zarr_format": 3, "node_type": "group"})", "2c"));
  EXPECT_FALSE(Sharded("{", "2c"));
}

TEST(ShardTemplate, BadTemplatesAreRefused) {
  for (const char* text : {"", "0", "8y", "8x", "x8", "-1", "8c8", "c", "99999999999999999999"}) {
    const auto parsed = ParseShardTemplate(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().code, ErrorCode::kInvalidArgument);
  }
}

}  // namespace
}  // namespace unshard
