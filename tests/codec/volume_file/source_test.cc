// What headers of whole-volume files are made of, from what the metadata of each format say.
#include "codec/volume_file/source.h"

#include <gtest/gtest.h>

#include "codec/json/parser.h"
#include "codec/pyramid/array_documents.h"

namespace unshard {
namespace {

SourceDataset Volume(const std::string& channels) {
  SourceDataset dataset;
  dataset.dialect = Dialect::kPrecomputed;
  dataset.kind = SourceDataset::Kind::kPyramid;
  dataset.attributes =
      *ParseJson(R"({"@type":"neuroglancer_multiscale_volume","type":"image","data_type":"uint16",)"
                 R"("num_channels":)" +
                 channels +
                 R"(,"scales":[{"key":"8_8_40","size":[30,20,10],"resolution":[8,8.5,40],)"
                 R"("voxel_offset":[16,0,-2],"chunk_sizes":[[8,8,8]],"encoding":"raw"}]})");
  auto scales = ReadScales(dataset.attributes);
  EXPECT_TRUE(scales) << scales.error().message;
  dataset.levels.push_back({"8_8_40", scales->front()});
  return dataset;
}

SourceDataset ArrayOf(const std::string& shape, const std::string& members) {
  SourceDataset dataset;
  dataset.dialect = Dialect::kZarr3;
  dataset.kind = SourceDataset::Kind::kArray;
  const auto document = ParseJson(
      R"({"zarr_format":3,"node_type":"array","data_type":"int8","fill_value":0,"shape":)" + shape +
      R"(,"chunk_grid":{"name":"regular","configuration":{"chunk_shape":)" + shape +
      R"(}},"chunk_key_encoding":{"name":"default"},"codecs":[{"name":"bytes"}])" + members + "}");
  EXPECT_TRUE(document) << document.error().message;
  auto array = ReadArray(Dialect::kZarr3, *document, {});
  EXPECT_TRUE(array) << array.error().message;
  dataset.levels.push_back({"", *std::move(array)});
  return dataset;
}

TEST(VolumeFileSourceTest, AScaleOfAVolumeIsPlacedInNanometres) {
  const VolumeFileSource source = DescribeLevel(Volume("1"), 0);
  EXPECT_EQ(source.shape, (std::vector<std::uint64_t>{1, 10, 20, 30}));
  EXPECT_EQ(source.type, kUint16);
  EXPECT_TRUE(source.fastest_first);
  ASSERT_TRUE(source.space) << source.space.error().message;
  EXPECT_EQ(source.space->channel, std::nullopt);
  EXPECT_EQ(source.space->xyz[0].axis, 3u);
  EXPECT_EQ(source.space->xyz[1].resolution, 8.5);
  EXPECT_EQ(source.space->xyz[0].offset, 16);
  EXPECT_EQ(source.space->xyz[2].offset, -2);
  EXPECT_EQ(DescribeLevel(Volume("3"), 0).space->channel, 0u);
}

TEST(VolumeFileSourceTest, NamesOfAxesDecideAndUnitsOfLengthBecomeNanometres) {
  const VolumeFileSource source = DescribeLevel(
      ArrayOf("[2,3,4,5]", R"(,"dimension_names":["x","c","y","z"],)"
                           R"("attributes":{"dimension_units":["0.5 um",null,"2 nm",null]})"),
      0);
  EXPECT_FALSE(source.fastest_first);
  ASSERT_TRUE(source.space) << source.space.error().message;
  EXPECT_EQ(source.space->channel, 1u);
  EXPECT_EQ(source.space->xyz[0].axis, 0u);
  EXPECT_EQ(source.space->xyz[0].resolution, 500);
  EXPECT_EQ(source.space->xyz[1].axis, 2u);
  EXPECT_EQ(source.space->xyz[2].axis, 3u);
  EXPECT_EQ(source.space->xyz[2].resolution, 1);
}

TEST(VolumeFileSourceTest, WithoutNamesTheLastAxesAreZYX) {
  const VolumeFileSource source = DescribeLevel(ArrayOf("[4,5]", ""), 0);
  ASSERT_TRUE(source.space) << source.space.error().message;
  EXPECT_EQ(source.space->xyz[0].axis, 1u);
  EXPECT_EQ(source.space->xyz[1].axis, 0u);
  EXPECT_EQ(source.space->xyz[2].axis, std::nullopt);
}

TEST(VolumeFileSourceTest, WhatIsNoImageInSpaceSaysWhy) {
  const auto why = [](const SourceDataset& dataset) {
    const VolumeFileSource source = DescribeLevel(dataset, 0);
    if (source.space) return std::string("an image");
    EXPECT_EQ(source.space.error().code, ErrorCode::kNotSupported);
    return source.space.error().message;
  };
  EXPECT_NE(why(ArrayOf("[9]", "")).find("x and y"), std::string::npos);
  EXPECT_NE(why(ArrayOf("[2,3,4,5]", R"(,"dimension_names":["t","z","y","x"])")).find("axis t"),
            std::string::npos);
  EXPECT_EQ(why(ArrayOf("[4,5]", R"(,"dimension_names":["y","x"],)"
                                 R"("attributes":{"dimension_units":["1 s","2 nm"]})")),
            "the unit s of the axis y is not a length");
}

}  // namespace
}  // namespace unshard
