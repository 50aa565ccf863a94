// Chunks of 4 x 3 x 2 voxels that zfpc 0.1.2 has written, and streams of zfp.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>

#include "codec/chain/codec_chain.h"
#include "codec/codecs/item_values.h"
#include "tests/support/codecs.h"
#include "tests/support/hex.h"

namespace unshard {
namespace {

constexpr DataType kFloat32Type = {DataType::Kind::kFloat, 4};
constexpr DataType kFloat64Type = {DataType::Kind::kFloat, 8};
constexpr DataType kInt32Type = {DataType::Kind::kSigned, 4};

const char* const kZfpcSlices =
    "7a667063002304000000030000000200000003000000034f000000000000001800000000000000180000"
    "000000000018000000000000001800000000000000200000000000000020000000000000007a66700526"
    "0000300000c0caf92c51890838e000090402007a667005260000300000c0cafbac518c022a00000b22b2"
    "087a667005260000300000c0cafd2c1891a880030c904020007a667005260000300000c0cafdac189188"
    "00030c984020007a667005260000300000c0caff2c18c508a00202b800a28b00000000000000007a6670"
    "05260000300000c0caffac12c128200202b020a28b0000000000000000";
const char* const kZfpcInt32 =
    "7a6670630029040000000300000002000000010000000f270000000000000040000000000000007a6670"
    "050c000120000300881f00000038d8f8010000d8c60680070000000000060000c0d4150f2846a0a20030"
    "800a8000301000000019000000100000000000";

struct FloatChunk {
  std::string encoding;
  DataType type;
  std::uint64_t channels;
  const char* hex;
  std::function<double(std::size_t)> voxel;
  double tolerance = 0;
};

double Eighths(std::size_t i) { return static_cast<double>(i) / 8 - 1; }
double Hundredths(std::size_t i) { return static_cast<double>(static_cast<float>(i) * 0.01f); }

const FloatChunk kChunks[] = {
    {"zfpc", kFloat32Type, 3, kZfpcSlices, Hundredths, 0.01},
    {"zfpc", kInt32Type, 1, kZfpcInt32, [](std::size_t i) { return std::trunc(Eighths(i)); }}};

ChunkCodecPtr CodecOf(const FloatChunk& chunk) {
  return BindVolumeChain(R"("encoding": ")" + chunk.encoding + "\"", chunk.type, chunk.channels)
      .value();
}

Shape ShapeOf(const FloatChunk& chunk) { return {chunk.channels, 2, 3, 4}; }

TEST(FloatVolumes, AreDecoded) {
  for (const FloatChunk& chunk : kChunks) {
    const auto codec = CodecOf(chunk);
    if (!codec->CanDecode()) continue;  // not in this build
    const ByteVector encoded = FromHex(chunk.hex);
    const auto voxels = codec->Decode(encoded, ShapeOf(chunk));
    ASSERT_TRUE(voxels) << chunk.encoding << ": " << voxels.error().message;
    ValueBlock values;
    LoadValues(voxels->bytes(), chunk.type, values);
    values.MakeReal();
    ASSERT_EQ(values.count, 24 * chunk.channels);
    for (std::size_t i = 0; i < values.count; ++i) {
      EXPECT_NEAR(values.reals[i], chunk.voxel(i), chunk.tolerance) << chunk.encoding << " " << i;
    }
    EXPECT_TRUE(codec->Check(encoded, encoded.size(), ShapeOf(chunk)));
    EXPECT_FALSE(codec->Check(ByteSpan(encoded).subspan(1), encoded.size(), ShapeOf(chunk)));
    EXPECT_FALSE(codec->CanEncode());
  }
}

TEST(FloatVolumes, DamageIsReportedOrReadAsVoxels) {
  for (const FloatChunk& chunk : kChunks) {
    const auto codec = CodecOf(chunk);
    if (!codec->CanDecode()) continue;
    const ByteVector encoded = FromHex(chunk.hex);
    for (std::size_t size = 0; size < encoded.size(); ++size) {
      const auto voxels = codec->Decode(ByteSpan(encoded).first(size), ShapeOf(chunk));
      EXPECT_TRUE(voxels || voxels.error().code == ErrorCode::kDataLoss);
      EXPECT_TRUE(!voxels || size >= encoded.size() / 2) << chunk.encoding << " " << size;
    }
    for (std::size_t at = 0; at < 8 * encoded.size(); ++at) {
      ByteVector damaged = encoded;
      damaged[at / 8] = static_cast<std::uint8_t>(damaged[at / 8] ^ 1u << at % 8);
      const auto voxels = codec->Decode(damaged, ShapeOf(chunk));
      EXPECT_TRUE(voxels || voxels.error().code == ErrorCode::kDataLoss);
    }
    Shape other = ShapeOf(chunk);
    std::swap(other[1], other[2]);
    EXPECT_FALSE(codec->Decode(encoded, other)) << chunk.encoding;
  }
}

// As zfpy 1.0.1 writes them without a header.
TEST(Zfp, IsThatOfZfpy) {
  const auto bind = [](const std::string& mode, const DataType& type, std::size_t rank) {
    const JsonValue json =
        ParseJson(R"([{"name": "zfp", "configuration": {"mode": )" + mode + "}}]").value();
    return BindZarr3Chain(JsonCursor(json, "codecs"), type, rank);
  };
  if (!(*bind(R"("reversible")", kFloat32Type, 2))->CanDecode())
    GTEST_SKIP() << "not in this build: zfp";
  for (const DataType& type :
       {kFloat32Type, kFloat64Type, kInt32Type, DataType{DataType::Kind::kSigned, 8}, kUint8,
        kUint16, DataType{DataType::Kind::kSigned, 1}, DataType{DataType::Kind::kSigned, 2}}) {
    for (const Shape& shape : {Shape{}, Shape{7}, Shape{5, 3}, Shape{2, 3, 5}, Shape{1, 2, 3, 4}}) {
      ByteVector bytes(*VoxelBytes(type, shape));
      for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::uint8_t>(i * 37);
      const Voxels voxels = Voxels::Make(type, shape, std::move(bytes)).value();
      const auto codec = bind(R"("reversible")", type, shape.size()).value();
      EXPECT_FALSE(codec->is_lossy());
      const auto encoded = codec->Encode(voxels);
      ASSERT_TRUE(encoded) << encoded.error().message;
      EXPECT_EQ(codec->Decode(*encoded, shape).value(), voxels) << DataTypeName(type);
    }
  }
  const std::string path = "codecs[0].configuration";
  EXPECT_TRUE(bind(R"("fixed_rate", "rate": 0)", kFloat32Type, 2)
                  .error()
                  .message.starts_with(path + ".rate: expected a rate above 0"));
  EXPECT_FALSE(bind(R"("fixed_accuracy")", kFloat32Type, 2));
  EXPECT_FALSE(bind(R"("quick")", kFloat32Type, 2));
  EXPECT_FALSE(bind(R"("reversible")", kUint32, 2));
  EXPECT_FALSE(bind(R"("reversible")", kFloat32Type, 5));
  for (const char* const mode :
       {R"("fixed_rate", "rate": 8)", R"("fixed_precision", "precision": 12)",
        R"("fixed_accuracy", "tolerance": 0.01)",
        R"("expert", "minbits": 1, "maxbits": 500, "maxprec": 20, "minexp": -20)"}) {
    const auto codec = bind(mode, kFloat32Type, 2).value();
    EXPECT_TRUE(codec->is_lossy());
    const Voxels voxels = Voxels::Filled(kFloat32Type, {6, 5}, FromHex("0000803f")).value();
    EXPECT_EQ(codec->Decode(codec->Encode(voxels).value(), Shape{6, 5}).value(), voxels) << mode;
  }
}

}  // namespace
}  // namespace unshard
