// The documents of datasets that copies create.
#include "codec/schema/copied_documents.h"

#include <gtest/gtest.h>

#include "codec/json/parser.h"
#include "codec/pyramid/array_documents.h"
#include "tests/support/compact_json.h"

namespace unshard {
namespace {

SourceDataset Volume() {
  SourceDataset dataset;
  dataset.dialect = Dialect::kPrecomputed;
  dataset.kind = SourceDataset::Kind::kPyramid;
  dataset.attributes =
      *ParseJson(R"({"type":"image","data_type":"uint16","num_channels":1,"scales":[
      {"key":"8_8_40","size":[200,100,50],"voxel_offset":[4,0,-2],"resolution":[8,8,40],
       "chunk_sizes":[[64,64,32]],"encoding":"raw","sharding":{"@type":"neuroglancer_uint64_sharded_v1",
       "preshift_bits":0,"hash":"identity","minishard_bits":2,"shard_bits":1}},
      {"key":"16_16_40","size":[100,50,50],"voxel_offset":[2,0,-2],"resolution":[16,16,40],
       "chunk_sizes":[[64,64,32]],"encoding":"raw"}]})");
  auto arrays = ReadScales(dataset.attributes);
  EXPECT_TRUE(arrays) << arrays.error().message;
  for (Array& array : *arrays) {
    dataset.levels.push_back({"key", std::move(array)});
  }
  return dataset;
}

std::vector<MetadataDocument> Documents(const SourceDataset& source, Dialect to,
                                        const char* wanted = nullptr) {
  std::optional<Schema> schema;
  if (wanted != nullptr) schema = *ParseSchema(wanted);
  auto documents = DocumentsOfCopy(source, to, schema);
  EXPECT_TRUE(documents) << documents.error().message;
  return documents.value_or(std::vector<MetadataDocument>());
}

const JsonValue& At(const std::vector<MetadataDocument>& documents, const std::string& path) {
  for (const MetadataDocument& one : documents) {
    if (one.path() == path) return one.content;
  }
  static const JsonValue none;
  ADD_FAILURE() << "no " << path;
  return none;
}

std::string Member(const JsonValue& value, const char* name) {
  const JsonValue* member = value.Find(name);
  return member == nullptr ? "" : CompactJson(*member);
}

TEST(DocumentsOfCopy, WithoutConstraintsAVolumeLosesOnlyItsShards) {
  const auto documents = Documents(Volume(), Dialect::kPrecomputed);
  ASSERT_EQ(documents.size(), 1U);
  const auto& scales = At(documents, "info").Find("scales")->items();
  ASSERT_EQ(scales.size(), 2U);
  EXPECT_EQ(Member(scales[0], "sharding"), "");
  EXPECT_EQ(Member(scales[0], "chunk_sizes"), "[[64,64,32]]");
  EXPECT_EQ(Member(scales[0], "voxel_offset"), "[4,0,-2]");
}

TEST(DocumentsOfCopy, EveryLevelGetsTheChunksAndShardsThatAreWanted) {
  const auto documents = Documents(
      Volume(), Dialect::kZarr3,
      R"({"chunk_layout":{"read_chunk":{"shape":[8,16,16]},"write_chunk":{"shape":[16,64,64]}},
          "codec":{"driver":"zarr3","codecs":["zstd"]}})");
  for (const char* path : {"0/zarr.json", "1/zarr.json"}) {
    const JsonValue& array = At(documents, path);
    EXPECT_EQ(Member(array, "chunk_grid"),
              R"({"name":"regular","configuration":{"chunk_shape":[16,64,64]}})");
    const JsonValue& codec = array.Find("codecs")->items().front();
    EXPECT_EQ(TextOf(codec, "name"), "sharding_indexed");
    EXPECT_EQ(Member(*codec.Find("configuration"), "chunk_shape"), "[8,16,16]");
    EXPECT_NE(CompactJson(codec).find("zstd"), std::string::npos);
    EXPECT_EQ(Member(array, "dimension_names"), R"(["z","y","x"])");
  }
  EXPECT_EQ(Member(At(documents, "0/zarr.json"), "shape"), "[50,100,200]");
  EXPECT_NE(CompactJson(At(documents, "zarr.json")).find("multiscales"), std::string::npos);
}

