#include "codec/precomputed/info.h"
#include "codec/json/parser.h"
#include "codec/json/writer.h"
#include "codec/precomputed/access.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace unshard {
namespace {

using Names = ShardedDirectory::Names;
using Type = NeuroglancerInfo::Type;

const std::string kSharding =
    R"({"@type":"neuroglancer_uint64_sharded_v1","preshift_bits":1,"hash":"identity",)"
    R"("minishard_bits":2,"shard_bits":3})";

std::string Scale(const std::string& members, const std::string& sharding = kSharding) {
  return R"({"key":"8_8_8",)" + members + R"("encoding":"raw","sharding":)" + sharding + "}";
}

const std::string kGeometry =
    R"("size":[100,64,10],"resolution":[8.0,8,40.50],"voxel_offset":[-64,0,5],)"
    R"("chunk_sizes":[[64,64,64]],)";

std::string Volume(const std::string& scales, const std::string& more = "") {
  return R"({"@type":"neuroglancer_multiscale_volume","type":"image","data_type":"uint16",)"
         R"("num_channels":2,"scales":[)" +
         scales + "]" + more + "}";
}

NeuroglancerInfo Parse(const std::string& text) {
  auto info = ParseNeuroglancerInfo(text);
  EXPECT_TRUE(info) << info.error().message;
  return info.value_or(NeuroglancerInfo());
}

std::string FailureOf(const std::string& text) {
  const auto info = ParseNeuroglancerInfo(text);
  EXPECT_FALSE(info) << text;
  if (info) return "";
  EXPECT_EQ(info.error().code, ErrorCode::kDataLoss);
  return info.error().message;
}

void ExpectFailure(const std::string& text, const std::string& path) {
  const std::string message = FailureOf(text);
  EXPECT_NE(message.find(path), std::string::npos) << message;
}

TEST(NeuroglancerInfoTest, ShardsOfTwoScalesUnderTheSameNamesAreRefused) {
  const std::string one = Scale(kGeometry);
  const std::string message = FailureOf(Volume(one + "," + one));
  EXPECT_NE(message.find("scales[1]: conflicts with scales[0], which stores shards"),
            std::string::npos)
      << message;
  // "0.shard" and "00.shard", but one name of a file for a chunk of both.
  std::string longer = kSharding;
  longer.replace(longer.find("\"shard_bits\":3"), 14, "\"shard_bits\":5");
  ExpectFailure(Volume(one + "," + Scale(kGeometry, longer)),
                "scales[1]: conflicts with scales[0]");
  // Neither shards nor chunks have a name in common.
  const std::string other = R"("size":[100,64,10],"resolution":[8,8,8],"chunk_sizes":[[30,30,3]],)";
  EXPECT_EQ(Parse(Volume(one + "," + Scale(other, longer))).sharded.size(), 2u);
}

TEST(NeuroglancerInfoTest, ReadsAShardedScale) {
  const NeuroglancerInfo info = Parse(Volume(Scale(kGeometry)));
  EXPECT_EQ(info.type, Type::kVolume);
  ASSERT_EQ(info.sharded.size(), 1u);
  const ShardedDirectory& scale = info.sharded[0];
  EXPECT_EQ(scale.names, Names::kChunkRanges);
  EXPECT_EQ(scale.directory, "8_8_8");
  EXPECT_EQ(scale.json_path, "scales[0]");
  EXPECT_EQ(scale.sharding.preshift_bits, 1u);
  EXPECT_EQ(scale.sharding.minishard_bits, 2u);
  EXPECT_EQ(scale.sharding.shard_bits, 3u);
  EXPECT_EQ(scale.grid_shape, (std::vector<std::uint64_t>{2, 1, 1}));
  EXPECT_EQ(scale.grid.origin(), (std::vector<std::int64_t>{-64, 0, 5}));
  EXPECT_EQ(scale.bytes_per_voxel, 4u);
  EXPECT_EQ(scale.description, "uint16 image, raw");
}

TEST(NeuroglancerInfoTest, DropsShardingAndNothingElse) {
  const std::string with = Volume(Scale(kGeometry), R"(,"zz":12345678901234567890,"aa":[1.50])");
  const auto source = ParseJson(with);
  auto expected = *source;
  expected.Find("scales")->mutable_items()[0].Erase("sharding");
  EXPECT_EQ(Parse(with).unsharded_text, WriteJson(expected));
  EXPECT_NE(Parse(with).unsharded_text.find("40.50"), std::string::npos);
}

TEST(NeuroglancerInfoTest, KeepsTheTextWhereNothingIsSharded) {
  const std::string text = "  " + Volume(Scale(kGeometry, "null"), R"(,"mesh":"m")") + "\n";
  const NeuroglancerInfo info = Parse(text);
  EXPECT_EQ(info.unsharded_text, text);
  EXPECT_TRUE(info.sharded.empty());
  ASSERT_EQ(info.referred.size(), 2u);
  EXPECT_EQ(info.referred[0].directory, "8_8_8");
  EXPECT_TRUE(info.referred[0].holds_chunks);
  EXPECT_EQ(info.referred[1].directory, "m");
  EXPECT_FALSE(info.referred[1].holds_chunks);
}

TEST(NeuroglancerInfoTest, TakesMixedScalesAndSeveralPerKey) {
  const std::string second = R"({"key":"8_8_8","size":[100,64,10],"resolution":[8,8,8],)"
                             R"("chunk_sizes":[[100,64,1],[32,32,10]],"encoding":"jpeg"})";
  const std::string third =
      R"({"key":"16_16_8",)" + kGeometry + R"("encoding":"jpeg","sharding":)" + kSharding + "}";
  const NeuroglancerInfo info = Parse(Volume(Scale(kGeometry) + "," + second + "," + third));
  ASSERT_EQ(info.sharded.size(), 2u);
  EXPECT_EQ(info.sharded[1].json_path, "scales[2]");
  EXPECT_EQ(info.sharded[1].bytes_per_voxel, 0u) << "jpeg has no exact size";
  EXPECT_EQ(info.referred.size(), 1u);
}

TEST(NeuroglancerInfoTest, NormalisesKeys) {
  const auto directory_of = [](const std::string& key) {
    const std::string scale =
        R"({"key":")" + key + "\"," + kGeometry + R"("sharding":)" + kSharding + "}";
    const NeuroglancerInfo info = Parse(Volume(scale));
    return info.sharded.empty() ? "none" : info.sharded[0].directory;
  };
  EXPECT_EQ(directory_of("a/b"), "a/b");
  EXPECT_EQ(directory_of("a/../b/"), "b");
  EXPECT_EQ(directory_of("./a//./b"), "a/b");
  EXPECT_EQ(directory_of("../other/8"), "../other/8");
  EXPECT_EQ(directory_of("a/../../b"), "../b");
  EXPECT_EQ(directory_of("../../b"), "../../b");
  EXPECT_EQ(directory_of("."), "");
}

