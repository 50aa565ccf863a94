#include "codec/chain/codec_chain.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "codec/chain/transpose.h"
#include "codec/json/parser.h"
#include "tests/support/codecs.h"

namespace unshard {
namespace {

using Kind = DataType::Kind;

Voxels Numbered(DataType type, std::vector<std::uint64_t> shape) {
  ByteVector bytes(VoxelBytes(type, shape).value());
  std::mt19937 random(7);
  for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random());
  return Voxels::Make(type, std::move(shape), std::move(bytes)).value();
}

// The chain of these codecs of Zarr v3.
ChunkCodecPtr ChainOf(const std::string& codecs, const DataType& type, std::size_t rank = 1) {
  const JsonValue json = ParseJson(codecs).value();
  return BindZarr3Chain(JsonCursor(json, "codecs"), type, rank).value();
}

ByteVector BytesOf(const Voxels& voxels) { return Voxels(voxels).TakeBytes(); }

// The transpose as its definition has it.
ByteVector TransposeByIndex(const Voxels& voxels, const std::vector<std::size_t>& order) {
  const auto shape = Transposed(voxels.shape(), order);
  ByteVector result;
  const std::uint32_t size = voxels.type().size;
  const std::size_t count = voxels.bytes().size() / size;
  for (std::size_t target = 0; target < count; ++target) {
    std::vector<std::uint64_t> position(order.size());
    std::size_t rest = target;
    for (std::size_t i = order.size(); i-- > 0; rest /= shape[i])
      position[order[i]] = rest % shape[i];
    std::size_t source = 0;
    for (std::size_t axis = 0; axis < order.size(); ++axis) {
      source = source * voxels.shape()[axis] + position[axis];
    }
    const auto item = voxels.bytes().subspan(source * size, size);
    result.insert(result.end(), item.begin(), item.end());
  }
  return result;
}

TEST(Transpose, EveryOrderOfEverySizeOfItemEqualsTheDefinition) {
  for (const std::uint32_t size : {1u, 2u, 3u, 4u, 8u}) {
    const Voxels voxels = Numbered({Kind::kRaw, size}, {2, 1, 34, 2, 33});
    std::vector<std::size_t> order(5);
    std::iota(order.begin(), order.end(), std::size_t{0});
    do {
      const Voxels transposed = Transpose(voxels, order).value();
      ASSERT_EQ(BytesOf(transposed), TransposeByIndex(voxels, order));
      ASSERT_EQ(transposed.shape(), Transposed(voxels.shape(), order));
      ASSERT_EQ(Transpose(transposed, InverseOrder(order)), voxels);
    } while (std::next_permutation(order.begin(), order.end()));
  }
}

TEST(CodecChain, RawItemsAreTheVoxels) {
  const DataType type{Kind::kUnsigned, 2};
  const ChunkCodecPtr codec = ChainOf(R"(["bytes"])", type, 2);
  const Voxels voxels = Numbered(type, {2, 3});
  EXPECT_EQ(codec->Encode(voxels).value(), BytesOf(voxels));
  EXPECT_EQ(codec->Decode(voxels.bytes(), voxels.shape()), voxels);
  EXPECT_EQ(codec->EncodedSize(voxels.shape()), 12u);
  EXPECT_FALSE(codec->is_lossy());
}

constexpr const char* kBigEndian = R"({"name": "bytes", "configuration": {"endian": "big"}})";

TEST(CodecChain, BigEndianItemsAreReversedAndComplexOnesByTheirParts) {
  const DataType type{Kind::kComplex, 8};
  const ChunkCodecPtr codec = ChainOf(std::string("[") + kBigEndian + "]", type);
  const Voxels voxels = Voxels::Make(type, {1}, {1, 2, 3, 4, 5, 6, 7, 8}).value();
  EXPECT_EQ(codec->Encode(voxels).value(), (ByteVector{4, 3, 2, 1, 8, 7, 6, 5}));
  EXPECT_EQ(codec->Decode(ByteVector{4, 3, 2, 1, 8, 7, 6, 5}, voxels.shape()), voxels);
}

TEST(CodecChain, TransposesAndCompressesAndDecodesBothAgain) {
  const DataType type{Kind::kFloat, 4};
  const ChunkCodecPtr codec =
      ChainOf(R"([{"name": "transpose", "configuration": {"order": [2, 0, 1]}},
                  {"name": "transpose", "configuration": {"order": [1, 0, 2]}}, )" +
                  std::string(kBigEndian) + R"(, "gzip", "crc32c"])",
              type, 3);
  EXPECT_TRUE(SameEncoding(
      *codec, *ChainOf(R"([{"name": "transpose", "configuration": {"order": [0, 2, 1]}}, )" +
                           std::string(kBigEndian) + R"(, "gzip", "crc32c"])",
                       type, 3)));
  const Voxels voxels = Numbered(type, {4, 5, 6});
  const ByteVector encoded = codec->Encode(voxels).value();
  EXPECT_EQ(codec->Decode(encoded, voxels.shape()), voxels);
  EXPECT_EQ(codec->EncodedSize(voxels.shape()), std::nullopt);
}