TEST(DocumentsOfCopy, ShardsAloneLeaveTheChunksAsTheyAre) {
  const auto zarr = Documents(Volume(), Dialect::kZarr3,
                              R"({"chunk_layout":{"write_chunk":{"shape":[64,128,128]}}})");
  const JsonValue& codec = At(zarr, "0/zarr.json").Find("codecs")->items().front();
  EXPECT_EQ(Member(*codec.Find("configuration"), "chunk_shape"), "[32,64,64]");
  const auto volume =
      Documents(Volume(), Dialect::kPrecomputed,
                R"({"chunk_layout":{"write_chunk":{"shape_soft_constraint":[128,128,64,1]}}})");
  const auto& scales = At(volume, "info").Find("scales")->items();
  EXPECT_EQ(Member(scales[1], "chunk_sizes"), "[[64,64,32]]");
  EXPECT_NE(Member(scales[1], "sharding"), "");
  EXPECT_EQ(Member(scales[1], "key"), R"("16_16_40")");
}

TEST(DocumentsOfCopy, WhatCannotBeSatisfiedNamesTheLevel) {
  const auto refused = DocumentsOfCopy(
      Volume(), Dialect::kZarr3, *ParseSchema(R"({"chunk_layout":{"read_chunk":{"shape":[32,64,64]},
                                       "write_chunk":{"shape":[40,64,64]}}})"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument);
  EXPECT_TRUE(refused.error().message.starts_with("level 0")) << refused.error().message;
}

struct Misfit {
  const char* wanted;
  const char* message;
};

TEST(DocumentsOfCopy, ShardsThatDoNotFitTheChunksAreRefusedWithWhatWouldFit) {
  const Misfit misfits[] = {
      {R"({"chunk_layout":{"write_chunk":{"shape":[48,64,64]}}})",
       "level 0: chunk_layout: write chunks of 48 are not a multiple of read chunks of 32 along "
       "dimension 0; 32 or 64 would fit"},
      {R"({"chunk_layout":{"write_chunk":{"shape":[32,64,50]}}})",
       "level 0: chunk_layout: write chunks of 50 are not a multiple of read chunks of 64 along "
       "dimension 2; 64 would fit"},
      {R"({"chunk_layout":{"write_chunk":{"shape":[64,64]}}})",
       "level 0: chunk_layout: 2 numbers, but there are 3 dimensions (z, y, x); for example "
       "32,64,64"}};
  for (const Misfit& one : misfits) {
    const auto made = DocumentsOfCopy(Volume(), Dialect::kZarr3, *ParseSchema(one.wanted));
    ASSERT_FALSE(made) << one.wanted;
    EXPECT_EQ(made.error().message, one.message);
  }
}

// A level of one chunk stays one.
TEST(DocumentsOfCopy, AnAxisOfOneChunkIsEnlarged) {
  SourceDataset volume = Volume();
  for (PyramidLevel& level : volume.levels) level.array.chunk_shape = {1, 50, 64, 64};
  const auto made = Documents(volume, Dialect::kZarr3,
                              R"({"chunk_layout":{"write_chunk":{"shape":[64,-1,128]}}})");
  const JsonValue& codec = At(made, "1/zarr.json").Find("codecs")->items().front();
  EXPECT_EQ(Member(*codec.Find("configuration"), "chunk_shape"), "[64,64,64]");
  EXPECT_EQ(Member(At(made, "1/zarr.json"), "chunk_grid"),
            R"({"name":"regular","configuration":{"chunk_shape":[64,64,128]}})");
}

}  // namespace
}  // namespace unshard
