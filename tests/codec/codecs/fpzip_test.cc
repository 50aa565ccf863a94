// Chunks that fpzip 1.2.5 has written, as CloudVolume calls it: tests/fuzz/corpus/fpzip_decoding.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "codec/chain/codec_chain.h"
#include "tests/support/codecs.h"
#include "tests/support/folders.h"

namespace unshard {
namespace {

constexpr DataType kFloatVoxels = {DataType::Kind::kFloat, 4};
constexpr DataType kDoubleVoxels = {DataType::Kind::kFloat, 8};

ByteVector FpzipSeed(const std::string& name) {
  const auto file =
      std::filesystem::path(SourceFolder()) / "tests/fuzz/corpus/fpzip_decoding" / name;
  std::ifstream stream(file, std::ios::binary);
  EXPECT_TRUE(stream.good()) << file;
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

ChunkCodecPtr Floats(const std::string& encoding, const DataType& type, std::uint64_t channels) {
  return BindVolumeChain(R"("encoding": ")" + encoding + "\"", type, channels).value();
}

std::vector<double> ValuesOf(const ByteVector& chunk, const std::string& encoding,
                             const DataType& type, std::uint64_t channels) {
  const auto voxels = Floats(encoding, type, channels)->Decode(chunk, Shape{channels, 2, 3, 4});
  EXPECT_TRUE(voxels) << voxels.error().message;
  std::vector<double> values;
  if (!voxels) return values;
  for (std::size_t at = 0; at < voxels->bytes().size(); at += type.size) {
    const std::uint64_t bits = LoadLe(&voxels->bytes()[at], type.size);
    values.push_back(type.size == 4 ? std::bit_cast<float>(static_cast<std::uint32_t>(bits))
                                    : std::bit_cast<double>(bits));
  }
  return values;
}

// -1, -0.875 …
std::vector<double> FpzipEighths() {
  std::vector<double> values;
  for (int i = -8; i < 16; ++i) values.push_back(i / 8.0);
  return values;
}

// 0, 0.01 … in three channels.
std::vector<float> FpzipHundredths() {
  std::vector<float> values;
  for (int i = 0; i < 72; ++i) values.push_back(static_cast<float>(i * 0.01));
  return values;
}

TEST(Fpzip, DecodesAllForms) {
  EXPECT_EQ(ValuesOf(FpzipSeed("float32"), "fpzip", kFloatVoxels, 1), FpzipEighths());
  EXPECT_EQ(ValuesOf(FpzipSeed("precision16"), "fpzip", kFloatVoxels, 1), FpzipEighths());
  EXPECT_EQ(ValuesOf(FpzipSeed("float64"), "fpzip", kDoubleVoxels, 1), FpzipEighths());
  const std::vector<float> floats = FpzipHundredths();
  EXPECT_EQ(ValuesOf(FpzipSeed("channels"), "fpzip", kFloatVoxels, 3),
            std::vector<double>(floats.begin(), floats.end()));
  // Of 8 bits, the sign and 7 of the exponent are kept: powers of 4, times 2.
  std::vector<double> powers;
  for (const double value : FpzipEighths()) {
    const double power =
        value == 0 ? 0 : std::exp2(2 * std::floor((std::ilogb(value) + 1) / 2.0) - 1);
    powers.push_back(std::copysign(power, value));
  }
  EXPECT_EQ(ValuesOf(FpzipSeed("precision8"), "fpzip", kFloatVoxels, 1), powers);
}

TEST(Fpzip, KempressedIsGreaterByTwoWithZAndChannelsExchanged) {
  const std::vector<double> found =
      ValuesOf(FpzipSeed("kempressed"), "kempressed", kFloatVoxels, 3);
  std::vector<double> expected;
  for (const float value : FpzipHundredths()) expected.push_back((value + 2.0f) - 2.0f);
  EXPECT_EQ(found, expected);
}

TEST(Fpzip, IsChecked) {
  const auto codec = Floats("fpzip", kFloatVoxels, 3);
  const ByteVector chunk = FpzipSeed("channels");
  const ByteSpan start = ByteSpan(chunk).first(codec->NeededBytes(chunk.size(), Shape{3, 2, 3, 4}));
  EXPECT_TRUE(codec->Check(start, chunk.size(), Shape{3, 2, 3, 4}));
  EXPECT_EQ(
      codec->Check(start, chunk.size(), Shape{3, 2, 4, 3}).error().message,
      "fpzip chunk: expected 3 x 4 x 2 x 3 values of 4 bytes, found 4 x 3 x 2 x 3 values of 4 "
      "bytes");
  EXPECT_TRUE(Floats("kempressed", kFloatVoxels, 2)->Check(start, chunk.size(), Shape{2, 3, 3, 4}));
  EXPECT_FALSE(Floats("fpzip", kDoubleVoxels, 3)->Check(start, chunk.size(), Shape{3, 2, 3, 4}));
  EXPECT_FALSE(codec->Check(start.first(20), chunk.size(), Shape{3, 2, 3, 4}));
  EXPECT_EQ(codec->CanEncode().error().message, "chunks of encoding \"fpzip\" can only be read");
  EXPECT_FALSE(BindVolumeChain(R"("encoding": "fpzip")", kUint32, 1));
}

TEST(Fpzip, SurvivesDamage) {
  for (const char* const name : {"float32", "precision16", "precision8", "float64"}) {
    const DataType type = name == std::string("float64") ? kDoubleVoxels : kFloatVoxels;
    const ByteVector chunk = FpzipSeed(name);
    const auto codec = Floats("fpzip", type, 1);
    const Shape shape = {1, 2, 3, 4};
    for (std::size_t size = 0; size < chunk.size(); ++size) {
      const auto part = codec->Decode(ByteSpan(chunk).first(size), shape);
      ASSERT_FALSE(part) << name << size;
      EXPECT_EQ(part.error().code, ErrorCode::kDataLoss);
    }
    for (std::size_t at = 0; at < 8 * chunk.size(); ++at) {
      ByteVector damaged = chunk;
      damaged[at / 8] = static_cast<std::uint8_t>(damaged[at / 8] ^ 1u << at % 8);
      const auto voxels = codec->Decode(damaged, shape);
      if (voxels) {
        EXPECT_EQ(voxels->bytes().size(), 24 * type.size);
      } else {
        EXPECT_EQ(voxels.error().code, ErrorCode::kDataLoss) << name << at;
      }
    }
  }
}

}  // namespace
}  // namespace unshard
