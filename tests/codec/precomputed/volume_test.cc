#include "codec/precomputed/volume.h"

#include <gtest/gtest.h>

#include <string>

#include "codec/json/parser.h"
#include "codec/json/writer.h"

namespace unshard {
namespace {

constexpr const char* kInfo = R"({
  "@type": "neuroglancer_multiscale_volume", "type": "image", "data_type": "uint16",
  "num_channels": 2, "mesh": "mesh",
  "scales": [
    {"key": "4_4_40", "size": [300, 200, 100], "voxel_offset": [10, -5, 0],
     "chunk_sizes": [[64, 32, 16]], "resolution": [4, 4.5, 40], "encoding": "raw", "hidden": true,
     "sharding": {"@type": "neuroglancer_uint64_sharded_v1", "preshift_bits": 1,
                  "hash": "identity", "minishard_bits": 0, "shard_bits": 0}},
    {"key": "8_8_40", "size": [150, 100, 100], "voxel_offset": [0, 0, 0],
     "chunk_sizes": [[64, 32, 16], [8, 8, 8]], "resolution": [8, 9, 40], "encoding": "raw"}]})";

TEST(PrecomputedVolume, ScalesAreArraysOfChannelsPlanesRowsAndColumns) {
  const auto volume = ParsePrecomputedVolume(kInfo);
  ASSERT_TRUE(volume) << volume.error().message;
  ASSERT_EQ(volume->scales.size(), 2u);
  const ArrayMetadata& array = volume->scales[0].array;
  EXPECT_EQ(volume->scales[0].key, "4_4_40");
  EXPECT_EQ(array.shape, (std::vector<std::uint64_t>{2, 100, 200, 300}));
  EXPECT_EQ(array.chunk_shape, (std::vector<std::uint64_t>{2, 16, 32, 64}));
  EXPECT_EQ(array.origin, (std::vector<std::int64_t>{0, 0, -5, 10}));
  EXPECT_EQ(array.units[0], std::nullopt);
  EXPECT_EQ(array.units[2], (DimensionUnit{4.5, "nm"}));
  EXPECT_EQ(array.axis_names[3], "x");
  EXPECT_EQ(array.sharding.Find("hash")->text(), "identity");
  EXPECT_EQ(volume->scales[1].other_chunk_shapes,
            (std::vector<std::vector<std::uint64_t>>{{2, 8, 8, 8}}));
  EXPECT_EQ(*WritePrecomputedVolume(*volume), ParseJson(kInfo).value());
}

TEST(PrecomputedVolume, AChunkIsClippedAndItsChannelsFollowEachOther) {
  const auto volume = ParsePrecomputedVolume(kInfo);
  const ArrayMetadata& array = volume->scales[0].array;
  const ChunkGrid grid = GridOf(array).value();
  const std::vector<std::uint64_t> last{0, 6, 6, 4};
  EXPECT_EQ(ChunkKeyOf(array, grid, last), "266-310_187-195_96-100");
  const auto shape = ChunkShapeAt(array, grid, last);
  EXPECT_EQ(shape, (std::vector<std::uint64_t>{2, 4, 8, 44}));
  EXPECT_EQ(array.codec->EncodedSize(shape), 2u * 4 * 8 * 44 * 2);
}

TEST(PrecomputedVolume, FailuresNameTheMember) {
  struct Case {
    const char* text;
    const char* replacement;
    ErrorCode code;
    const char* message;
  };
  const Case cases[] = {
      {"\"uint16\"", "\"complex64\"", ErrorCode::kNotSupported, "data_type: the data type"},
      {"\"num_channels\": 2", "\"num_channels\": 0", ErrorCode::kDataLoss, "num_channels: "},
      {"[300, 200, 100]", "[300, 200]", ErrorCode::kDataLoss, "scales[0].size: expected three"},
      {"[64, 32, 16]", "[64, 0, 16]", ErrorCode::kDataLoss, "scales[0].chunk_sizes[0][1]: "},
      {"[4, 4.5, 40]", "[4, null, 40]", ErrorCode::kDataLoss,
       "scales[0].resolution[1]: expected a number"},
      {"[10, -5, 0]", "[10, 0.5, 0]", ErrorCode::kDataLoss, "scales[0].voxel_offset[1]: "},
      {"\"encoding\": \"raw\"", "\"encoding\": \"fpzip\"", ErrorCode::kNotSupported,
       "scales[0].encoding: the voxels of chunks of encoding \"fpzip\""},
      {"\"neuroglancer_multiscale_volume\"", "\"neuroglancer_skeletons\"", ErrorCode::kDataLoss,
       "@type: expected"}};
  for (const Case& one : cases) {
    std::string text = kInfo;
    text.replace(text.find(one.text), std::string(one.text).size(), one.replacement);
    const auto volume = ParsePrecomputedVolume(text);
    ASSERT_FALSE(volume) << one.replacement;
    EXPECT_EQ(volume.error().code, one.code) << volume.error().message;
    EXPECT_TRUE(volume.error().message.starts_with(one.message)) << volume.error().message;
  }
}

TEST(PrecomputedVolume, WhatAnInfoCannotSayIsRefused) {
  const PrecomputedVolume original = ParsePrecomputedVolume(kInfo).value();
  const auto written = [&](const auto& change) {
    PrecomputedVolume volume = original;
    change(volume.scales[1].array);
    return WritePrecomputedVolume(volume);
  };
  EXPECT_EQ(written([](ArrayMetadata& array) { array.chunk_shape[0] = 1; }).error().message,
            "scales[1]: expected chunks with all channels");
  EXPECT_EQ(written([](ArrayMetadata& array) {
              array.fill_value = ByteVector{1, 0};
            })
                .error()
                .code,
            ErrorCode::kInvalidArgument);
  EXPECT_EQ(written([](ArrayMetadata& array) {
              array.units[1] = DimensionUnit{1, "s"};
            })
                .error()
                .message,
            "scales[1]: expected a unit of length, found \"s\"");
  EXPECT_EQ(written([](ArrayMetadata& array) { array.data_type.size = 4; }).error().code,
            ErrorCode::kInvalidArgument);
  PrecomputedVolume volume = original;
  for (auto& scale : volume.scales) scale.array.data_type = {DataType::Kind::kFloat, 2};
  EXPECT_EQ(WritePrecomputedVolume(volume).error().message,
            "precomputed volumes have no data type float16");
}

}  // namespace
}  // namespace unshard
