#include "codec/zarr3/document.h"

#include <gtest/gtest.h>

#include <string>

#include "codec/json/parser.h"
#include "codec/json/writer.h"
#include "codec/pyramid/block_plan.h"
#include "codec/schema/array_schema.h"
#include "tests/support/array_texts.h"
#include "tests/support/broken_documents.h"

namespace unshard {
namespace {

constexpr const char* kSharded = R"({
  "zarr_format": 3, "node_type": "array", "shape": [100, 200], "data_type": "uint16",
  "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [64, 32]}},
  "chunk_key_encoding": {"name": "default", "configuration": {"separator": "."}},
  "fill_value": 7,
  "codecs": [{"name": "sharding_indexed", "configuration": {
    "chunk_shape": [16, 8],
    "codecs": [{"name": "transpose", "configuration": {"order": [1, 0]}},
               {"name": "bytes", "configuration": {"endian": "big"}},
               {"name": "gzip", "configuration": {"level": 5}}],
    "index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}]}}],
  "attributes": {"note": [1, 2], "dimension_units": ["4 nm", null]},
  "dimension_names": ["y", null]})";

TEST(Zarr3Array, AShardedOneIsDescribedByItsInnerChunks) {
  const auto array = ParseZarr3Array(kSharded);
  ASSERT_TRUE(array) << array.error().message;
  EXPECT_EQ(array->data_type, (DataType{DataType::Kind::kUnsigned, 2}));
  EXPECT_EQ(array->shape, (std::vector<std::uint64_t>{100, 200}));
  EXPECT_EQ(array->chunk_shape, (std::vector<std::uint64_t>{16, 8}));
  EXPECT_EQ(array->shard_shape, (std::vector<std::uint64_t>{64, 32}));
  EXPECT_EQ(array->origin, (std::vector<std::int64_t>{0, 0}));
  EXPECT_EQ(array->fill_value, (ByteVector{7, 0}));
  EXPECT_EQ(array->key_encoding.separator, '.');
  EXPECT_EQ(array->axis_names[0], "y");
  EXPECT_EQ(array->axis_names[1], std::nullopt);
  EXPECT_EQ(array->units[0], (DimensionUnit{4, "nm"}));
  EXPECT_EQ(WriteJson(array->attributes, 0), R"({"note": [1, 2]})");
  const auto items = PlainItemsOf(*array->codec);
  ASSERT_TRUE(items);
  EXPECT_TRUE(items->big_endian);
  EXPECT_EQ(items->order, (std::vector<std::size_t>{1, 0}));
  ASSERT_EQ(items->compression.size(), 1u);
  EXPECT_EQ(items->compression[0].name, "gzip");
}

TEST(Zarr3Array, IsReadAndWrittenUnchanged) {
  const auto array = ParseZarr3Array(kSharded);
  const auto document = WriteZarr3Array(*array);
  ASSERT_TRUE(document) << document.error().message;
  EXPECT_EQ(*document, ParseJson(kSharded).value());
}

TEST(Zarr3Array, AShardShapeAloneGivesTheChainOfTensorStore) {
  Array array = ParseZarr3Array(kSharded).value();
  array.sharding = JsonValue();
  EXPECT_EQ(*WriteZarr3Array(array), ParseJson(kSharded).value());
  array.shard_shape.reset();
  const JsonValue unsharded = WriteZarr3Array(array).value();
  EXPECT_EQ(*unsharded.Find("codecs"), array.codec_json);
  EXPECT_EQ(ParseZarr3Array(WriteJson(unsharded))->chunk_shape, array.chunk_shape);
}

TEST(Zarr3Array, AnEmptyAxisMayHaveChunksOfNothing) {
  JsonValue document = ParseJson(WithMember(kSharded, "codecs", "[\"bytes\"]")).value();
  document.Set("chunk_grid", ParseJson(R"({"name": "regular", "configuration": {
                               "chunk_shape": [1, 0]}})")
                                 .value());
  EXPECT_EQ(ParseZarrMetadata(WriteJson(document)).error().code, ErrorCode::kDataLoss);
  document.Set("shape", ParseJson("[3, 0]").value());
  const auto array = ParseZarr3Array(WriteJson(document));
  ASSERT_TRUE(array) << array.error().message;
  EXPECT_EQ(array->chunk_shape, (std::vector<std::uint64_t>{1, 1}));
  const auto node = ParseZarrMetadata(WriteJson(document));
  ASSERT_TRUE(node) << node.error().message;
  EXPECT_TRUE(SchemaOf(*array));
}

TEST(Zarr3Array, AnOriginCannotBeWritten) {
  Array array = ParseZarr3Array(kSharded).value();
  array.origin = {0, 5};
  EXPECT_EQ(WriteZarr3Array(array).error().code, ErrorCode::kInvalidArgument);
}

TEST(Zarr3Array, UnitsOfAnotherFormRemainAttributes) {
  const auto array =
      ParseZarr3Array(WithMember(kSharded, "attributes", R"({"dimension_units": "nm"})"));
  ASSERT_TRUE(array) << array.error().message;
  EXPECT_TRUE(array->units.empty());
  EXPECT_NE(array->attributes.Find("dimension_units"), nullptr);
}

TEST(Zarr3Array, FailuresNameTheMember) {
  const BrokenMember members[] = {
      {"zarr_format", "2", ErrorCode::kDataLoss, "zarr_format: expected"},
      {"node_type", "\"group\"", ErrorCode::kDataLoss, "node_type: expected \"array\""},
      {"data_type", "\"string\"", ErrorCode::kNotSupported, "data_type: \"string\""},
      {"fill_value", "70000", ErrorCode::kDataLoss, "fill_value: expected"},
      {"chunk_grid", R"({"name": "hexagonal", "configuration": {}})", ErrorCode::kNotSupported,
       "chunk_grid: \"hexagonal\""},
      {"chunk_grid", R"({"name": "rectilinear", "configuration": {}})", ErrorCode::kDataLoss,
       "chunk_grid.configuration.kind"},
      {"chunk_grid", R"({"name": "regular", "configuration": {"chunk_shape": [64]}})",
       ErrorCode::kDataLoss, "chunk_grid.configuration.chunk_shape: expected 2 extents"},
      {"chunk_key_encoding", R"({"name": "suffix"})", ErrorCode::kNotSupported,
       "chunk_key_encoding: unsupported chunk key encoding \"suffix\""},
      {"codecs", R"(["bytes", "numcodecs.zfpy"])", ErrorCode::kNotSupported,
       "codecs[1]: the codec \"numcodecs.zfpy\""},
      {"codecs", R"([{"name": "transpose", "configuration": {"order": [0, 0]}}, "bytes"])",
       ErrorCode::kDataLoss, "codecs[0].configuration.order: expected a permutation"},
      {"codecs", R"([{"name": "bytes", "configuration": {"endian": "middle"}}])",
       ErrorCode::kDataLoss, "codecs[0].configuration.endian: expected"},
      {"codecs", "[]", ErrorCode::kDataLoss, "codecs: expected a chain with the codec \"bytes\""},
      {"dimension_names", "[\"x\"]", ErrorCode::kDataLoss, "dimension_names: expected"},
      {"storage_transformers", "[{\"name\": \"x\"}]", ErrorCode::kNotSupported,
       "storage_transformers: "},
      {"attributes", "[]", ErrorCode::kDataLoss, "attributes: expected an object"}};
  ExpectFailures(kSharded, members, [](const std::string& text) { return ParseZarr3Array(text); });
}

}  // namespace
}  // namespace unshard
