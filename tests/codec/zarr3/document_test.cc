#include "codec/zarr3/document.h"
#include "codec/json/parser.h"
#include "codec/json/writer.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace unshard {
namespace {

using Shape = std::vector<std::uint64_t>;

const std::string kBytes = R"({"name": "bytes", "configuration": {"endian": "little"}})";
const std::string kGzip = R"({"name": "gzip", "configuration": {"level": 5}})";

// An array of [16, 20] in chunks of [8, 10]; `more` are further members.
std::string DocumentOf(const std::string& codecs, const std::string& more = "",
                       const std::string& encoding = R"({"name": "default"})",
                       const std::string& data_type = R"("int16")") {
  return R"({"zarr_format": 3, "node_type": "array", "shape": [16, 20], "data_type": )" +
         data_type + R"(, "chunk_grid": {"name": "regular", "configuration": )" +
         R"({"chunk_shape": [8, 10]}}, "chunk_key_encoding": )" + encoding +
         R"(, "fill_value": 0, "codecs": )" + codecs + more + "}";
}

std::string Sharding(const std::string& chunk_shape, const std::string& inner,
                     const std::string& index = R"(["bytes", "crc32c"])") {
  return R"({"name": "sharding_indexed", "configuration": {"chunk_shape": )" + chunk_shape +
         R"(, "codecs": )" + inner + R"(, "index_codecs": )" + index + "}}";
}

ZarrNode Parse(const std::string& text) {
  auto node = ParseZarrMetadata(text);
  EXPECT_TRUE(node) << node.error().message << "\n" << text;
  return node ? *std::move(node) : ZarrNode();
}

JsonValue ShownMember(const ZarrNode& node, std::string_view key) {
  const auto document = ParseJson(node.unsharded_text);
  EXPECT_TRUE(document) << node.unsharded_text;
  const JsonValue* member = document ? document->Find(key) : nullptr;
  return member != nullptr ? *member : JsonValue::String("absent");
}

void ExpectShown(const ZarrNode& node, std::string_view key, const std::string& expected) {
  EXPECT_EQ(WriteJson(ShownMember(node, key), 0), WriteJson(*ParseJson(expected), 0));
}

void ExpectFailure(const std::string& text, ErrorCode code, const std::string& part) {
  const auto node = ParseZarrMetadata(text);
  ASSERT_FALSE(node) << text;
  EXPECT_EQ(node.error().code, code) << node.error().message;
  EXPECT_NE(node.error().message.find(part), std::string::npos) << node.error().message;
}

TEST(ZarrMetadataTest, ShowsTheUnshardedEquivalent) {
  const std::string more = R"(, "attributes": {"n": 18446744073709551615, "f": 1.50, "x": NaN},
    "zz": {"must_understand": false}, "dimension_names": ["y", null])";
  const std::string sharded =
      DocumentOf("[" + Sharding("[4, 5]", "[" + kBytes + ", " + kGzip + "]") + "]", more);
  auto expected = *ParseJson(sharded);
  expected.Set("codecs", *ParseJson("[" + kBytes + "," + kGzip + "]"));
  expected.Find("chunk_grid")->Find("configuration")->Set("chunk_shape", *ParseJson("[4,5]"));
  const ZarrNode node = Parse(sharded);
  EXPECT_EQ(node.unsharded_text, WriteJson(expected));
  EXPECT_EQ(node.type, ZarrNode::Type::kArray);
  EXPECT_EQ(node.array.type_name, "int16");
  EXPECT_EQ(node.array.shape, (Shape{16, 20}));
  EXPECT_EQ(node.array.chunk_shape, (Shape{4, 5}));
  EXPECT_EQ(Describe(node.array).encoding, "bytes, gzip");
  ASSERT_TRUE(node.sharded);
  EXPECT_EQ(node.sharded->grid.grid_shape(), (Shape{4, 4}));
  EXPECT_EQ(node.sharded->shard_grid.grid_shape(), (Shape{2, 2}));
  EXPECT_EQ(node.sharded->keys->Key(3), "c/1/1");
  EXPECT_EQ(node.sharded->locator->Locate(GridCell{3, 1}), (ShardSlot{2, 0, 3}));
}

