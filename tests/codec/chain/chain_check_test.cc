#include "codec/chain/chain_check.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "codec/codecs/gzip.h"
#include "codec/core/crc32c.h"
#include "codec/precomputed/info.h"
#include "codec/zarr3/document.h"
#include "tests/support/folders.h"

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

// A chunk that another program encoded: Pillow the images, compressed-segmentation the labels.
ByteVector Encoded(const std::string& name) {
  const auto file = std::filesystem::path(SourceFolder()) / "tests/fuzz/corpus/chunk_check" / name;
  std::ifstream stream(file, std::ios::binary);
  EXPECT_TRUE(stream.good()) << file;
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

ByteVector First(const ByteVector& bytes, std::size_t size) {
  return {bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size)};
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

TEST(VolumeCheckTest, ChunksOfUnknownEncodingsAreOnlyNotEmpty) {
  const Check check = VolumeCheck("webp", "float32", 1);
  EXPECT_EQ(check->FixedSize(GridCell{0, 0, 0}), std::nullopt);
  EXPECT_EQ(Refusal(check, {0, 0, 0}, {7}), "");
  EXPECT_EQ(Refusal(check, {0, 0, 0}, {}), "expected a chunk with content, found an empty one");
}

const GridCell kWhole = {0, 0, 0};    // 256 voxels
const GridCell kClipped = {1, 0, 0};  // 64 voxels

TEST(VolumeCheckTest, JpegsHaveAPixelForEachVoxelAndAComponentForEachChannel) {
  const Check gray = VolumeCheck("jpeg", "uint8", 1);
  EXPECT_EQ(gray->FixedSize(kWhole), std::nullopt);
  EXPECT_EQ(Refusal(gray, kWhole, Encoded("jpeg_gray")), "") << "8 x 32";
  EXPECT_EQ(Refusal(gray, kWhole, Encoded("jpeg_square")), "") << "16 x 16 is as right";
  EXPECT_EQ(Refusal(gray, kClipped, Encoded("jpeg_gray")),
            "jpeg chunk: expected an image of 64 pixels, found 8 x 32");
  EXPECT_EQ(Refusal(gray, kWhole, Encoded("jpeg_rgb_progressive")),
            "jpeg chunk: expected 1 components a pixel, found 3");
  EXPECT_EQ(Refusal(VolumeCheck("JPEG", "uint8", 3), kWhole, Encoded("jpeg_rgb_progressive")), "");
  EXPECT_NE(Refusal(gray, kWhole, Encoded("png_gray")), "");
  EXPECT_NE(Refusal(gray, kWhole, {}), "");
}

TEST(VolumeCheckTest, ImagesThatAreCutShortAnywhereAreRefused) {
  for (const char* name : {"jpeg_gray", "jpeg_rgb_progressive", "png_gray", "png_rgba"}) {
    const bool jpeg = name[0] == 'j';
    const int channels = std::string(name).find("gray") != std::string::npos ? 1 : jpeg ? 3 : 4;
    const Check check = VolumeCheck(jpeg ? "jpeg" : "png", "uint8", channels);
    const ByteVector image = Encoded(name);
    ASSERT_EQ(Refusal(check, kWhole, image), "") << name;
    for (std::size_t size = 0; size < image.size(); ++size) {
      EXPECT_NE(Refusal(check, kWhole, First(image, size)), "") << name << " at " << size;
    }
    ByteVector longer = image;
    longer.push_back(0);
    EXPECT_EQ(Refusal(check, kWhole, longer), "") << "readers ignore what stands behind";
  }
}

TEST(VolumeCheckTest, PngsHaveTheFormOfTheChunk) {
  const Check gray = VolumeCheck("png", "uint8", 1);
  EXPECT_EQ(Refusal(gray, kWhole, Encoded("png_gray")), "");
  EXPECT_EQ(Refusal(gray, kWhole, Encoded("png_palette")), "") << "a palette may be gray";
  EXPECT_NE(Refusal(gray, kClipped, Encoded("png_gray")), "");
  EXPECT_NE(Refusal(gray, kWhole, Encoded("png_rgba")), "");
  EXPECT_NE(Refusal(gray, kWhole, Encoded("png_16")), "");
  EXPECT_EQ(Refusal(VolumeCheck("png", "uint16", 1), kWhole, Encoded("png_16")), "");
  EXPECT_NE(Refusal(VolumeCheck("png", "uint16", 1), kWhole, Encoded("png_gray")), "");
  ByteVector damaged = Encoded("png_gray");
  damaged[17] ^= 1;  // of the width: the crc notices
  EXPECT_EQ(Refusal(gray, kWhole, damaged),
            "png chunk: expected an IHDR of 13 bytes with its crc after the signature");
}

TEST(VolumeCheckTest, SegmentationsReferOnlyToTheirOwnBytes) {
  const std::string block = R"("compressed_segmentation_block_size": [8, 8, 8], )";
  const Check check = VolumeCheck("compressed_segmentation", "uint64", 1, block);
  const ByteVector chunk = Encoded("segmentation_uint64");
  ASSERT_EQ(Refusal(check, kWhole, chunk), "");
  // 1 channel, 2 words of header, 13 labels of 2 words, 4 bits of 256 voxels.
  ASSERT_EQ(chunk.size(), 4u * (1 + 2 + 2 * 13 + 64));
  EXPECT_NE(Refusal(check, kWhole, First(chunk, 4 * 28)), "") << "the values are cut off";
  EXPECT_NE(Refusal(check, kWhole, First(chunk, 8)), "") << "the header is cut off";
  EXPECT_NE(Refusal(check, kWhole, First(chunk, chunk.size() - 1)), "") << "half a word";
  for (const std::size_t at : {3u, 6u, 7u, 11u}) {  // channel, table, bits, values
    ByteVector damaged = chunk;
    damaged[at] = 0x7f;
    EXPECT_NE(Refusal(check, kWhole, damaged), "") << at;
  }
  const std::string small = R"("compressed_segmentation_block_size": [4, 4, 4], )";
  const Check small_blocks = VolumeCheck("compressed_segmentation", "uint32", 1, small);
  EXPECT_EQ(Refusal(small_blocks, kWhole, Encoded("segmentation_uint32")), "");
  // Without a block size nothing can be said.
  EXPECT_EQ(Refusal(VolumeCheck("compressed_segmentation", "uint64", 1), kWhole, {1}), "");
}

TEST(VolumeCheckTest, SignaturesOfOtherEncodingsAreChecked) {
  const Check compresso = VolumeCheck("compresso", "uint64", 1);
  ByteVector chunk = {'c', 'p', 's', 'o', 1, 8, 8, 0, 8, 0, 4, 0};
  chunk.resize(36);
  EXPECT_EQ(Refusal(compresso, kWhole, chunk), "");
  EXPECT_EQ(Refusal(compresso, kClipped, chunk), "compresso chunk: expected 64 voxels, found 256");
  EXPECT_NE(Refusal(compresso, kWhole, First(chunk, 35)), "");
  chunk[0] = 'C';
  EXPECT_NE(Refusal(compresso, kWhole, chunk), "");
  const Check jxl = VolumeCheck("jxl", "uint8", 1);
  EXPECT_EQ(Refusal(jxl, kWhole, {0xff, 0x0a, 1}), "");
  EXPECT_EQ(Refusal(jxl, kWhole, {0, 0, 0, 12, 'J', 'X', 'L', ' ', '\r', '\n', 0x87, '\n', 5}), "");
  EXPECT_NE(Refusal(jxl, kWhole, {0xff, 0xd8, 1}), "");
}

// The check of the first index in a document of another type.
Check ObjectCheck(const std::string& members, std::size_t index = 0) {
  const auto info = ParseNeuroglancerInfo("{" + members + "}");
  EXPECT_TRUE(info) << info.error().message;
  return info->sharded.at(index).check;
}

TEST(ObjectCheckTest, MeshManifestsHaveTheLengthOfTheirCounts) {
  const Check check =
      ObjectCheck(std::string(R"("@type": "neuroglancer_multilod_draco", )") + kSharding);
  ByteVector manifest(24);
  AppendU32Le(manifest, 1);  // one level,
  manifest.resize(manifest.size() + 16);
  AppendU32Le(manifest, 2);  // of two fragments
  manifest.resize(manifest.size() + 32);
  EXPECT_EQ(Refusal(check, {}, manifest), "");
  manifest.push_back(0);
  EXPECT_NE(Refusal(check, {}, manifest), "");
  EXPECT_NE(Refusal(check, {}, {}), "");
}

TEST(ObjectCheckTest, SkeletonsAreLongEnoughForTheirCounts) {
  const Check check =
      ObjectCheck(std::string(R"("@type": "neuroglancer_skeletons", "vertex_attributes": [
          {"id": "radius", "data_type": "float32", "num_components": 1},
          {"id": "kind", "data_type": "UINT8", "num_components": 3}], )") +
                  kSharding);
  ByteVector skeleton;
  AppendU32Le(skeleton, 3);  // vertices of 12 + 4 + 3 bytes
  AppendU32Le(skeleton, 2);  // edges of 8 bytes
  skeleton.resize(8 + 3 * 19 + 2 * 8);
  EXPECT_EQ(Refusal(check, {}, skeleton), "");
  skeleton.pop_back();
  EXPECT_EQ(Refusal(check, {}, skeleton), "skeleton: expected at least 81 bytes, found 80");
  EXPECT_NE(Refusal(check, {}, ByteVector(7)), "");
  EXPECT_NE(Refusal(check, {}, ByteVector(80, 0xff)), "") << "counts as large as can be";
}

