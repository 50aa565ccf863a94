#include "codec/schema/schema.h"

#include <gtest/gtest.h>

#include <string>

#include "codec/json/parser.h"
#include "codec/json/writer.h"
#include "codec/pyramid/array_documents.h"
#include "codec/schema/array_schema.h"
#include "codec/schema/new_array.h"

namespace unshard {
namespace {

// The JSON text without spaces.
std::string Text(const JsonValue& value) {
  std::string text = WriteJson(value, 0);
  std::erase(text, ' ');
  return text;
}

// The chunk layout after parsing, as JSON on one line, or the failure.
std::string LayoutJson(const std::string& layout) {
  const auto schema = ParseSchema("{\"chunk_layout\":" + layout + "}");
  if (!schema) return schema.error().message;
  return Text(ChunkLayoutJson(schema->chunk_layout));
}

TEST(ChunkLayout, ChunkFansOutAndItsSoftConstraintsComeFirst) {
  EXPECT_EQ(LayoutJson(R"({"read_chunk": {"elements_soft_constraint": 60},
                       "chunk": {"elements_soft_constraint": 50}})"),
            R"({"write_chunk":{"elements_soft_constraint":50},)"
            R"("read_chunk":{"elements_soft_constraint":50}})");
  EXPECT_EQ(LayoutJson(R"({"chunk": {"aspect_ratio": [1, 2]}})"),
            R"({"write_chunk":{"aspect_ratio":[1.0,2.0]},"read_chunk":{"aspect_ratio":[1.0,2.0]},)"
            R"("codec_chunk":{"aspect_ratio":[1.0,2.0]}})");
}

TEST(ChunkLayout, TheWholeExtentIsASoftConstraint) {
  EXPECT_EQ(LayoutJson(R"({"chunk": {"shape": [-1, 2]}, "read_chunk": {"shape": [5, 2]}})"),
            R"({"write_chunk":{"shape":[null,2],"shape_soft_constraint":[-1,null]},)"
            R"("read_chunk":{"shape":[5,2]}})");
}

TEST(ChunkLayout, HardConstraintsMustAgree) {
  EXPECT_EQ(LayoutJson(R"({"chunk": {"shape": [5, 2]}, "read_chunk": {"shape": [6, 2]}})"),
            "chunk_layout.read_chunk.shape[0]: conflicting values: 5 and 6");
}

TEST(Schema, FailuresNameThePath) {
  const auto message = [](const std::string& text) { return ParseSchema(text).error().message; };
  EXPECT_EQ(message(R"({"domain": {"shape": [4]}, "rank": 3})"),
            "domain: conflicting ranks: 3 and 1");
  EXPECT_EQ(message(R"({"shape": [4]})"),
            "shape: unknown member; known members: rank, dtype, domain, chunk_layout, codec, "
            "fill_value, dimension_units");
  EXPECT_EQ(message(R"({"codec": {"driver": "zarr3", "codecs": ["gzip", "bytes"]}})"),
            "codec.codecs[1]: expected a codec from bytes to bytes, found the string "
            "\"bytes\"");
  EXPECT_EQ(message(R"({"dtype": "uint8", "fill_value": 256})"),
            "fill_value: expected a whole number from 0 to 255, found the number 256");
}

TEST(Schema, TwoSchemasAreMerged) {
  Schema schema = *ParseSchema(R"({"fill_value": 5, "chunk_layout": {"read_chunk":
      {"shape_soft_constraint": [8, 8]}}, "codec": {"driver": "zarr3", "codecs": ["gzip"]}})");
  ASSERT_TRUE(schema.Merge(*ParseSchema(R"({"dtype": "float32", "domain": {"shape": [9, 9]},
      "chunk_layout": {"read_chunk": {"shape": [3, 0]}}, "codec": {"driver": "zarr3", "codecs":
      [{"name": "gzip", "configuration": {"level": 2}}]}})")));
  EXPECT_EQ(Text(*schema.fill_value), "5.0");
  EXPECT_EQ(Text(CodecsJson(*schema.codec->codecs)),
            R"([{"name":"gzip","configuration":{"level":2}}])");
  EXPECT_EQ(Text(ChunkLayoutJson(schema.chunk_layout)),
            R"({"read_chunk":{"shape":[3,null],"shape_soft_constraint":[null,8]}})");
  EXPECT_FALSE(schema.Merge(*ParseSchema(R"({"dtype": "uint8"})")));
}

// "raw, zstd:level" in the order of messages.
std::string ShortNames(Dialect dialect) {
  std::string text;
  for (const ShortCodec& codec : ShortCodecs(dialect)) {
    text += (text.empty() ? "" : ", ") + std::string(codec.name);
    if (!codec.level.empty()) text += ":" + std::string(codec.level);
  }
  return text;
}