TEST(NeuroglancerInfoTest, KnowsOldVolumesByTheirScales) {
  EXPECT_EQ(Parse(R"({"type":"image","data_type":"uint8","num_channels":1,"scales":[]})").type,
            Type::kVolume);
}

TEST(NeuroglancerInfoTest, LeavesOtherDocumentsAlone) {
  for (const char* text :
       {R"({"@type":"neuroglancer_segment_properties","inline":{"ids":["1"]}})", "[]", "7", "{}",
        R"({"@type":"neuroglancer_legacy_mesh"})", R"({"@type":"other","scales":5})"}) {
    const NeuroglancerInfo info = Parse(text);
    EXPECT_EQ(info.type, Type::kOther) << text;
    EXPECT_EQ(info.unsharded_text, text);
  }
}

TEST(NeuroglancerInfoTest, ReadsMeshesAndSkeletons) {
  const std::string mesh = R"({"@type":"neuroglancer_multilod_draco","sharding":)" + kSharding +
                           R"(,"vertex_quantization_bits":10,"segment_properties":"props"})";
  NeuroglancerInfo info = Parse(mesh);
  EXPECT_EQ(info.type, Type::kMeshes);
  ASSERT_EQ(info.sharded.size(), 1u);
  EXPECT_EQ(info.sharded[0].names, Names::kMeshes);
  EXPECT_EQ(info.sharded[0].directory, "");
  ASSERT_EQ(info.referred.size(), 1u);
  EXPECT_EQ(info.referred[0].directory, "props");
  EXPECT_EQ(info.unsharded_text.find("sharding"), std::string::npos);
  info = Parse(R"({"@type":"neuroglancer_skeletons","sharding":)" + kSharding + "}");
  EXPECT_EQ(info.type, Type::kSkeletons);
  ASSERT_EQ(info.sharded.size(), 1u);
  EXPECT_EQ(info.sharded[0].names, Names::kIds);
  EXPECT_TRUE(Parse(R"({"@type":"neuroglancer_skeletons"})").sharded.empty());
}

TEST(NeuroglancerInfoTest, ReadsEveryAnnotationIndex) {
  const std::string text =
      R"({"@type":"neuroglancer_annotations_v1","dimensions":{"z":[1,"m"],"x":[1,"m"]},)"
      R"("by_id":{"key":"by_id","sharding":)" +
      kSharding + R"(},"relationships":[{"id":"a","key":"rel_a"},{"id":"b","key":"rel_b",)" +
      R"("sharding":)" + kSharding +
      R"(}],"spatial":[{"key":"s0","grid_shape":[1,1],"chunk_size":[8.5,9],"limit":10},)"
      R"({"key":"s1","grid_shape":[4,2],"chunk_size":[8.5,9],"limit":10,"sharding":)" +
      kSharding + "}]}";
  const NeuroglancerInfo info = Parse(text);
  EXPECT_EQ(info.type, Type::kAnnotations);
  ASSERT_EQ(info.sharded.size(), 3u);
  EXPECT_EQ(info.sharded[0].directory, "by_id");
  EXPECT_EQ(info.sharded[1].directory, "rel_b");
  EXPECT_EQ(info.sharded[1].json_path, "relationships[1]");
  EXPECT_EQ(info.sharded[2].names, Names::kCellCoordinates);
  EXPECT_EQ(info.sharded[2].grid_shape, (std::vector<std::uint64_t>{4, 2}));
  EXPECT_EQ(info.referred.size(), 2u);
  EXPECT_EQ(info.unsharded_text.find("sharding"), std::string::npos);
  EXPECT_LT(info.unsharded_text.find("\"z\""), info.unsharded_text.find("\"x\""));
}