std::string Annotations(const std::string& type) {
  return R"("@type": "neuroglancer_annotations_v1", "annotation_type": ")" + type + R"(",
      "dimensions": {"x": [1, "m"], "y": [1, "m"], "z": [1, "m"]},
      "properties": [{"id": "a", "type": "rgb"}, {"id": "b", "type": "uint16"}],
      "relationships": [{"id": "r", "key": "r", )" +
         kSharding + R"(}], "by_id": {"key": "i", )" + kSharding +
         R"(}, "spatial": [{"key": "s", "grid_shape": [1, 1, 1], "chunk_size": [9, 9, 9], )" +
         kSharding + "}]";
}

TEST(ObjectCheckTest, AnnotationsHaveTheLengthOfTheirParts) {
  constexpr std::size_t kAnnotation = 24 + 8;  // 6 coordinates, 5 bytes of properties padded
  const Check by_id = ObjectCheck(Annotations("LINE"));
  ByteVector annotation(kAnnotation);
  AppendU32Le(annotation, 2);  // related objects
  AppendU64Le(annotation, 17);
  AppendU64Le(annotation, 18);
  EXPECT_EQ(Refusal(by_id, {}, annotation), "");
  EXPECT_NE(Refusal(by_id, {}, First(annotation, annotation.size() - 1)), "");
  annotation.push_back(0);
  EXPECT_NE(Refusal(by_id, {}, annotation), "");
  EXPECT_NE(Refusal(by_id, {}, ByteVector(kAnnotation)), "") << "no list of related objects";

  ByteVector list;
  AppendU64Le(list, 2);
  list.resize(8 + 2 * (kAnnotation + 8));
  for (const std::size_t index : {1u, 2u}) {
    const Check check = ObjectCheck(Annotations("line"), index);
    EXPECT_EQ(Refusal(check, {}, list), "");
    EXPECT_NE(Refusal(check, {}, First(list, list.size() - 1)), "");
    EXPECT_NE(Refusal(check, {}, ByteVector(list.size(), 0xff)), "") << "2^64-1 annotations";
    EXPECT_EQ(Refusal(check, {}, ByteVector(8)), "") << "an empty list is right";
  }
  const Check polylines = ObjectCheck(Annotations("polyline"), 1);
  EXPECT_EQ(Refusal(polylines, {}, list), "") << "longer than two polylines need to be";
  EXPECT_NE(Refusal(polylines, {}, First(list, 8 + 2 * (4 + 8 + 8) - 1)), "");
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

constexpr const char* kGzip = R"({"name": "gzip", "configuration": {"level": 1}})";

TEST(ZarrCheckTest, CompressedChunksDecodeToTheBytesOfTheirValues) {
  const Check check = ZarrCheck(R"("float32")", std::string(R"("bytes", )") + kGzip);
  EXPECT_EQ(check->FixedSize(GridCell{0, 0}), std::nullopt);
  const ByteVector right = GzipEncode(ByteVector(24, 7));
  EXPECT_EQ(Refusal(check, {0, 0}, right), "");
  EXPECT_NE(Refusal(check, {0, 0}, ByteVector(24, 7)), "") << "no gzip";
  EXPECT_NE(Refusal(check, {0, 0}, First(right, right.size() - 3)), "") << "cut short";
  EXPECT_NE(Refusal(check, {0, 0}, GzipEncode(ByteVector(25, 7))), "") << "too long";
  EXPECT_EQ(Refusal(check, {0, 0}, GzipEncode(ByteVector(20, 7))),
            "chunk: expected it to decode to exactly 24 bytes, found 20");
  EXPECT_NE(Refusal(check, {0, 0}, {}), "");
}

TEST(ZarrCheckTest, ChecksumsAreVerified) {
  const Check check = ZarrCheck(R"("uint8")", R"("bytes", "crc32c")");
  EXPECT_EQ(check->FixedSize(GridCell{0, 0}), 10u);
  ByteVector chunk = {1, 2, 3, 4, 5, 6};
  AppendU32Le(chunk, Crc32c(chunk));
  EXPECT_EQ(Refusal(check, {0, 0}, chunk), "");
  chunk[0] ^= 1;
  EXPECT_NE(Refusal(check, {0, 0}, chunk), "");
}

TEST(ZarrCheckTest, SizesFollowOnlyFromWhatIsKnown) {
  const GridCell cell = {0, 0};
  const auto size = [&](const std::string& type, const std::string& inner,
                        const std::string& outer = "") {
    return ZarrCheck(type, inner, outer)->FixedSize(cell);
  };
  const std::string transpose = R"({"name": "transpose", "configuration": {"order": [1, 0]}})";
  EXPECT_EQ(size(R"("complex128")", transpose + R"(, "bytes")"), 96u);
  EXPECT_EQ(size(R"("r24")", R"("bytes")"), 18u);
  EXPECT_EQ(size(R"({"name": "fixed_length_utf32", "configuration": {"length_bytes": 40}})",
                 R"("bytes")"),
            240u);
  EXPECT_EQ(size(R"("string")", R"("vlen-utf8")"), std::nullopt);
  EXPECT_EQ(size(R"("string")", R"("bytes")"), std::nullopt);
  EXPECT_EQ(size(R"("int4")", R"("bytes")"), 6u) << "an item is a byte";
  EXPECT_EQ(size(R"("int4")", R"("packbits")"), std::nullopt);
  const auto structure = [](const std::string& name, const std::string& fields) {
    return R"({"name": ")" + name + R"(", "configuration": {"fields": )" + fields + "}}";
  };
  const std::string point = structure(
      "struct", R"([{"name": "x", "data_type": "float32"}, {"name": "t", "data_type": "int8"}])");
  EXPECT_EQ(size(point, R"("bytes")"), 30u);
  EXPECT_EQ(
      size(structure("struct", R"([{"name": "p", "data_type": )" + point + "}]"), R"("bytes")"),
      30u);
  EXPECT_EQ(size(structure("structured", R"([["a", "int16"], ["b", "r24"]])"), R"("bytes")"), 30u);
  for (const char* const fields :
       {R"([{"name": "x", "data_type": "string"}])", "[[]]", "3", "[]"}) {
    EXPECT_EQ(size(structure("struct", fields), R"("bytes")"), std::nullopt) << fields;
  }
  const std::string cast = R"({"name": "cast_value", "configuration": {"data_type": "uint8"}},)";
  EXPECT_EQ(size(R"("float64")", R"("bytes")", cast), 6u);
  EXPECT_EQ(size(R"("uint8")", R"("bytes", {"name": "numcodecs.shuffle"})"), std::nullopt);
}

// A chunk as numcodecs writes it.
ByteVector VlenChunk(const std::vector<std::string>& items) {
  ByteVector chunk;
  AppendU32Le(chunk, static_cast<std::uint32_t>(items.size()));
  for (const std::string& item : items) {
    AppendU32Le(chunk, static_cast<std::uint32_t>(item.size()));
    chunk.insert(chunk.end(), item.begin(), item.end());
  }
  return chunk;
}

TEST(ZarrCheckTest, TextsAreAsManyAsTheChunkHasItems) {
  const std::string transpose = R"({"name": "transpose", "configuration": {"order": [1, 0]}})";
  const std::vector<std::string> items = {"a", "bc", "", "\xc3\xa9", "\xe6\x97\xa5", "x"};
  struct {
    const char* type;
    std::string codecs;
    std::string name;
  } const cases[] = {{R"("string")", R"("vlen-utf8")", "vlen-utf8"},
                     {R"("string")", transpose + R"(, "vlen-utf8")", "vlen-utf8"},
                     {R"("bytes")", R"({"name": "vlen-bytes", "configuration": {}})", "vlen-bytes"},
                     {R"("variable_length_bytes")", R"("vlen-bytes")", "vlen-bytes"}};
  for (const auto& [type, codecs, name] : cases) {
    const Check plain = ZarrCheck(type, codecs);
    const Check packed = ZarrCheck(type, codecs + ", " + kGzip);
    const auto refusal = [&](const ByteVector& chunk) {
      const std::string of_plain = Refusal(plain, {2, 1}, chunk);
      const std::string of_packed = Refusal(packed, {2, 1}, GzipEncode(chunk));
      EXPECT_TRUE(chunk.empty() || of_packed == of_plain) << of_packed;
      return of_plain;
    };
    const ByteVector right = VlenChunk(items);
    EXPECT_EQ(refusal(right), "");
    for (std::size_t size = 0; size < right.size(); ++size) {
      EXPECT_NE(refusal(First(right, size)), "") << size;
    }
    EXPECT_EQ(refusal(VlenChunk({"a", "b"})), name + ": expected 6 items, found 2");
    EXPECT_EQ(refusal(VlenChunk(std::vector<std::string>(7))),
              name + ": expected 6 items, found 7");
    ByteVector damaged = right;
    damaged[7] = 0x7f;
    EXPECT_EQ(refusal(damaged), name + ": item 0 reaches beyond the end of the chunk");
    damaged = right;
    damaged.push_back(0);
    EXPECT_EQ(refusal(damaged), name + ": expected nothing after the last item, found 1 bytes");
  }
}

TEST(ZarrCheckTest, CompressorsAfterUnknownCodecsStillHaveToDecode) {
  const Check strings = ZarrCheck(R"("mine")", std::string(R"("vlen-utf8", )") + kGzip);
  EXPECT_EQ(Refusal(strings, {0, 0}, GzipEncode(ByteVector(1000, 1))), "");
  EXPECT_NE(Refusal(strings, {0, 0}, ByteVector(1000, 1)), "");
  const Check unknown = ZarrCheck(R"("uint8")", R"("bytes", {"name": "mine"})");
  EXPECT_EQ(Refusal(unknown, {0, 0}, {1}), "");
  EXPECT_NE(Refusal(unknown, {0, 0}, {}), "");
}

TEST(ZarrCheckTest, ChunksTooLargeToDecodeAreNotChecked) {
  const Check check = ZarrCheck(R"("string")", std::string(R"("vlen-utf8", )") + kGzip);
  EXPECT_EQ(check->NeededBytes(kMaxCheckedBytes), kMaxCheckedBytes);
  EXPECT_EQ(check->NeededBytes(kMaxCheckedBytes + 1), 0u);
  EXPECT_TRUE(check->Check(GridCell{0, 0}, kMaxCheckedBytes + 1, {}));
  EXPECT_EQ(Refusal(check, {0, 0}, GzipEncode(ByteVector(2 * kMaxCheckedBytes + 1), 1)), "");
}

TEST(ChunkCheckTest, ArraysAndDirectoriesMadeByHandHaveACheck) {
  EXPECT_TRUE(ShardedDirectory().check->Check({}, 1, {}));
  EXPECT_FALSE(ZarrShardedArray().check->Check({}, 0, {}));
}

}  // namespace
}  // namespace unshard