TEST(CodecConstraints, OneWordNamesCompressorsAndEncodings) {
  EXPECT_EQ(ShortNames(Dialect::kZarr3), "raw, zstd:level, gzip:level, blosc:clevel");
  EXPECT_EQ(ShortNames(Dialect::kZarr2),
            "raw, zstd:level, gzip:level, zlib:level, blosc:clevel, bz2:level");
  EXPECT_EQ(ShortNames(Dialect::kN5),
            "raw, zstd:level, gzip:level, blosc, bzip2:blockSize, xz:preset");
  EXPECT_EQ(ShortNames(Dialect::kPrecomputed), "raw, compressed_segmentation, jpeg, png, jxl");
}

TEST(CodecConstraints, TheItemsDecideWhatTheDefinitionSays) {
  const auto codec = [](Dialect dialect, std::uint32_t item_size) {
    return Text(CodecConstraintsJson({dialect, {{DefaultCompressor(dialect, item_size)}}}));
  };
  EXPECT_EQ(codec(Dialect::kZarr2, 1),
            R"({"driver":"zarr","compressor":{"id":"blosc","cname":"lz4","clevel":5,)"
            R"("shuffle":-1,"blocksize":0}})");
  EXPECT_EQ(codec(Dialect::kN5, 1),
            R"({"driver":"n5","compression":{"type":"blosc","cname":"lz4","clevel":5,)"
            R"("shuffle":2,"blocksize":0}})");
  EXPECT_EQ(codec(Dialect::kN5, 4),
            R"({"driver":"n5","compression":{"type":"blosc","cname":"lz4","clevel":5,)"
            R"("shuffle":1,"blocksize":0}})");
  const auto blosc = CompleteCodec(CodecOfZarr3("blosc"), 0);
  ASSERT_TRUE(blosc);
  EXPECT_EQ(Text(*blosc->configuration()),
            R"({"cname":"lz4","clevel":5,"shuffle":"noshuffle","blocksize":0})");
}

TEST(SchemaOf, AValueThatTheTypeDoesNotHaveIsAString) {
  const auto document = ParseJson(R"({"zarr_format": 3, "node_type": "array", "shape": [4],
      "data_type": "uint8", "chunk_grid": {"name": "regular", "configuration": {"chunk_shape":
      [4]}}, "chunk_key_encoding": {"name": "default"}, "fill_value": NaN, "codecs": ["bytes"]})");
  const auto array = ParseArray(Dialect::kZarr3, *document, JsonValue());
  EXPECT_EQ(*SchemaOf(*array)->Find("fill_value"), JsonValue::String("NaN"));
}

TEST(NewArray, ShardsAreChosenFromWriteChunks) {
  const auto schema = ParseSchema(R"({"dtype": "uint16", "domain": {"shape": [40, 40]},
      "chunk_layout": {"read_chunk": {"shape": [2, 5]}, "write_chunk": {"shape": [4, 10]},
      "inner_order": [1, 0]}, "codec": {"driver": "zarr3", "codecs": ["gzip"]}})");
  EXPECT_EQ(Text(*DocumentOfNew(*NewArray(Dialect::kZarr3, *schema))->Find("codecs")),
            R"([{"name":"sharding_indexed","configuration":{"chunk_shape":[2,5],"codecs":[)"
            R"({"name":"transpose","configuration":{"order":[1,0]}},)"
            R"({"name":"bytes","configuration":{"endian":"little"}},)"
            R"({"name":"gzip","configuration":{"level":6}}],"index_codecs":[)"
            R"({"name":"bytes","configuration":{"endian":"little"}},{"name":"crc32c"}]}}])");
}

TEST(NewArray, PrecomputedTakesReadChunksFromReadConstraintsAlone) {
  const auto schema = ParseSchema(R"({"dtype": "uint8", "domain": {"shape": [1000, 1000, 1000, 1]},
      "chunk_layout": {"write_chunk": {"shape": [50, 50, 50, 0]}}})");
  const auto info = NewArray(Dialect::kPrecomputed, *schema);
  ASSERT_FALSE(info);
  EXPECT_NE(info.error().message.find("make it a soft constraint"), std::string::npos);
}

TEST(NewArray, WhatAFormatLacksIsNamed) {
  const auto schema = ParseSchema(R"({"dtype": "bool", "domain": {"shape": [4]}})");
  EXPECT_EQ(NewArray(Dialect::kN5, *schema).error().message, "dtype: N5 has no bool");
  EXPECT_EQ(NewArray(Dialect::kZarr2, *ParseSchema(R"({"dtype": "uint8"})"))
                .error()
                .message.substr(0, 15),
            "domain: missing");
}

}  // namespace
}  // namespace unshard
