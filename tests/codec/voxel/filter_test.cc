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

TEST(Filter, DecodingIsBoundedAndTakesWholeItems) {
  const auto filter = Make("delta", R"({"dtype": "<u8", "astype": "|u1"})");
  EXPECT_EQ((*filter)->codec->Decode(ByteVector(9), 64).error().code,
            ErrorCode::kResourceExhausted);
  EXPECT_EQ((*filter)->codec->Encode(ByteVector(9)).error().code, ErrorCode::kInvalidArgument);
  EXPECT_TRUE((*filter)->is_lossy);
}

TEST(Filter, LostDigitsAreDecodedOnly) {
  const auto filter = Make("quantize", R"({"dtype": "<f4", "digits": 2})");
  ASSERT_TRUE(filter && *filter);
  EXPECT_TRUE((*filter)->is_lossy);
  EXPECT_EQ((*filter)->codec->Decode(ByteVector{1, 2, 3, 4}, 4).value(), (ByteVector{1, 2, 3, 4}));
  EXPECT_EQ((*filter)->codec->Encode(ByteVector(4)).error().code, ErrorCode::kNotSupported);
}

TEST(Filter, WhatIsNotKnownIsNamed) {
  EXPECT_EQ(*Make("vlen-utf8", "{}"), std::nullopt);
  EXPECT_EQ(Make("delta", "{}").error().code, ErrorCode::kDataLoss);
  EXPECT_TRUE(Make("delta", R"({"dtype": "<U4"})")
                  .error()
                  .message.starts_with("filters[0].configuration.dtype: the data type \"<U4\""));
  EXPECT_EQ(Make("quantize", R"({"dtype": "<f8", "astype": "<f4"})").error().code,
            ErrorCode::kNotSupported);
}

}  // namespace
}  // namespace unshard
