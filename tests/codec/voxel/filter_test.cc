#include "codec/voxel/filter.h"

#include <gtest/gtest.h>

#include <string>

#include "codec/json/parser.h"

namespace unshard {
namespace {

ByteVector FromHex(const std::string& hex) {
  ByteVector bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes.push_back(static_cast<std::uint8_t>(std::stoul(hex.substr(i, 2), nullptr, 16)));
  }
  return bytes;
}

Result<std::optional<Filter>> Make(const char* id, const char* configuration) {
  const JsonValue json = ParseJson(configuration).value();
  return MakeFilter(id, std::string("numcodecs.") + id, &json, "filters[0]");
}

// As numcodecs 0.16 encodes them.
TEST(Filter, DifferencesAreThoseOfNumcodecs) {
  struct Case {
    const char* configuration;
    const char* plain;
    const char* stored;
  };
  const Case cases[] = {
      {R"({"dtype": "|u1"})", "010503c807", "0104fec53f"},
      {R"({"dtype": "<i2", "astype": "|i1"})", "01000500fdff64006300", "0104f867ff"},
      {R"({"dtype": ">i4"})", "0000000100000005fffffffd0000006400000063",
       "0000000100000004fffffff800000067ffffffff"},
      {R"({"dtype": "<u2", "astype": "<i4"})", "050003000700", "05000000feff000004000000"},
      {R"({"dtype": "<f4"})", "0000803f0000c03f000040c0", "0000803f0000003f000090c0"}};
  for (const Case& one : cases) {
    const auto filter = Make("delta", one.configuration);
    ASSERT_TRUE(filter && *filter) << one.configuration;
    const BytesCodecPtr& codec = (*filter)->codec;
    EXPECT_EQ(codec->Encode(FromHex(one.plain)).value(), FromHex(one.stored)) << one.configuration;
    EXPECT_EQ(codec->Decode(FromHex(one.stored), 64).value(), FromHex(one.plain))
        << one.configuration;
  }
}

// As numcodecs 0.15.2 encodes and decodes them.
TEST(Filter, OtherValuesAreThoseOfNumcodecs) {
  struct Case {
    const char* id;
    const char* configuration;
    const char* plain;
    const char* stored;
    const char* decoded;
  };
  const Case cases[] = {
      {"fixedscaleoffset", R"({"offset": -3.5, "scale": 100, "dtype": "<f4", "astype": "<i2"})",
       "0000a03fec5160c0e17ae040cdcccc3d", "db01ffff1c046801", "0000a03fd7a360c0d7a3e040cdcccc3d"},
      {"fixedscaleoffset", R"({"offset": 1, "scale": 3, "dtype": "<i4", "astype": "<f4"})",
       "01000000020000001e000000f9ffffff", "00000000000040400000ae420000c0c1",
       "01000000020000001e000000f9ffffff"},
      {"astype", R"({"encode_dtype": "<i2", "decode_dtype": "<f4"})", "3333f33f9a9939c000009643",
       "0100feff2c01", "0000803f000000c000009643"},
      {"astype", R"({"encode_dtype": "|u1", "decode_dtype": ">i4"})", "00000001ffffffff00000100",
       "01ff00", "00000001000000ff00000000"},
      {"packbits", "{}", "01000101000000010101", "06b1c0", "01000101000000010101"},
      {"packbits", "{}", "", "00", ""}};
  for (const Case& one : cases) {
    const auto filter = Make(one.id, one.configuration);
    ASSERT_TRUE(filter && *filter) << one.configuration;
    const BytesCodecPtr& codec = (*filter)->codec;
    EXPECT_EQ(codec->Encode(FromHex(one.plain)).value(), FromHex(one.stored)) << one.configuration;
    EXPECT_EQ(codec->Decode(FromHex(one.stored), 64).value(), FromHex(one.decoded))
        << one.configuration;
  }
}

TEST(Filter, ValuesThatTheirTypeLacksAreRefused) {
  const auto scaled =
      Make("fixedscaleoffset", R"({"offset": 0, "scale": 100, "dtype": "<f4", "astype": "|u1"})");
  EXPECT_EQ((*scaled)->codec->Encode(FromHex("0000a040")).error().code,  // 5
            ErrorCode::kInvalidArgument);
  EXPECT_EQ((*scaled)->codec->Encode(FromHex("0000c07f")).error().code,  // NaN
            ErrorCode::kInvalidArgument);
  const auto cast = Make("astype", R"({"encode_dtype": "<f4", "decode_dtype": "<i2"})");
  EXPECT_EQ((*cast)->codec->Decode(FromHex("0000004f"), 64).error().code, ErrorCode::kDataLoss);
  EXPECT_EQ((*cast)->codec->Decode(ByteVector(8), 3).error().code, ErrorCode::kResourceExhausted);
  EXPECT_EQ((*cast)->codec->Decode(ByteVector(7), 64).error().code, ErrorCode::kDataLoss);
}

TEST(Filter, DamagedBitsAreRefused) {
  const auto bits = Make("packbits", "{}");
  EXPECT_EQ((*bits)->codec->Decode({}, 64).error().code, ErrorCode::kDataLoss);
  EXPECT_EQ((*bits)->codec->Decode(FromHex("08ff"), 64).error().code, ErrorCode::kDataLoss);
  EXPECT_EQ((*bits)->codec->Decode(FromHex("01"), 64).error().code, ErrorCode::kDataLoss);
  EXPECT_EQ((*bits)->codec->Decode(FromHex("00ff"), 7).error().code, ErrorCode::kResourceExhausted);
}

TEST(Filter, WhatLosesNothingIsKnown) {
  const auto is_lossy = [](const std::string& plain, const std::string& stored) {
    const std::string options =
        R"({"decode_dtype": ")" + plain + R"(", "encode_dtype": ")" + stored + "\"}";
    return (*Make("astype", options.c_str()))->is_lossy;
  };
  EXPECT_FALSE(is_lossy("|u1", "<i8"));
  EXPECT_FALSE(is_lossy("<i4", "<u4"));
  EXPECT_FALSE(is_lossy("<u2", "<f4"));
  EXPECT_FALSE(is_lossy("|b1", "|u1"));
  EXPECT_TRUE(is_lossy("<i4", "<f4"));
  EXPECT_TRUE(is_lossy("<f4", "<i8"));
  EXPECT_TRUE(is_lossy("<f8", "<f4"));
  EXPECT_TRUE(is_lossy("<u4", "|u1"));
  EXPECT_TRUE(is_lossy("|u1", "|b1"));
}

