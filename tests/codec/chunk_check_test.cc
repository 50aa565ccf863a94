#include "codec/chunk_check.h"

#include <gtest/gtest.h>

#include <string>

#include "codec/neuroglancer_info.h"
#include "codec/zarr_metadata.h"

namespace unshard {
namespace {

using Check = std::shared_ptr<const ChunkCheck>;

constexpr const char* kSharding =
    R"("sharding": {"@type": "neuroglancer_uint64_sharded_v1", "preshift_bits": 0,
        "hash": "identity", "minishard_bits": 1, "shard_bits": 1})";

// The check of a volume of 10 × 8 × 4 voxels in chunks of 8 × 8 × 4.
Check VolumeCheck(const std::string& encoding, const std::string& data_type, int channels,
                  const std::string& more = "") {
  const auto info = ParseNeuroglancerInfo(
      R"({"@type": "neuroglancer_multiscale_volume", "type": "image", "data_type": ")" + data_type +
      R"(", "num_channels": )" + std::to_string(channels) +
      R"(, "scales": [{"key": "s", "size": [10, 8, 4], "resolution": [1, 1, 1],
          "chunk_sizes": [[8, 8, 4]], "encoding": ")" +
      encoding + "\", " + more + kSharding + "}]}");
  EXPECT_TRUE(info) << info.error().message;
  return info->sharded.at(0).check;
}

// Why a chunk of these bytes is refused; "" where it is accepted. Shows the check no more than it
// asks for.
std::string Refusal(const Check& check, const GridCell& cell, const ByteVector& chunk) {
  const std::uint64_t needed = check->NeededBytes(chunk.size());
  EXPECT_LE(needed, chunk.size());
  const ByteVector start(chunk.begin(), chunk.begin() + static_cast<std::ptrdiff_t>(needed));
  const Status status = check->Check(cell, chunk.size(), start);
  if (status) return "";
  EXPECT_EQ(status.error().code, ErrorCode::kInvalidArgument);
  return status.error().message;
}

TEST(VolumeCheckTest, RawChunksHaveTheLengthOfTheClippedChunk) {
  const Check check = VolumeCheck("raw", "uint16", 3);
  const GridCell whole = {0, 0, 0};
  const GridCell clipped = {1, 0, 0};
  EXPECT_EQ(check->FixedSize(whole), 8u * 8 * 4 * 2 * 3);
  EXPECT_EQ(check->FixedSize(clipped), 2u * 8 * 4 * 2 * 3);
  EXPECT_EQ(check->FixedSize(GridCell{2, 0, 0}), std::nullopt) << "there is no such cell";
  EXPECT_EQ(Refusal(check, whole, ByteVector(1536)), "");
  EXPECT_EQ(Refusal(check, clipped, ByteVector(384)), "");
  EXPECT_EQ(Refusal(check, clipped, ByteVector(1536)),
            "raw chunk: expected exactly 384 bytes, found 1536");
  EXPECT_NE(Refusal(check, whole, ByteVector(1535)), "");
  EXPECT_NE(Refusal(check, whole, {}), "");
}

TEST(VolumeCheckTest, EncodingsThatNobodyKnowsAreOnlyNotEmpty) {
  const Check check = VolumeCheck("fpzip", "float32", 1);
  EXPECT_EQ(check->FixedSize(GridCell{0, 0, 0}), std::nullopt);
  EXPECT_EQ(Refusal(check, {0, 0, 0}, {7}), "");
  EXPECT_EQ(Refusal(check, {0, 0, 0}, {}), "expected a chunk with content, found an empty one");
}

// The check of inner chunks of 2 × 3 values in shards of 4 × 6 of an array of 5 × 5.
Check ZarrCheck(const std::string& data_type, const std::string& inner_codecs,
                const std::string& outer_codecs = "") {
  const auto node = ParseZarrMetadata(
      R"({"zarr_format": 3, "node_type": "array", "shape": [5, 5], "data_type": )" + data_type +
      R"(, "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [4, 6]}},
          "chunk_key_encoding": {"name": "default"}, "fill_value": 0, "codecs": [)" +
      outer_codecs + R"({"name": "sharding_indexed", "configuration": {"chunk_shape": [2, 3],
          "codecs": [)" +
      inner_codecs + R"(], "index_codecs": ["bytes", "crc32c"]}}]})");
  EXPECT_TRUE(node) << node.error().message;
  return node->sharded.value().check;
}

TEST(ZarrCheckTest, ChainsOfFixedSizeHaveOneLength) {
  const Check check = ZarrCheck(R"("uint16")", R"("bytes")");
  EXPECT_EQ(check->FixedSize(GridCell{0, 0}), 12u);
  EXPECT_EQ(check->FixedSize(GridCell{2, 1}), 12u) << "border chunks are not clipped";
  EXPECT_EQ(Refusal(check, {2, 1}, ByteVector(12)), "");
  EXPECT_EQ(Refusal(check, {2, 1}, ByteVector(11)), "chunk: expected exactly 12 bytes, found 11");
  EXPECT_NE(Refusal(check, {2, 1}, {}), "");
}

}  // namespace
}  // namespace unshard