TEST(ZarrMetadataTest, WhatOnlyVoxelsNeedFailsNothingElse) {
  const ZarrNode unknown = Parse(DocumentOf("[" + kBytes + R"(, {"name": "x.unknown"}])"));
  EXPECT_EQ(unknown.array.voxels.error().code, ErrorCode::kNotSupported);
  EXPECT_EQ(unknown.array.data_type, (DataType{DataType::Kind::kSigned, 2}));
  EXPECT_EQ(unknown.array.codec, nullptr);
  const ZarrNode extended =
      Parse(DocumentOf("[" + kBytes + "]", R"(, "scramble": {"must_understand": true})"));
  EXPECT_EQ(extended.array.voxels.error().code, ErrorCode::kNotSupported);
  EXPECT_NE(extended.array.voxels.error().message.find("scramble"), std::string::npos);
  const std::string unequal = DocumentOf("[" + Sharding("[3, 5]", "[" + kBytes + "]") + "]");
  const auto node = ParseZarrNode(*ParseJson(unequal));
  ASSERT_TRUE(node) << node.error().message;
  EXPECT_EQ(node->presentable.error().code, ErrorCode::kNotSupported);
  EXPECT_EQ(node->array.voxels.error().message, node->presentable.error().message);
  EXPECT_EQ(node->array.shard_shape, (Shape{8, 10}));
  EXPECT_FALSE(ParseZarrMetadata(*ParseJson(unequal)));
}

TEST(ZarrMetadataTest, KeepsTheTextOfUnshardedArraysAndGroups) {
  for (const std::string& text :
       {" " + DocumentOf("[" + kBytes + "]") + "\n",
        DocumentOf("[" + kBytes + R"(, {"name": "x.unknown", "configuration": {"a": 1}}])"),
        DocumentOf("[" + kBytes + "]", R"(, "unknown": 7)"),
        std::string(R"({"zarr_format":3,"node_type":"group"})"),
        std::string(R"({"zarr_format":3,"node_type":"group","consolidated_metadata":null})")}) {
    const ZarrNode node = Parse(text);
    EXPECT_EQ(node.unsharded_text, text);
    EXPECT_FALSE(node.sharded);
  }
}