TEST(Filter, DecodingIsBoundedAndTakesWholeItems) {
  const auto filter = Make("delta", R"({"dtype": "<u8", "astype": "|u1"})");
  EXPECT_EQ((*filter)->codec->Decode(ByteVector(9), 64).error().code,
            ErrorCode::kResourceExhausted);
  EXPECT_EQ((*filter)->codec->Encode(ByteVector(9)).error().code, ErrorCode::kInvalidArgument);
  EXPECT_TRUE((*filter)->is_lossy);
}

// As numcodecs 0.16 encodes them.
TEST(Filter, FloatsAreRoundedAsByNumcodecs) {
  const auto quantize = Make("quantize", R"({"dtype": ">f4", "digits": 1})");
  ASSERT_TRUE(quantize && *quantize);
  EXPECT_TRUE((*quantize)->is_lossy);
  const ByteVector third = FromHex("3eaaaaab");
  EXPECT_EQ((*quantize)->codec->Encode(third).value(), FromHex("3ea00000"));
  EXPECT_EQ((*quantize)->codec->Decode(third, 4).value(), third);
  const JsonValue two_bits = ParseJson(R"({"keepbits": 2})").value();
  const auto round = MakeFilter("bitround", "bitround", &two_bits, "", NumpyType{kUint8});
  ASSERT_TRUE(round && *round);
  EXPECT_EQ((*round)->codec->Encode(ByteVector(1)).error().code, ErrorCode::kNotSupported);
  const auto floats =
      MakeFilter("bitround", "bitround", &two_bits, "", NumpyType{{DataType::Kind::kFloat, 4}});
  EXPECT_EQ((*floats)->codec->Encode(FromHex("abaaaa3e0000903f0000b03f")).value(),
            FromHex("0000a03e0000803f0000c03f"));
  const JsonValue too_many = ParseJson(R"({"keepbits": 24})").value();
  EXPECT_FALSE(
      MakeFilter("bitround", "bitround", &too_many, "", NumpyType{{DataType::Kind::kFloat, 4}}));
}

TEST(Filter, RoundedIntegersAreDecodedOnly) {
  const auto filter = Make("quantize", R"({"dtype": "<i4", "digits": 2})");
  ASSERT_TRUE(filter && *filter);
  EXPECT_EQ((*filter)->codec->Decode(ByteVector{1, 2, 3, 4}, 4).value(), (ByteVector{1, 2, 3, 4}));
  EXPECT_EQ((*filter)->codec->Encode(ByteVector(4)).error().code, ErrorCode::kNotSupported);
}

TEST(Filter, WhatIsNotKnownIsNamed) {
  EXPECT_EQ(*Make("vlen-utf8", "{}"), std::nullopt);
  EXPECT_EQ(Make("delta", "{}").error().code, ErrorCode::kDataLoss);
  EXPECT_TRUE(Make("delta", R"({"dtype": "<U4"})")
                  .error()
                  .message.starts_with("filters[0].dtype: unsupported data type \"<U4\""));
  EXPECT_EQ(Make("astype", R"({"encode_dtype": "<f2", "decode_dtype": "<f4"})").error().code,
            ErrorCode::kNotSupported);
  EXPECT_EQ(Make("fixedscaleoffset", R"({"dtype": "<f4", "offset": 1})").error().message,
            "filters[0]: expected the member \"scale\"");
  EXPECT_EQ(Make("fixedscaleoffset", R"({"dtype": "<f4", "offset": 1, "scale": 0})").error().code,
            ErrorCode::kDataLoss);
  EXPECT_EQ(Make("quantize", R"({"dtype": "<f8", "astype": "<f4"})").error().code,
            ErrorCode::kNotSupported);
}

}  // namespace
}  // namespace unshard
