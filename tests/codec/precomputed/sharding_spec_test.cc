#include <gtest/gtest.h>

#include <string>

#include "codec/json/cursor.h"
#include "codec/json/parser.h"
#include "codec/precomputed/shard.h"

namespace unshard {
namespace {

constexpr std::string_view kComplete = R"({
  "@type": "neuroglancer_uint64_sharded_v1", "preshift_bits": 9, "hash": "identity",
  "minishard_bits": 6, "shard_bits": 15, "minishard_index_encoding": "gzip",
  "data_encoding": "gzip"})";

// Parses the complete specification after `edit` set `key` to the JSON text `value`, "" to erase.
Result<ShardingSpec> ParsedWith(const std::string& key, const std::string& value) {
  JsonValue sharding = *ParseJson(kComplete);
  if (value.empty()) {
    sharding.Erase(key);
  } else {
    sharding.Set(key, *ParseJson(value));
  }
  return ParseShardingSpec(JsonCursor(sharding, "sharding"));
}

std::string Refusal(const std::string& key, const std::string& value) {
  const auto spec = ParsedWith(key, value);
  EXPECT_FALSE(spec) << key << " " << value;
  if (spec) return "";
  EXPECT_EQ(spec.error().code, ErrorCode::kDataLoss);
  return spec.error().message;
}

TEST(ShardingSpec, CompleteSpecificationIsRead) {
  const auto spec = ParsedWith("unknown", "1");
  ASSERT_TRUE(spec);
  EXPECT_EQ(spec->preshift_bits, 9U);
  EXPECT_EQ(spec->hash, ChunkIdHash::kIdentity);
  EXPECT_EQ(spec->minishard_bits, 6U);
  EXPECT_EQ(spec->shard_bits, 15U);
  EXPECT_EQ(spec->minishard_index_encoding, ShardEncoding::kGzip);
  EXPECT_EQ(spec->data_encoding, ShardEncoding::kGzip);
}

TEST(ShardingSpec, AbsentEncodingsAreRaw) {
  EXPECT_EQ(ParsedWith("data_encoding", "")->data_encoding, ShardEncoding::kRaw);
  EXPECT_EQ(ParsedWith("minishard_index_encoding", "")->minishard_index_encoding,
            ShardEncoding::kRaw);
}

TEST(ShardingSpec, EnumeratorsAreReadInAnyCase) {
  EXPECT_EQ(ParsedWith("data_encoding", "\"RAW\"")->data_encoding, ShardEncoding::kRaw);
  EXPECT_EQ(ParsedWith("data_encoding", "\"GZip\"")->data_encoding, ShardEncoding::kGzip);
  EXPECT_EQ(ParsedWith("hash", "\"MurmurHash3_x86_128\"")->hash, ChunkIdHash::kMurmurHash3X86_128);
}

TEST(ShardingSpec, BitsUpTo64AreAccepted) {
  EXPECT_EQ(ParsedWith("preshift_bits", "64")->preshift_bits, 64U);
  EXPECT_EQ(ParsedWith("preshift_bits", "0")->preshift_bits, 0U);
  EXPECT_EQ(ParsedWith("shard_bits", "58")->shard_bits, 58U);
  EXPECT_EQ(ParsedWith("minishard_bits", "49")->minishard_bits, 49U);
}

TEST(ShardingSpec, WhatCannotBeReadIsRefusedByName) {
  EXPECT_EQ(Refusal("preshift_bits", "65"),
            "sharding.preshift_bits: expected a whole number from 0 to 64, found the number 65");
  EXPECT_EQ(Refusal("shard_bits", "59"),
            "sharding.shard_bits: expected a whole number from 0 to 58, found the number 59");
  EXPECT_EQ(Refusal("hash", "\"md5\""),
            "sharding.hash: expected \"identity\" or \"murmurhash3_x86_128\", found the string "
            "\"md5\"");
  EXPECT_EQ(Refusal("@type", "\"Neuroglancer_uint64_sharded_v1\"").substr(0, 15),
            "sharding.@type:");
  for (const std::string key : {"@type", "preshift_bits", "hash", "minishard_bits", "shard_bits"}) {
    EXPECT_EQ(Refusal(key, ""), "sharding." + key + ": expected a value, found nothing");
    Refusal(key, "null");
    Refusal(key, "-1");
    Refusal(key, "[]");
  }
  Refusal("data_encoding", "\"zstd\"");
  Refusal("minishard_index_encoding", "3");
}

}  // namespace
}  // namespace unshard
