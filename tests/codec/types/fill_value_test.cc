#include "codec/types/fill_value.h"

#include <gtest/gtest.h>

#include <string>

#include "codec/json/parser.h"
#include "codec/json/writer.h"
#include "codec/types/base64.h"

namespace unshard {
namespace {

using Kind = DataType::Kind;

Result<ByteVector> Parse(const std::string& json, const DataType& type) {
  const JsonValue value = ParseJson(json).value();
  return ParseFillValue(JsonCursor(value, "fill_value"), type);
}

struct Case {
  const char* type;
  const char* json;
  ByteVector item;
  const char* written;  // in Zarr v3
};

TEST(FillValue, EveryCoreTypeIsReadAndWritten) {
  const Case cases[] = {
      {"bool", "true", {1}, "true"},
      {"bool", "0", {0}, "false"},
      {"int8", "-128", {0x80}, "-128"},
      {"uint8", "255", {0xff}, "255"},
      {"int16", "-2", {0xfe, 0xff}, "-2"},
      {"uint16", "258", {2, 1}, "258"},
      {"int32", "-3.0", {0xfd, 0xff, 0xff, 0xff}, "-3"},
      {"uint32", "16909060", {4, 3, 2, 1}, "16909060"},
      {"int64", "-9223372036854775808", {0, 0, 0, 0, 0, 0, 0, 0x80}, "-9223372036854775808"},
      {"uint64", "18446744073709551615", ByteVector(8, 0xff), "18446744073709551615"},
      {"uint64", "9007199254740993", {1, 0, 0, 0, 0, 0, 0x20, 0}, "9007199254740993"},
      {"float16", "1.5", {0x00, 0x3e}, "1.5"},
      {"float16", "\"NaN\"", {0x00, 0x7e}, "\"NaN\""},
      {"float16", "\"0x7e01\"", {0x01, 0x7e}, "\"0x7e01\""},
      {"float16", "65520", {0x00, 0x7c}, "\"Infinity\""},
      {"bfloat16", "3.0", {0x40, 0x40}, "3.0"},
      {"float32", "0.1", {0xcd, 0xcc, 0xcc, 0x3d}, "0.1"},
      {"float32", "-0.0", {0, 0, 0, 0x80}, "-0.0"},
      {"float32", "1e-45", {1, 0, 0, 0}, "1e-45"},
      {"float32", "\"NaN\"", {0, 0, 0xc0, 0x7f}, "\"NaN\""},
      {"float32", "\"0x7fc00001\"", {1, 0, 0xc0, 0x7f}, "\"0x7fc00001\""},
      {"float32", "\"-Infinity\"", {0, 0, 0x80, 0xff}, "\"-Infinity\""},
      {"float32", "\"0x3f800000\"", {0, 0, 0x80, 0x3f}, "1.0"},
      {"float64", "1", {0, 0, 0, 0, 0, 0, 0xf0, 0x3f}, "1.0"},
      {"float64", "\"NaN\"", {0, 0, 0, 0, 0, 0, 0xf8, 0x7f}, "\"NaN\""},
      {"float64", "1e400", {0, 0, 0, 0, 0, 0, 0xf0, 0x7f}, "\"Infinity\""},
      {"complex64", "[1.5, \"NaN\"]", {0, 0, 0xc0, 0x3f, 0, 0, 0xc0, 0x7f}, "[1.5, \"NaN\"]"},
      {"complex128",
       "[0, -1]",
       {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xf0, 0xbf},
       "[0.0, -1.0]"},
      {"r24", "[1, 2, 255]", {1, 2, 255}, "[1, 2, 255]"},
      {"r24", "\"AQL/\"", {1, 2, 255}, "[1, 2, 255]"},
  };
  for (const Case& one : cases) {
    const DataType type = FindDataType(DataTypeDialect::kZarr, one.type).value();
    const auto item = Parse(one.json, type);
    ASSERT_TRUE(item) << one.type << ' ' << one.json << ": " << item.error().message;
    EXPECT_EQ(*item, one.item) << one.type << ' ' << one.json;
    EXPECT_EQ(WriteJson(WriteZarr3FillValue(*item, type), 0), one.written) << one.type;
    EXPECT_EQ(Parse(WriteJson(WriteZarr3FillValue(*item, type), 0), type), one.item) << one.type;
  }
}

TEST(FillValue, NumbersBeyondDoublesAreZeroOrInfinity) {
  const DataType type = FindDataType(DataTypeDialect::kZarr, "float64").value();
  const std::string zeros(400, '0');
  const ByteVector zero(8, 0), infinity = {0, 0, 0, 0, 0, 0, 0xf0, 0x7f};
  EXPECT_EQ(Parse("0." + zeros + "1", type), zero);
  EXPECT_EQ(Parse("1e-400", type), zero);
  EXPECT_EQ(Parse("-1E-400", type), (ByteVector{0, 0, 0, 0, 0, 0, 0, 0x80}));
  EXPECT_EQ(Parse("1" + zeros + ".5", type), infinity);
  EXPECT_EQ(Parse("10" + zeros + "e-1", type), infinity);
}

TEST(FillValue, WhatIsNoValueOfTheTypeIsRefusedByPath) {
  const std::pair<const char*, const char*> cases[] = {
      {"uint8", "256"},       {"uint8", "-1"},
      {"uint8", "\"1\""},     {"int8", "-129"},
      {"uint64", "1.5"},      {"bool", "2"},
      {"bool", "\"true\""},   {"float16", "\"0x10000\""},
      {"float32", "\"nan\""}, {"float32", "true"},
      {"float32", "\"0x\""},  {"complex64", "[1]"},
      {"complex64", "1"},     {"r16", "[1]"},
      {"r16", "[1, 256]"},    {"r16", "\"AQI\""},
      {"uint8", "null"},      {"float64", "\"0x12345678901234567\""}};
  for (const auto& [name, json] : cases) {
    const auto item = Parse(json, FindDataType(DataTypeDialect::kZarr, name).value());
    ASSERT_FALSE(item) << name << ' ' << json;
    EXPECT_EQ(item.error().code, ErrorCode::kDataLoss);
    EXPECT_TRUE(item.error().message.starts_with("fill_value")) << item.error().message;
  }
}

TEST(FillValue, ZarrV2HasBase64ButNoBitsOfNaN) {
  const DataType raw{Kind::kRaw, 3};
  EXPECT_EQ(WriteZarr2FillValue(ByteVector{1, 2, 255}, raw)->text(), "AQL/");
  const DataType real{Kind::kFloat, 4};
  EXPECT_EQ(WriteZarr2FillValue(ByteVector{0, 0, 0xc0, 0x7f}, real)->text(), "NaN");
  EXPECT_EQ(WriteZarr2FillValue(ByteVector{1, 0, 0xc0, 0x7f}, real).error().code,
            ErrorCode::kNotSupported);
}

TEST(Base64, VectorsOfTheRfc) {
  const std::pair<const char*, const char*> vectors[] = {{"", ""},
                                                         {"f", "Zg=="},
                                                         {"fo", "Zm8="},
                                                         {"foo", "Zm9v"},
                                                         {"foob", "Zm9vYg=="},
                                                         {"fooba", "Zm9vYmE="},
                                                         {"foobar", "Zm9vYmFy"}};
  for (const auto& [plain, text] : vectors) {
    EXPECT_EQ(EncodeBase64(AsBytes(plain)), text);
    EXPECT_EQ(AsText(DecodeBase64(text).value()), plain);
  }
  for (const char* damaged :
       {"Z", "Zg=", "Zg", "Zh==", "Zm9=", "Z===", "Zm 9", "====", "Zg==Zg=="}) {
    EXPECT_FALSE(DecodeBase64(damaged)) << damaged;
  }
}

// What xarray 2026.9 writes.
TEST(FillValue, TheAttributeOfXarrayIsReadAndWritten) {
  const struct {
    const char* type;
    const char* zarr;
    const char* attribute;
  } cases[] = {{"int16", "-9", "-9"},
               {"uint64", "18446744073709551615", "18446744073709551615"},
               {"bool", "true", "true"},
               {"float64", "-9.0", R"("AAAAAAAAIsA=")"},
               {"float32", "-9.0", R"("AAAAAAAAIsA=")"},
               {"float16", "-9.0", R"("AAAAAAAAIsA=")"},
               {"float32", R"("NaN")", R"("AAAAAAAA+H8=")"},
               {"float64", R"("NaN")", R"("AAAAAAAA+H8=")"},
               {"float32", R"("-Infinity")", R"("AAAAAAAA8P8=")"},
               {"float32", "0.10000000149011612", R"("AAAAoJmZuT8=")"},
               {"complex64", R"([-9.0,"NaN"])", R"(["AAAAAAAAIsA=", "AAAAAAAA+H8="])"},
               {"r16", "[1,2]", R"("AQI=")"}};
  for (const auto& each : cases) {
    const auto type = FindDataType(DataTypeDialect::kZarr, each.type);
    ASSERT_TRUE(type) << each.type;
    const auto item = ParseFillValue(JsonCursor(*ParseJson(each.zarr), ""), *type);
    ASSERT_TRUE(item) << each.type;
    EXPECT_EQ(WriteJson(WriteXarrayFillValue(*item, *type), 0), each.attribute) << each.type;
    EXPECT_EQ(ParseXarrayFillValue(*ParseJson(each.attribute), *type), *item) << each.type;
  }
  const auto float32 = *FindDataType(DataTypeDialect::kZarr, "float32");
  for (const char* other : {"-9", R"("NaN")", R"("AAAQwQ==")", "null", "[1,2]"}) {
    EXPECT_FALSE(ParseXarrayFillValue(*ParseJson(other), float32)) << other;
  }
}

}  // namespace
}  // namespace unshard
