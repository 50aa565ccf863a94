// Chunks that crackle-codec 0.55 has written: the same labels in several forms.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "codec/chain/codec_chain.h"
#include "tests/support/codecs.h"
#include "tests/support/hex.h"

namespace unshard {
namespace {

const char* const kVersion0 =
    "63726b6c0086000500000004000000020000001f170000000b0000000e00000004000000000000000000"
    "050007002c0102030002010003040000000101010132330b0700000002000101020105b63308";
const char* const kFlat =
    "63726b6c0186000500000004000000020000001f1700000000000000870b0000000e000000ad40562704"
    "000000000000000000050007002c0102030002010003040000000101010132330b070000000200010102"
    "0105b633082d3000a439a07b142d0ba115";
const char* const kMarkov =
    "63726b6c0186060500000004000000020000001f17000000000000001f0a0000000d000000b3b4480c04"
    "000000000000000000050007002c0102030002010003f1de78efbdf7de3befbdf7de7befbdf7de7befbd"
    "e7de7befbdf7de7befbdf796716fbcf7de72efbd04000000010101010608070000000200010102010502"
    "022d3000a439a07b142d0ba115";
const char* const kPins =
    "63726b6c01c6000500000004000000020000001f1c00000000000000790b0000000e000000ad40562700"
    "000300000000000000050007002c01020300000102000101000104040000000101010132330b07000000"
    "02000101020105b633080a0b507a39a07b142d0ba115";
const char* const kPermissible =
    "63726b6c0190000600000005000000020000001f2e000000000000002c15000000220000007e733d0803"
    "00000000000000000102120f020100020102020001000201020102010002010200010001000202020101"
    "000102090000000201020202020200058f2689ad716c2902150000000500020202020300020401020003"
    "01020101010105a26729fe598aa2c823969d28dba432cdf35c61cb6b";
const char* const kUniform =
    "63726b6c0183000300000003000000020000001f0d00000000000000d505000000050000008bd66e4201"
    "000000000000000901010000010000000001000000007ac1fb09d22626fad22626fa";

using Labels = std::vector<std::uint64_t>;

const Labels kLabels = {0, 0, 0, 0, 0, 0, 7, 7, 0, 0, 0, 7, 7, 0,   0,   0, 0, 0, 0,   0,
                        5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 300, 300, 0, 0, 0, 300, 300};
const Labels kNoise = {2, 1, 0, 2, 1, 2, 1, 1, 2, 0, 0, 1, 0, 2, 1, 0, 0, 2, 0, 1,
                       1, 0, 1, 1, 0, 1, 2, 1, 0, 2, 1, 2, 2, 0, 0, 1, 0, 1, 0, 2,
                       0, 2, 0, 2, 2, 1, 2, 2, 0, 1, 0, 0, 1, 2, 2, 2, 2, 1, 1, 1};

ChunkCodecPtr Crackle(const DataType& type) {
  return BindVolumeChain(R"("encoding": "crackle")", type, 1).value();
}

std::string Refusal(const ByteVector& chunk, const DataType& type, const Shape& shape) {
  const auto decoded = Crackle(type)->Decode(chunk, shape);
  EXPECT_FALSE(decoded);
  if (decoded) return "";
  EXPECT_EQ(decoded.error().code, ErrorCode::kDataLoss);
  return decoded.error().message;
}

void ExpectLabels(const char* chunk, const DataType& type, const Shape& shape,
                  const Labels& expected) {
  const auto decoded = Crackle(type)->Decode(FromHex(chunk), shape);
  ASSERT_TRUE(decoded) << decoded.error().message;
  Labels found;
  for (std::size_t at = 0; at < decoded->bytes().size(); at += type.size) {
    found.push_back(LoadLe(&decoded->bytes()[at], type.size));
  }
  EXPECT_EQ(found, expected);
}

TEST(Crackle, DecodesAllForms) {
  for (const char* const chunk : {kVersion0, kFlat, kMarkov, kPins}) {
    ExpectLabels(chunk, kUint32, {1, 2, 4, 5}, kLabels);
  }
  ExpectLabels(kPermissible, kUint8, {1, 2, 5, 6}, kNoise);
  ExpectLabels(kUniform, kUint64, {1, 2, 3, 3}, Labels(18, 9));
}

TEST(Crackle, IsChecked) {
  const auto codec = Crackle(kUint32);
  const ByteVector chunk = FromHex(kFlat);
  const ByteSpan start = ByteSpan(chunk).first(29);
  EXPECT_TRUE(codec->Check(start, chunk.size(), Shape{1, 2, 4, 5}));
  EXPECT_EQ(codec->Check(start, chunk.size(), Shape{1, 2, 5, 4}).error().message,
            "crackle chunk: expected 4 x 5 x 2 voxels, found 5 x 4 x 2");
  EXPECT_FALSE(codec->Check(start.first(20), chunk.size(), Shape{1, 2, 4, 5}));
  EXPECT_EQ(codec->CanEncode().error().message, "chunks of encoding \"crackle\" can only be read");
}

// Each byte of version 1 is covered by a checksum or decides how the rest is read.
TEST(Crackle, NoticesDamage) {
  const std::vector<std::pair<const char*, Shape>> chunks = {
      {kFlat, {1, 2, 4, 5}}, {kMarkov, {1, 2, 4, 5}}, {kPins, {1, 2, 4, 5}}};
  for (const auto& [hex, shape] : chunks) {
    const ByteVector chunk = FromHex(hex);
    for (std::size_t size = 0; size < chunk.size(); ++size) {
      EXPECT_NE(Refusal({chunk.begin(), chunk.begin() + static_cast<std::ptrdiff_t>(size)}, kUint32,
                        shape),
                "");
    }
    int unnoticed = 0;
    for (std::size_t at = 0; at < 8 * chunk.size(); ++at) {
      ByteVector damaged = chunk;
      damaged[at / 8] = static_cast<std::uint8_t>(damaged[at / 8] ^ 1u << at % 8);
      const auto decoded = Crackle(kUint32)->Decode(damaged, shape);
      if (!decoded) continue;
      // Padding, and rows of the Markov model that no move uses.
      EXPECT_EQ(*decoded, *Crackle(kUint32)->Decode(chunk, shape)) << hex << at;
      ++unnoticed;
    }
    EXPECT_LT(unnoticed, hex == std::string(kMarkov) ? 400 : 20);
  }
  EXPECT_EQ(Refusal(FromHex(kFlat), kUint64, {1, 2, 4, 5}),
            "crackle chunk: expected 5 x 4 x 2 voxels of 8 bytes, found 5 x 4 x 2 of 4");
}

}  // namespace
}  // namespace unshard