TEST(CodecChain, ADifferentLengthIsDamage) {
  const ChunkCodecPtr codec = ChainOf(R"(["bytes"])", {Kind::kUnsigned, 4}, 2);
  const std::vector<std::uint64_t> shape{2, 2};
  EXPECT_EQ(codec->Decode(ByteVector(15), shape).error().code, ErrorCode::kDataLoss);
  EXPECT_EQ(codec->Decode(ByteVector(17), shape).error().message,
            "expected a chunk that decodes to 16 bytes, found 17");
}

TEST(CodecChain, AStreamThatDecodesToMoreThanTheChunkIsRefused) {
  const ByteVector bomb = BindBytesCodec("gzip").value()->Encode(ByteVector(1 << 24)).value();
  const ChunkCodecPtr codec = ChainOf(R"(["bytes", "gzip"])", {Kind::kUnsigned, 1});
  const std::vector<std::uint64_t> shape{64};
  EXPECT_EQ(codec->Decode(bomb, shape).error().code, ErrorCode::kResourceExhausted);
}

TEST(CodecChain, VoxelsOfAnotherTypeAreRefused) {
  const ChunkCodecPtr codec = ChainOf(R"(["bytes"])", {Kind::kUnsigned, 2});
  EXPECT_EQ(codec->Encode(Numbered({Kind::kSigned, 2}, {1})).error().message,
            "expected voxels of uint16, found int16");
}

// Each codec of each dialect is found by its name there, and by no other one's.
TEST(CodecChain, EachCodecIsFoundByItsNames) {
  for (const CodecDefinition* const codec : CodecDefinitions()) {
    ASSERT_FALSE(codec->names.empty());
    for (const CodecDefinition::Name& each : codec->names) {
      const CodecDefinition* const found = FindCodec(each.dialect, each.name);
      ASSERT_NE(found, nullptr) << each.name;
      EXPECT_EQ(found == codec, each.when.empty()) << each.name;
      if (each.dialect == Dialect::kZarr2) {
        EXPECT_EQ(FindCodec(Dialect::kZarr3, "numcodecs." + std::string(each.name)), codec);
      }
    }
  }
}

TEST(CodecChain, LevelsDoNotMatterToAnEncodingButOrdersDo) {
  const auto chain = [](const std::string& codecs) {
    return ChainOf("[" + codecs + "]", {Kind::kUnsigned, 2}, 2);
  };
  const ChunkCodecPtr a = chain(R"("bytes", {"name": "gzip", "configuration": {"level": 1}})");
  EXPECT_TRUE(SameEncoding(
      *a, *chain(R"("bytes", {"name": "numcodecs.gzip", "configuration": {"level": 9}})")));
  EXPECT_FALSE(SameEncoding(
      *a, *chain(R"("bytes", {"name": "numcodecs.zlib", "configuration": {"level": 9}})")));
  EXPECT_FALSE(
      SameEncoding(*a, *chain(R"({"name": "transpose", "configuration": {"order": [1, 0]}}, "bytes",
                    {"name": "gzip", "configuration": {"level": 1}})")));
}

TEST(VolumeEncoding, AnUnknownOneIsNamed) {
  EXPECT_EQ(BindVolumeChain(R"("encoding": "webp")", kUint8, 1).error().message,
            "encoding: decoding chunks of encoding \"webp\" is not supported");
}

}  // namespace
}  // namespace unshard
