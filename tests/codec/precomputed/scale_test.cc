#include <gtest/gtest.h>

#include <string>

#include "codec/precomputed/info.h"
#include "tests/support/chunk_paths.h"

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

// What is in the way of voxels is the failure of all.
Result<std::vector<Array>> ScalesOf(std::string_view text) {
  UNSHARD_ASSIGN_OR_RETURN(const NeuroglancerInfo info, ParseNeuroglancerInfo(text));
  std::vector<Array> arrays;
  for (const VolumeScale& scale : info.scales) {
    UNSHARD_RETURN_IF_ERROR(scale.array.voxels);
    arrays.push_back(scale.array);
  }
  return arrays;
}

TEST(PrecomputedScales, ScalesAreArraysOfChannelsPlanesRowsAndColumns) {
  const auto scales = ScalesOf(kInfo);
  ASSERT_TRUE(scales) << scales.error().message;
  ASSERT_EQ(scales->size(), 2u);
  const Array& array = scales->front();
  EXPECT_EQ(array.shape, (std::vector<std::uint64_t>{2, 100, 200, 300}));
  EXPECT_EQ(array.chunk_shape, (std::vector<std::uint64_t>{2, 16, 32, 64}));
  EXPECT_EQ(array.origin, (std::vector<std::int64_t>{0, 0, -5, 10}));
  EXPECT_EQ(array.units[0], std::nullopt);
  EXPECT_EQ(array.units[2], (DimensionUnit{4.5, "nm"}));
  EXPECT_EQ(array.axis_names[3], "x");
  EXPECT_EQ(array.sharding.Find("hash")->text(), "identity");
  EXPECT_EQ(scales->back().chunk_shape, (std::vector<std::uint64_t>{2, 16, 32, 64}));
}

TEST(PrecomputedScales, AChunkIsClippedAndItsChannelsFollowEachOther) {
  const Array array = ScalesOf(kInfo).value().front();
  const ChunkGrid grid = GridOf(array).value();
  const std::vector<std::uint64_t> last{0, 6, 6, 4};
  EXPECT_EQ(ChunkPathOf(array, last), "266-310_187-195_96-100");
  const auto shape = ChunkShapeAt(array, grid, last);
  EXPECT_EQ(shape, (std::vector<std::uint64_t>{2, 4, 8, 44}));
  EXPECT_EQ(array.codec->EncodedSize(shape), 2u * 4 * 8 * 44 * 2);
}

TEST(PrecomputedScales, FailuresNameTheMember) {
  struct Case {
    const char* text;
    const char* replacement;
    ErrorCode code;
    const char* message;
  };
  const Case cases[] = {
      {"\"uint16\"", "\"complex64\"", ErrorCode::kNotSupported, "data_type: unsupported data type"},
      {"\"type\": \"image\"", "\"type\": 5", ErrorCode::kDataLoss, "type: expected"},
      {"\"num_channels\": 2", "\"num_channels\": 0", ErrorCode::kDataLoss, "num_channels: "},
      {"[300, 200, 100]", "[300, 200]", ErrorCode::kDataLoss, "scales[0].size: expected three"},
      {"[64, 32, 16]", "[64, 0, 16]", ErrorCode::kDataLoss, "scales[0].chunk_sizes[0][1]: "},
      {"[4, 4.5, 40]", "[4, null, 40]", ErrorCode::kDataLoss,
       "scales[0].resolution[1]: expected a number"},
      {"[10, -5, 0]", "[10, 0.5, 0]", ErrorCode::kDataLoss, "scales[0].voxel_offset[1]: "},
      {"\"encoding\": \"raw\"", "\"encoding\": \"webp\"", ErrorCode::kNotSupported,
       "scales[0].encoding: decoding chunks of encoding \"webp\""}};
  for (const Case& one : cases) {
    std::string text = kInfo;
    text.replace(text.find(one.text), std::string(one.text).size(), one.replacement);
    const auto scales = ScalesOf(text);
    ASSERT_FALSE(scales) << one.replacement;
    EXPECT_EQ(scales.error().code, one.code) << scales.error().message;
    EXPECT_TRUE(scales.error().message.starts_with(one.message)) << scales.error().message;
  }
}

TEST(PrecomputedScales, DamageOfAnUnshardedScaleIsNoneOfTheOthers) {
  std::string text = kInfo;
  text.replace(text.find("[150, 100, 100]"), 15, "[150, 100]");
  const auto info = ParseNeuroglancerInfo(text);
  ASSERT_TRUE(info) << info.error().message;
  EXPECT_TRUE(info->scales[0].array.voxels);
  EXPECT_EQ(info->scales[0].sharded, 0U);
  EXPECT_EQ(info->scales[1].array.voxels.error().message.substr(0, 15), "scales[1].size:");
}

}  // namespace
}  // namespace unshard
