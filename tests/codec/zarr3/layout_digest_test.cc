// Digests of layouts: equal for all spellings of one layout, different for layouts that are not.
#include "codec/zarr3/layout_digest.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "codec/precomputed/info.h"
#include "codec/zarr3/document.h"

namespace unshard {
namespace {

constexpr const char* kDigestedArray =
    R"({"zarr_format":3,"node_type":"array","shape":[64,64],"data_type":"int16","fill_value":0,)"
    R"("chunk_grid":{"name":"regular","configuration":{"chunk_shape":[16,16]}},)"
    R"("chunk_key_encoding":{"name":"default"},"codecs":[{"name":"sharding_indexed",)"
    R"("configuration":{"chunk_shape":[4,8],"codecs":[{"name":"bytes"},"zstd"],)"
    R"("index_codecs":[{"name":"bytes","configuration":{"endian":"little"}},{"name":"crc32c"}]}}]})";

constexpr const char* kScale =
    R"({"@type":"neuroglancer_multiscale_volume","type":"image","data_type":"uint8",)"
    R"("num_channels":1,"scales":[{"key":"8_8_8","size":[64,64,64],"resolution":[8,8,8],)"
    R"("chunk_sizes":[[16,16,16]],"encoding":"raw","sharding":)"
    R"({"@type":"neuroglancer_uint64_sharded_v1","preshift_bits":1,"hash":"identity",)"
    R"("minishard_bits":2,"shard_bits":3}}]})";

constexpr const char* kAnnotations =
    R"({"@type":"neuroglancer_annotations_v1","dimensions":{"x":[1,"m"],"y":[1,"m"]},)"
    R"("lower_bound":[0,0],"upper_bound":[9,9],"annotation_type":"POINT","properties":)"
    R"([{"id":"a","type":"uint8"},{"id":"b","type":"uint16"}],"relationships":[],"by_id":)"
    R"({"key":"by_id","sharding":{"@type":"neuroglancer_uint64_sharded_v1","preshift_bits":0,)"
    R"("hash":"identity","minishard_bits":0,"shard_bits":0}},"spatial":[]})";

std::string With(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, text.npos) << from;
  return at == text.npos ? text : text.replace(at, from.size(), to);
}

std::uint32_t OfArray(const std::string& text) {
  const auto node = ParseZarrMetadata(text);
  EXPECT_TRUE(node && node->sharded) << text;
  return node && node->sharded ? node->sharded->layout_digest : 0;
}

std::uint32_t OfScale(const std::string& text) {
  const auto info = ParseNeuroglancerInfo(text);
  EXPECT_TRUE(info && info->sharded.size() == 1) << text;
  return info && info->sharded.size() == 1 ? LayoutDigest(info->sharded[0].layout) : 0;
}

// Spools of earlier versions have these.
TEST(LayoutDigest, ValuesAreThoseThatWereRecorded) {
  EXPECT_EQ(OfArray(kDigestedArray), 723131315u);
  EXPECT_EQ(OfScale(kScale), 399228612u);
  EXPECT_EQ(OfScale(kAnnotations), 2342606484u);
}

TEST(LayoutDigest, WhatDecidesHowChunksOfAnArrayAreStoredIsInIt) {
  std::set<std::uint32_t> different{OfArray(kDigestedArray)};
  for (const auto& [from, to] : {std::pair{R"("int16")", R"("uint16")"},
                                 {"[4,8]", "[8,4]"},
                                 {R"("zstd")", R"("gzip")"},
                                 {R"("zstd")", R"({"name":"zstd","configuration":{"level":3}})"},
                                 {"[16,16]", "[32,16]"},
                                 {R"({"name":"default"})", R"({"name":"v2"})"},
                                 {R"(,{"name":"crc32c"})", ""}}) {
    EXPECT_TRUE(different.insert(OfArray(With(kDigestedArray, from, to))).second)
        << from << " " << to;
  }
}

TEST(LayoutDigest, WhatDoesNotDecideHowChunksAreStoredIsNotInIt) {
  for (const auto& [from, to] :
       {std::pair{"[64,64]", "[128,64]"},
        {R"("fill_value":0)", R"("fill_value":1)"},
        {R"("node_type")", R"("attributes":{"a":1},"dimension_names":["y","x"],"node_type")"},
        {R"({"name":"default"})", R"({"name":"default","configuration":{"separator":"/"}})"},
        {R"([{"name":"bytes"},)", R"([{"configuration":{"endian":"little"},"name":"bytes"},)"},
        {R"("zstd")", R"({"name":"zstd","configuration":{"checksum":false}})"},
        {"[4,8]", "[4.0,8e0]"},
        {R"("codecs":[{"name":"sharding)",
         R"("storage_transformers":[],"codecs":[{"name":"sharding)"}}) {
    EXPECT_EQ(OfArray(With(kDigestedArray, from, to)), OfArray(kDigestedArray))
        << from << " " << to;
  }
}

TEST(LayoutDigest, LayoutsOfPrecomputedScalesHaveDigestsAsWell) {
  std::set<std::uint32_t> different{OfScale(kScale)};
  for (const auto& [from, to] : {std::pair{R"("uint8")", R"("int8")"},
                                 {"[[16,16,16]]", "[[32,16,8]]"},
                                 {R"("raw")", R"("jpeg")"},
                                 {R"("shard_bits":3)", R"("shard_bits":4)"},
                                 {R"("preshift_bits":1)", R"("preshift_bits":0)"},
                                 {"identity", "murmurhash3_x86_128"},
                                 {"[64,64,64]", "[64,64,128]"},
                                 {R"("key")", R"("voxel_offset":[16,0,0],"key")"}}) {
    EXPECT_TRUE(different.insert(OfScale(With(kScale, from, to))).second) << from << " " << to;
  }
  for (const auto& [from, to] : {std::pair{R"("image")", R"("segmentation")"},
                                 {R"("uint8")", R"("UINT8")"},
                                 {R"("num_channels":1,)", ""},
                                 {R"("key")", R"("voxel_offset":[0,0,0],"key")"},
                                 {R"("shard_bits":3)", R"("shard_bits":3,"data_encoding":"raw")"},
                                 {R"("type")", R"("mesh":"mesh","type")"}}) {
    EXPECT_EQ(OfScale(With(kScale, from, to)), OfScale(kScale)) << from << " " << to;
  }
}

TEST(LayoutDigest, TheOrderOfDimensionsAndPropertiesOfAnnotationsCounts) {
  const auto before = OfScale(kAnnotations);
  EXPECT_NE(OfScale(With(kAnnotations, R"("x":[1,"m"],"y":[1,"m"])", R"("y":[1,"m"],"x":[1,"m"])")),
            before);
  EXPECT_NE(OfScale(With(kAnnotations, "uint16", "int16")), before);
  EXPECT_EQ(OfScale(With(kAnnotations, R"("id":"a")", R"("id":"c","description":"d")")), before);
}

}  // namespace
}  // namespace unshard