TEST(NeuroglancerInfoTest, NamesWhatIsBroken) {
  ExpectFailure(Volume(Scale(R"("size":[1,2],"chunk_sizes":[[1,1,1]],)")), "scales[0].size");
  ExpectFailure(Volume(Scale(R"("size":[1,2,-3],"chunk_sizes":[[1,1,1]],)")), "scales[0].size[2]");
  ExpectFailure(Volume(Scale(R"("size":[1,2,3],"chunk_sizes":[[1,0,1]],)")),
                "scales[0].chunk_sizes[0][1]");
  ExpectFailure(Volume(Scale(R"("size":[1,2,3],"chunk_sizes":[[1,1,1],[2,2,2]],)")),
                "scales[0].chunk_sizes");
  ExpectFailure(Volume(Scale(R"("size":[1,2,3],)")), "chunk_sizes");
  ExpectFailure(Volume(Scale(kGeometry, "7")), "scales[0].sharding");
  ExpectFailure(Volume(Scale(kGeometry, R"({"@type":"neuroglancer_uint64_sharded_v1"})")),
                "scales[0].sharding");
  ExpectFailure(Volume("5"), "scales[0]");
  ExpectFailure(Volume(Scale(R"("size":[9223372036854775807,9223372036854775807,4],)"
                             R"("chunk_sizes":[[1,1,1]],)")),
                "scales[0]");
  ExpectFailure(Volume(Scale(R"("size":[4294967296,4294967296,4],)"
                             R"("chunk_sizes":[[4294967296,4294967296,4]],)")),
                "chunk_sizes[0]");
  ExpectFailure(R"({"scales":{}})", "scales");
  EXPECT_FALSE(ParseNeuroglancerInfo("{"));
}

TEST(NeuroglancerAccessTest, LocatesChunksByTheirMortonCode) {
  const NeuroglancerInfo info = Parse(
      Volume(Scale(R"("size":[500,640,640],"resolution":[8,8,8],"chunk_sizes":[[64,64,64]],)")));
  const auto access = MakeAccess(info.sharded.at(0), MortonRule::kStandard);
  ASSERT_TRUE(access) << access.error().message;
  std::vector<std::uint64_t> cell{5, 3, 7};
  const ShardSlot slot = access->locator->Locate(cell);
  EXPECT_EQ(slot, LocateChunkId(info.sharded[0].sharding, slot.slot));
  std::vector<std::uint64_t> back(3);
  ASSERT_TRUE(access->locator->CellAt(slot, back));
  EXPECT_EQ(back, cell);
  ShardSlot elsewhere = slot;
  elsewhere.shard ^= 1;
  EXPECT_FALSE(access->locator->CellAt(elsewhere, back)) << "an id in the wrong shard";
  EXPECT_EQ(access->keys->Key(slot.shard), ShardFileName(info.sharded[0].sharding, slot.shard));
  EXPECT_EQ(access->keys->Parse("5.shard"), 5u);
  EXPECT_EQ(access->keys->Parse("5.index"), 5u);
  EXPECT_EQ(access->keys->Parse("05.shard"), std::nullopt);
  EXPECT_EQ(access->keys->ObsoletePair(5)->data, "5.data");
}

TEST(NeuroglancerAccessTest, HasNoCellInAVolumeWithoutExtent) {
  const NeuroglancerInfo info =
      Parse(Volume(Scale(R"("size":[0,64,64],"chunk_sizes":[[64,64,64]],)")));
  const auto access = MakeAccess(info.sharded.at(0), MortonRule::kStandard);
  ASSERT_TRUE(access) << access.error().message;
  std::vector<std::uint64_t> cell(3);
  EXPECT_FALSE(access->locator->CellAt({0, 0, 0}, cell));
}

TEST(NeuroglancerAccessTest, RefusesCodesOfMoreThan64Bits) {
  const NeuroglancerInfo info =
      Parse(Volume(Scale(R"("size":[2097153,2097153,1048577],"chunk_sizes":[[1,1,1]],)")));
  EXPECT_FALSE(MakeAccess(info.sharded.at(0), MortonRule::kStandard));
}

TEST(NeuroglancerAccessTest, NeedsNoLocatorForIds) {
  const NeuroglancerInfo info =
      Parse(R"({"@type":"neuroglancer_skeletons","sharding":)" + kSharding + "}");
  const auto access = MakeAccess(info.sharded.at(0), MortonRule::kStandard);
  ASSERT_TRUE(access);
  EXPECT_EQ(access->locator, nullptr);
  EXPECT_NE(access->format, nullptr);
}

}  // namespace
}  // namespace unshard