TEST(ZarrMetadataTest, SpellsOutFormsThatCurrentReadersRefuse) {
  ExpectShown(Parse(DocumentOf(R"(["bytes", "crc32c"])")), "codecs",
              R"([{"name": "bytes"}, {"name": "crc32c"}])");
  ExpectShown(Parse(DocumentOf(R"([{"name": "endian", "configuration": {"endian": "big"}}])")),
              "codecs", R"([{"name": "bytes", "configuration": {"endian": "big"}}])");
  ExpectShown(Parse(DocumentOf(R"([{"name": "https://purl.org/zarr/spec/codec/endian/1.0"}])")),
              "codecs", R"([{"name": "bytes"}])");
  ExpectShown(
      Parse(DocumentOf(R"([{"name": "transpose", "configuration": {"order": "F"}}, "bytes"])")),
      "codecs",
      R"([{"name": "transpose", "configuration": {"order": [1, 0]}}, {"name": "bytes"}])");
  ExpectShown(Parse(DocumentOf(R"([{"name": "bytes", "configuration": null}])")), "codecs",
              R"([{"name": "bytes"}])");
  ExpectShown(Parse(DocumentOf(R"([{"name": "bytes", "must_understand": true}])")), "codecs",
              R"([{"name": "bytes"}])");
  ExpectShown(Parse(DocumentOf("[" + kBytes + "]", "", R"("v2")")), "chunk_key_encoding",
              R"({"name": "v2"})");
  ExpectShown(Parse(DocumentOf("[" + kBytes + "]", "", "\"v2\"", R"({"name": "int16"})")),
              "data_type", R"("int16")");
  ExpectShown(Parse(DocumentOf("[" + kBytes + "]", R"(, "dimension_names": null)")),
              "dimension_names", R"("absent")");
  ExpectShown(Parse(DocumentOf("[" + kBytes + "]", "", "\"v2\"", R"("bool")")), "fill_value",
              "false");
}

TEST(ZarrMetadataTest, KeepsFormsThatCurrentReadersTake) {
  const std::string parametric =
      R"({"name": "numpy.datetime64", "configuration": {"unit": "s", "scale_factor": 1}})";
  ExpectShown(Parse(DocumentOf("[" + kBytes + "]", "", "\"v2\"", parametric)), "data_type",
              parametric);
  const std::string unknown = R"([{"name": "x", "must_understand": false}])";
  ExpectShown(Parse(DocumentOf(unknown, "", "\"v2\"")), "codecs", unknown);
}

TEST(ZarrMetadataTest, FlattensNestedShardingAndKeepsInnerCodecsAsTheyAre) {
  const std::string unknown = R"({"name": "x.unknown", "configuration": {"deep": [1.0]}})";
  const std::string inner = "[" + Sharding("[2, 5]", "[" + kBytes + "," + unknown + "]") + "]";
  const ZarrNode node = Parse(DocumentOf("[" + Sharding("[4, 5]", inner) + R"(, "crc32c"])"));
  ExpectShown(node, "codecs", "[" + kBytes + "," + unknown + "]");
  EXPECT_EQ(node.array.chunk_shape, (Shape{2, 5}));
  ASSERT_TRUE(node.sharded);
  EXPECT_EQ(node.sharded->format->page_count(), 4u);
}

TEST(ZarrMetadataTest, ReadsTheInnerShapeInTransposedDimensions) {
  const std::string transpose = R"({"name": "transpose", "configuration": {"order": [1, 0]}})";
  const ZarrNode node =
      Parse(DocumentOf("[" + transpose + "," + Sharding("[5, 4]", "[" + kBytes + "]") + "]"));
  EXPECT_EQ(node.array.chunk_shape, (Shape{4, 5}));
  ExpectShown(node, "codecs", "[" + transpose + "," + kBytes + "]");
}

TEST(ZarrMetadataTest, TakesElementwiseCodecsBeforeSharding) {
  const std::string cast = R"({"name": "cast_value", "configuration": {"data_type": "int8"}})";
  const ZarrNode node =
      Parse(DocumentOf("[" + cast + "," + Sharding("[4, 5]", "[" + kBytes + "]") + "]"));
  ExpectShown(node, "codecs", "[" + cast + "," + kBytes + "]");
}

TEST(ZarrMetadataTest, ReadsBothKeyEncodings) {
  const std::string codecs = "[" + Sharding("[4, 5]", R"(["bytes"])") + "]";
  const auto key = [&](const std::string& encoding) {
    const ZarrNode node = Parse(DocumentOf(codecs, "", encoding));
    return node.sharded ? node.sharded->keys->Key(1) : "none";
  };
  EXPECT_EQ(key(R"("default")"), "c/0/1");
  EXPECT_EQ(key(R"({"name": "default", "configuration": {"separator": "."}})"), "c.0.1");
  EXPECT_EQ(key(R"({"name": "v2"})"), "0.1");
  EXPECT_EQ(key(R"({"name": "v2", "configuration": {"separator": "/"}})"), "0/1");
  ExpectFailure(DocumentOf(codecs, "", R"("x.fan")"), ErrorCode::kNotSupported, "x.fan");
  ExpectFailure(DocumentOf(codecs, "", R"({"name": "v2", "configuration": {"separator": "-"}})"),
                ErrorCode::kDataLoss, "chunk_key_encoding.configuration.separator");
}

TEST(ZarrMetadataTest, RefusesCodecsThatHideTheIndexByName) {
  const std::string sharding = Sharding("[4, 5]", R"(["bytes"])");
  const auto refuse = [](const std::string& codecs, const std::string& name) {
    ExpectFailure(DocumentOf(codecs), ErrorCode::kNotSupported, name);
  };
  refuse("[" + sharding + R"(, "x.unknown"])", "codecs[1]: \"x.unknown\"");
  refuse(R"([{"name": "reshape", "configuration": {"shape": [-1]}}, )" + sharding + "]", "reshape");
  refuse(R"(["numcodecs.delta", )" + sharding + "]", "numcodecs.delta");
  refuse("[" + Sharding("[4, 5]", "[\"bytes\"]", "[\"bytes\", " + kGzip + "]") + "]", "gzip");
  refuse("[" + Sharding("[4, 5]", "[\"bytes\"]", R"(["bytes", "x.sum"])") + "]", "x.sum");
  refuse("[" + Sharding("[4, 5]", "[\"bytes\"]", R"(["vlen-bytes"])") + "]", "vlen-bytes");
  refuse("[" + Sharding("[4, 5]", "[" + sharding + "," + kGzip + "]") + "]", "gzip");
}

TEST(ZarrMetadataTest, RefusesShapesThatDoNotDivide) {
  ExpectFailure(DocumentOf("[" + Sharding("[3, 5]", R"(["bytes"])") + "]"),
                ErrorCode::kNotSupported, "codecs[0].configuration.chunk_shape[0]");
  ExpectFailure(DocumentOf("[" + Sharding("[4, 20]", R"(["bytes"])") + "]"),
                ErrorCode::kNotSupported, "chunk_shape[1]");
}

TEST(ZarrMetadataTest, NamesWhatIsBroken) {
  const auto broken = [](const std::string& text, const std::string& path) {
    ExpectFailure(text, ErrorCode::kDataLoss, path);
  };
  broken(DocumentOf("[" + Sharding("[0, 5]", R"(["bytes"])") + "]"),
         "codecs[0].configuration.chunk_shape[0]");
  broken(DocumentOf("[" + Sharding("[4]", R"(["bytes"])") + "]"),
         "codecs[0].configuration.chunk_shape");
  broken(DocumentOf("[" + Sharding("[4, 5]", "[]") + "]"), "codecs[0].configuration.codecs");
  broken(DocumentOf("[" + Sharding("[4, 5]", "[\"bytes\"]", "[]") + "]"), "index_codecs");
  broken(DocumentOf("[" + Sharding("[4, 5]", "[\"bytes\"]", "[7]") + "]"), "index_codecs[0]");
  broken(DocumentOf(R"([{"name": "sharding_indexed"}])"), "codecs[0]");
  broken(DocumentOf("[5]"), "codecs[0]");
  broken(DocumentOf("{}"), "codecs");
  broken(DocumentOf(R"([{"name": "transpose", "configuration": {"order": [0, 0]}}, )" +
                    Sharding("[4, 5]", R"(["bytes"])") + "]"),
         "codecs[0].configuration.order");
  broken(R"({"zarr_format": 2, "shape": [1]})", "zarr_format");
  broken(R"({"zarr_format": 3, "node_type": "bush"})", "node_type");
  broken("[]", "expected an object");
  std::string zero = DocumentOf("[\"bytes\"]");
  zero.replace(zero.find("[8, 10]"), 7, "[8, 0]");
  broken(zero, "chunk_grid.configuration.chunk_shape[1]");
  std::string huge = DocumentOf("[\"bytes\"]");
  huge.replace(huge.find("[16, 20]"), 8, "[9223372036854775807, 9223372036854775807]");
  broken(huge, "chunk_grid.configuration.chunk_shape");
}

TEST(ZarrMetadataTest, BoundsTheEntriesOfAnIndex) {
  std::string text = DocumentOf("[" + Sharding("[1, 1]", R"(["bytes"])") + "]");
  text.replace(text.find("[8, 10]"), 7, "[65536, 65536]");
  ExpectFailure(text, ErrorCode::kNotSupported, "2^30");
}

TEST(ZarrMetadataTest, RefusesStorageTransformers) {
  ExpectFailure(DocumentOf("[" + kBytes + "]", R"(, "storage_transformers": [{"name": "x"}])"),
                ErrorCode::kNotSupported, "storage_transformers");
  Parse(DocumentOf("[" + kBytes + "]", R"(, "storage_transformers": [])"));
}

using ShardLocations = std::vector<std::pair<GridCell, ShardSlot>>;

std::string WithGrid(std::string document, const std::string& grid) {
  const std::string regular = R"({"name": "regular", "configuration": {"chunk_shape": [8, 10]}})";
  return document.replace(document.find(regular), regular.size(), grid);
}

std::string Rectilinear(const std::string& chunk_shapes) {
  return R"({"name": "rectilinear", "configuration": {"kind": "inline", "chunk_shapes": )" +
         chunk_shapes + "}}";
}

TEST(ZarrMetadataTest, PassesGridsThatAreUnknownThroughButNotUnderSharding) {
  const std::string unknown = R"({"name": "hexagonal", "configuration": {"side": 5}})";
  const std::string plain = WithGrid(DocumentOf("[" + kBytes + "]"), unknown);
  EXPECT_EQ(Parse(plain).unsharded_text, plain);
  ExpectFailure(WithGrid(DocumentOf("[" + Sharding("[4, 5]", R"(["bytes"])") + "]"), unknown),
                ErrorCode::kNotSupported, "hexagonal");
}

TEST(ZarrMetadataTest, PassesRectilinearGridsThrough) {
  for (const char* const shapes : {"[[8, 8], [3, [5, 2], 7]]", "[4, [[6, 4]]]", "[16, 100]"}) {
    const std::string text = WithGrid(DocumentOf("[" + kBytes + "]"), Rectilinear(shapes));
    const ZarrNode node = Parse(text);
    EXPECT_EQ(node.unsharded_text, text);
    EXPECT_FALSE(node.sharded);
  }
  const ZarrNode node =
      Parse(WithGrid(DocumentOf("[" + kBytes + "]"), Rectilinear("[[1, 15], 20]")));
  EXPECT_TRUE(node.array.voxels);
  ASSERT_TRUE(node.array.rectilinear);
  EXPECT_EQ(node.array.rectilinear->grid_shape(), (Shape{2, 1}));
  EXPECT_EQ(node.array.chunk_shape, (Shape{15, 20}));
  const auto written = WriteZarr3Array(node.array);
  ASSERT_TRUE(written) << written.error().message;
  EXPECT_EQ(WriteJson(*written->Find("chunk_grid"), 0),
            R"({"name": "rectilinear", "configuration": {"kind": "inline", )"
            R"("chunk_shapes": [[1, 15], 20]}})");
  const ZarrNode regular =
      Parse(WithGrid(DocumentOf("[" + kBytes + "]"), Rectilinear("[4, [[6, 4]]]")));
  EXPECT_TRUE(regular.array.voxels);
  EXPECT_EQ(regular.array.chunk_shape, (Shape{4, 6}));
}

TEST(ZarrMetadataTest, RectilinearShardsAreARegularGridOfInnerChunks) {
  const std::string sharding = "[" + Sharding("[4, 5]", R"(["bytes"])") + "]";
  const ZarrNode node =
      Parse(WithGrid(DocumentOf(sharding), Rectilinear("[[4, 12], [10, [5, 2]]]")));
  EXPECT_NE(node.unsharded_text.find(R"("chunk_shape": [4, 5])"), std::string::npos);
  EXPECT_EQ(node.unsharded_text.find("rectilinear"), std::string::npos);
  ASSERT_TRUE(node.sharded);
  EXPECT_TRUE(node.array.voxels);
  EXPECT_EQ(node.array.shard_shape, std::nullopt);
  EXPECT_EQ(node.sharded->shard_grid.grid_shape(), (Shape{2, 3}));
  // Each shard has slots of its own shape.
  const ShardLocations expected = {{{0, 0}, {0, 0, 0}}, {{0, 1}, {0, 0, 1}}, {{0, 2}, {1, 0, 0}},
                                   {{0, 3}, {2, 0, 0}}, {{1, 0}, {3, 0, 0}}, {{3, 1}, {3, 0, 5}},
                                   {{3, 2}, {4, 0, 2}}, {{2, 3}, {5, 0, 1}}};
  for (const auto& [cell, slot] : expected) {
    EXPECT_EQ(node.sharded->locator->Locate(cell), slot);
    GridCell found(2);
    EXPECT_TRUE(node.sharded->locator->CellAt(slot, found));
    EXPECT_EQ(found, cell);
  }
  GridCell none(2);
  EXPECT_FALSE(node.sharded->locator->CellAt({1, 0, 1}, none));
  EXPECT_FALSE(node.sharded->locator->CellAt({3, 0, 6}, none));
}

TEST(ZarrMetadataTest, RefusesRectilinearGridsThatAreDamaged) {
  const std::string plain = DocumentOf("[" + kBytes + "]");
  const std::string where = "chunk_grid.configuration.chunk_shapes";
  const std::vector<std::pair<std::string, std::string>> damaged = {
      {"[[8, 8]]", where + ": expected 2 axes, as many as `shape`"},
      {"[[8, 7], 20]", where + "[0]: expected chunk extents whose sum is 16 or more, found 15"},
      {"[[], 20]", where + "[0]: expected chunk extents"},
      {"[16, [0, 20]]", where + "[1][0]"},
      {"[16, [[20, 0]]]", where + "[1][0][1]"},
      {"[16, [[1, 2, 3]]]", where + "[1][0]: expected an extent, or [extent, count]"},
      {"[16, [[9000000000000000000, 9000000000000000000]]]", where + "[1]"},
      {"[16, \"all\"]", where + "[1]"}};
  for (const auto& [shapes, message] : damaged) {
    ExpectFailure(WithGrid(plain, Rectilinear(shapes)), ErrorCode::kDataLoss, message);
  }
  const std::string sharded = DocumentOf("[" + Sharding("[4, 5]", R"(["bytes"])") + "]");
  ExpectFailure(WithGrid(DocumentOf("[" + Sharding("[1, 1]", R"(["bytes"])") + "]"),
                         Rectilinear("[[[1, 9], 1000000000000], [[1, 9], 1000000000000]]")),
                ErrorCode::kNotSupported, "2^30");
  std::string long_axis = WithGrid(DocumentOf("[" + Sharding("[1, 1]", R"(["bytes"])") + "]"),
                                   Rectilinear("[[[1, 1000000000000], 33554432], 20]"));
  long_axis.replace(long_axis.find("[16, 20]"), 8, "[1000000000001, 20]");
  ExpectFailure(long_axis, ErrorCode::kNotSupported, "fewer than 2^64 chunks");
  ExpectFailure(WithGrid(sharded, Rectilinear("[[4, 6, 6], 20]")), ErrorCode::kNotSupported,
                "expected a divisor of the shard's extent 6, found 4");
}

TEST(ZarrMetadataTest, ServesRankZero) {
  std::string text = DocumentOf("[" + Sharding("[]", R"(["bytes"])") + "]");
  text.replace(text.find("[16, 20]"), 8, "[]");
  text.replace(text.find("[8, 10]"), 7, "[]");
  const ZarrNode node = Parse(text);
  ASSERT_TRUE(node.sharded);
  EXPECT_EQ(node.sharded->grid.cell_count(), 1u);
  EXPECT_EQ(node.sharded->keys->Key(0), "c");
}

std::string Group(const std::string& metadata) {
  return R"({"zarr_format": 3, "node_type": "group", "consolidated_metadata": )"
         R"({"kind": "inline", "must_understand": false, "metadata": {)" +
         metadata + "}}}";
}

TEST(ZarrMetadataTest, RewritesConsolidatedCopiesLikeTheDocumentsThemselves) {
  const std::string array = DocumentOf("[" + Sharding("[4, 5]", "[" + kBytes + "]") + "]");
  const ZarrNode node = Parse(Group("\"a/b\": " + array + ", \"g\": " + Group("\"b\": " + array)));
  EXPECT_EQ(node.type, ZarrNode::Type::kGroup);
  EXPECT_TRUE(node.warnings.empty());
  const JsonValue shown = ShownMember(node, "consolidated_metadata");
  const auto alone = ParseJson(Parse(array).unsharded_text);
  EXPECT_EQ(*shown.Find("metadata")->Find("a/b"), *alone);
  const JsonValue* nested = shown.Find("metadata")->Find("g")->Find("consolidated_metadata");
  EXPECT_EQ(*nested->Find("metadata")->Find("b"), *alone);
}

TEST(ZarrMetadataTest, LeavesBrokenConsolidatedCopiesWithAWarning) {
  const std::string good = DocumentOf("[" + Sharding("[4, 5]", "[" + kBytes + "]") + "]");
  const std::string bad = DocumentOf("[" + Sharding("[3, 5]", "[" + kBytes + "]") + "]");
  const ZarrNode node = Parse(Group("\"bad\": " + bad + ", \"good\": " + good + ", \"odd\": 5"));
  ASSERT_EQ(node.warnings.size(), 2u);
  EXPECT_EQ(node.warnings[0].rfind("bad: ", 0), 0u) << node.warnings[0];
  EXPECT_EQ(node.warnings[1].rfind("odd: ", 0), 0u) << node.warnings[1];
  const JsonValue shown = ShownMember(node, "consolidated_metadata");
  EXPECT_EQ(*shown.Find("metadata")->Find("bad"), *ParseJson(bad));
  EXPECT_EQ(*shown.Find("metadata")->Find("good"), *ParseJson(Parse(good).unsharded_text));
}

}  // namespace
}  // namespace unshard
