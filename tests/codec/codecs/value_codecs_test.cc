// cast_value and scale_offset: the examples of their specifications, and arrays that zarr-python
// 3.4 has written.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "codec/chain/codec_chain.h"
#include "codec/codecs/codecs.h"
#include "codec/json/parser.h"
#include "codec/types/fill_value.h"
#include "tests/support/hex.h"

namespace unshard {
namespace {

Result<ArrayCodecPtr> BindTo(const std::string& type, const std::string& codec) {
  const JsonValue json = ParseJson("[" + codec + "]").value();
  const ChainSpec chain = ParseChainSpec(JsonCursor(json, "codecs"), 1).value();
  return BindArrayToArray(chain[0], {*FindDataType(DataTypeDialect::kZarr, type), 1});
}

Voxels Items(const std::string& type, const std::string& values) {
  const DataType data_type = *FindDataType(DataTypeDialect::kZarr, type);
  const JsonValue json = ParseJson("[" + values + "]").value();
  ByteVector bytes;
  for (const JsonValue& value : json.items()) {
    const auto item = ParseFillValue(JsonCursor(value, ""), data_type);
    EXPECT_TRUE(item) << item.error().message;
    bytes.insert(bytes.end(), item->begin(), item->end());
  }
  return Voxels::Make(data_type, {json.items().size()}, std::move(bytes)).value();
}

std::string CastTo(const std::string& type, const std::string& more = "") {
  return R"({"name": "cast_value", "configuration": {"data_type": ")" + type + "\"" +
         (more.empty() ? "" : ", ") + more + "}}";
}

void ExpectStored(const std::string& codec, const Voxels& plain, const Voxels& stored) {
  const auto bound = BindTo(DataTypeName(plain.type()), codec);
  ASSERT_TRUE(bound) << bound.error().message;
  const auto encoded = (*bound)->Encode(plain);
  ASSERT_TRUE(encoded) << codec << encoded.error().message;
  EXPECT_EQ(*encoded, stored) << codec;
}

void ExpectDecoded(const std::string& codec, const Voxels& stored, const Voxels& plain) {
  const auto bound = BindTo(DataTypeName(plain.type()), codec);
  ASSERT_TRUE(bound) << bound.error().message;
  const auto decoded = (*bound)->Decode(stored, stored.shape());
  ASSERT_TRUE(decoded) << codec << decoded.error().message;
  EXPECT_EQ(*decoded, plain) << codec;
}

std::string RefusedToStore(const std::string& codec, const Voxels& plain) {
  const auto bound = BindTo(DataTypeName(plain.type()), codec);
  EXPECT_TRUE(bound) << bound.error().message;
  const auto encoded = (*bound)->Encode(plain);
  EXPECT_FALSE(encoded) << codec;
  return encoded ? "" : encoded.error().message;
}

TEST(CastValue, RoundsAsItIsTold) {
  const Voxels plain = Items("float64", "0.5, 1.5, 2.5, -0.5, -1.5, 0.49, -2.51");
  const std::vector<std::pair<const char*, const char*>> cases = {
      {"nearest-even", "0, 2, 2, 0, -2, 0, -3"},
      {"towards-zero", "0, 1, 2, 0, -1, 0, -2"},
      {"towards-positive", "1, 2, 3, 0, -1, 1, -2"},
      {"towards-negative", "0, 1, 2, -1, -2, 0, -3"},
      {"nearest-away", "1, 2, 3, -1, -2, 0, -3"}};
  for (const auto& [rounding, stored] : cases) {
    const std::string named = std::string(R"("rounding": ")") + rounding + "\"";
    ExpectStored(CastTo("int8", named), plain, Items("int8", stored));
  }
  ExpectStored(CastTo("int8"), plain, Items("int8", cases[0].second));
}

TEST(CastValue, BringsValuesIntoTheRange) {
  const Voxels plain =
      Items("float64", "127, 128, 129, -128, -129, -130, 255.5, 256, 300.7, 1e300");
  ExpectStored(CastTo("int8", R"("out_of_range": "clamp")"), plain,
               Items("int8", "127, 127, 127, -128, -128, -128, 127, 127, 127, 127"));
  ExpectStored(CastTo("int8", R"("out_of_range": "wrap")"), plain,
               Items("int8", "127, -128, -127, -128, 127, 126, 0, 0, 45, 0"));
  EXPECT_EQ(RefusedToStore(CastTo("int8"), Items("float64", "127.4, 127.5")),
            "cast_value: item 1: 127.500000 does not fit in int8");
  ExpectStored(CastTo("uint64", R"("out_of_range": "wrap")"), Items("int64", "-1, 5"),
               Items("uint64", "18446744073709551615, 5"));
  ExpectStored(CastTo("int64"), Items("uint64", "9223372036854775807"),
               Items("int64", "9223372036854775807"));
  RefusedToStore(CastTo("int64"), Items("uint64", "9223372036854775808"));
}

TEST(CastValue, KeepsWhatFloatsHave) {
  const std::string clamp = R"("out_of_range": "clamp")";
  ExpectStored(CastTo("float16", clamp),
               Items("float64", "65519, 65520, 0.1, -0.0, \"-Infinity\", \"NaN\""),
               Items("float16", R"(65504, "Infinity", 0.1, -0.0, "-Infinity", "NaN")"));
  RefusedToStore(CastTo("float16"), Items("float64", "65520"));
  ExpectStored(CastTo("float16", R"("rounding": "towards-zero")"), Items("float64", "65520, -1e-9"),
               Items("float16", "65504, -0.0"));
  ExpectStored(CastTo("float16", R"("rounding": "towards-positive")"),
               Items("float64", "1e-9, 1.0001"), Items("float16", R"("0x0001", "0x3c01")"));
  ExpectStored(CastTo("float32"), Items("int64", "16777217, 16777219, -16777217"),
               Items("float32", "16777216, 16777220, -16777216"));
  ExpectStored(CastTo("bfloat16"), Items("float32", "1.5, 3.0e38"),
               Items("bfloat16", "1.5, 3.0e38"));
  for (const char* const value : {"NaN", "Infinity", "-Infinity"}) {
    const Voxels plain = Items("float32", '"' + std::string(value) + '"');
    RefusedToStore(CastTo("int8", clamp), plain);
    RefusedToStore(CastTo("int8", R"("out_of_range": "wrap")"), plain);
  }
}

TEST(CastValue, TheFirstEntryOfAMapDecides) {
  const std::string codec =
      CastTo("uint8", R"("rounding": "towards-zero", "out_of_range": "wrap", "scalar_map": {
        "encode": [["NaN", 255], ["+Infinity", 1], ["-Infinity", 2], [0, 9], [0, 8]],
        "decode": [[255, "NaN"], [9, 0]]})");
  const Voxels stored = Items("uint8", "255, 1, 2, 9, 7, 44");
  ExpectStored(codec, Items("float64", R"("NaN", "Infinity", "-Infinity", 0, 7.9, 300)"), stored);
  ExpectDecoded(codec, stored, Items("float64", R"("NaN", 1, 2, 0, 7, 44)"));
}

TEST(CastValue, IsLosslessWhereTheOtherTypeHasAllIntegers) {
  const auto lossless = [](const std::string& from, const std::string& to,
                           const std::string& more = "") {
    return (*BindTo(from, CastTo(to, more)))->is_lossless();
  };
  EXPECT_TRUE(lossless("uint8", "int16") && lossless("uint8", "uint8"));
  EXPECT_TRUE(lossless("uint8", "float16") && lossless("int32", "float64"));
  EXPECT_FALSE(lossless("int8", "uint64") || lossless("int16", "float16"));
  EXPECT_FALSE(lossless("int64", "float64") || lossless("float32", "float64"));
  EXPECT_FALSE(lossless("uint8", "uint8", R"("scalar_map": {"encode": [[1, 2]]})"));
}

TEST(CastValue, DecodesByTheSameRules) {
  ExpectDecoded(CastTo("float32", R"("rounding": "nearest-away", "out_of_range": "clamp")"),
                Items("float32", "2.5, -1, 1e9"), Items("uint8", "3, 0, 255"));
  const auto bound = BindTo("uint8", CastTo("float32"));
  const auto decoded = (*bound)->Decode(Items("float32", "256"), Shape{1});
  EXPECT_EQ(decoded.error().code, ErrorCode::kDataLoss);
}

TEST(CastValue, RefusesWhatItsSpecificationDoes) {
  const auto refused = [](const std::string& more, const std::string& type = "float64") {
    const auto bound = BindTo(type, CastTo("uint8", more));
    EXPECT_FALSE(bound) << more;
    return bound ? "" : bound.error().message;
  };
  EXPECT_EQ(
      refused(R"("out_of_range": "ignore")"),
      R"(codecs[0].configuration.out_of_range: expected "clamp" or "wrap", found the string "ignore")");
  EXPECT_NE(refused(R"("speed": 1)").find("speed"), std::string::npos);
  EXPECT_NE(refused(R"("scalar_map": {"encode": [["NaN"]]})").find("scalar_map.encode[0]"),
            std::string::npos);
  EXPECT_NE(refused(R"("scalar_map": {"encode": [["NaN", 256]]})").find("[0][1]"),
            std::string::npos);
  EXPECT_NE(refused("", "complex64").find("complex64"), std::string::npos);
  EXPECT_EQ(BindTo("uint8", CastTo("float32", R"("out_of_range": "wrap")")).error().code,
            ErrorCode::kDataLoss);
  EXPECT_EQ(BindTo("uint8", CastTo("int4")).error().message,
            R"(codecs[0].configuration.data_type: unsupported data type "int4")");
}

std::string Scaled(const std::string& members) {
  return R"({"name": "scale_offset", "configuration": {)" + members + "}}";
}

TEST(ScaleOffset, ComputesInTheTypeOfTheItems) {
  const std::string codec = Scaled(R"("offset": 5, "scale": 2)");
  ExpectStored(codec, Items("int32", "0, 5, -5"), Items("int32", "-10, 0, -20"));
  ExpectDecoded(codec, Items("int32", "-10, 0, -20"), Items("int32", "0, 5, -5"));
  ExpectStored(R"({"name": "scale_offset"})", Items("int32", "1, 2"), Items("int32", "1, 2"));
  // 0.1 is rounded to a float of 4 bytes first.
  ExpectStored(Scaled(R"("offset": 5, "scale": 0.1)"), Items("float32", "5, 15, 25"),
               Items("float32", "0, 1, 2"));
  ExpectStored(Scaled(R"("offset": 1000)"), Items("uint16", "1000, 1255"),
               Items("uint16", "0, 255"));
  ExpectStored(Scaled(R"("offset": 1, "scale": 3)"), Items("float16", "1, 2.5, 60000"),
               Items("float16", R"(0, 4.5, "Infinity")"));
  ExpectDecoded(Scaled(R"("offset": 1, "scale": 3)"), Items("bfloat16", "0, 4.5"),
                Items("bfloat16", "1, 2.5"));
}

TEST(ScaleOffset, RefusesIntegersThatDoNotFit) {
  EXPECT_EQ(RefusedToStore(Scaled(R"("offset": 1000)"), Items("uint16", "1000, 999")),
            "scale_offset: item 1 cannot be stored as uint16");
  RefusedToStore(Scaled(R"("scale": 2)"), Items("int8", "64"));
  RefusedToStore(Scaled(R"("scale": -1)"), Items("int8", "-128"));
  const auto decode = [](const std::string& codec, const Voxels& stored) {
    const auto bound = BindTo(DataTypeName(stored.type()), codec);
    EXPECT_TRUE(bound) << bound.error().message;
    return (*bound)->Decode(stored, stored.shape());
  };
  EXPECT_EQ(decode(Scaled(R"("scale": 2)"), Items("int8", "3")).error().code, ErrorCode::kDataLoss);
  EXPECT_FALSE(decode(Scaled(R"("scale": -1)"), Items("int64", "-9223372036854775808")));
  EXPECT_FALSE(decode(Scaled(R"("offset": 200)"), Items("uint8", "100")));
  EXPECT_EQ(BindTo("uint8", Scaled(R"("scale": 0)")).error().message,
            "codecs[0].configuration: expected a `scale` that is not 0");
  EXPECT_FALSE(BindTo("uint8", Scaled(R"("offset": -1)")));
  EXPECT_FALSE(BindTo("uint8", Scaled(R"("shift": 1)")));
  EXPECT_FALSE(BindTo("bool", R"({"name": "scale_offset"})"));
}

TEST(Reshape, KeepsTheOrderOfItems) {
  const auto reshaped = [](const std::string& shape, const Shape& decoded) -> Result<Shape> {
    const JsonValue json =
        ParseJson(R"([{"name": "reshape", "configuration": {"shape": )" + shape + "}}]").value();
    const ChainSpec chain = ParseChainSpec(JsonCursor(json, "codecs"), decoded.size()).value();
    UNSHARD_ASSIGN_OR_RETURN(const auto codec,
                             BindArrayToArray(chain[0], {kUint8, decoded.size()}));
    const Voxels voxels = Voxels::Filled(kUint8, decoded, ByteVector{7}).value();
    const auto encoded = codec->Encode(voxels);
    if (!encoded) return tl::unexpected<Error>(encoded.error());
    EXPECT_EQ(encoded->shape(), codec->EncodedShape(decoded).value());
    EXPECT_EQ(codec->Decode(*encoded, decoded).value(), voxels);
    return encoded->shape();
  };
  EXPECT_EQ(reshaped("[[0, 1]]", {2, 3}).value(), (Shape{6}));
  EXPECT_EQ(reshaped("[[0], 3, [], -1]", {2, 9, 2}).value(), (Shape{2, 3, 1, 6}));
  EXPECT_EQ(reshaped("[3, 2]", {2, 3}).value(), (Shape{3, 2}));
  EXPECT_EQ(reshaped("[]", {1, 1}).value(), Shape());
  const std::string path = "codecs[0].configuration.shape";
  EXPECT_EQ(reshaped("[4]", {2, 3}).error().message,
            "reshape: `shape` does not have the 6 items of a chunk");
  EXPECT_FALSE(reshaped("[4, -1]", {2, 3}));
  EXPECT_TRUE(reshaped("[-1, -1]", {2, 3}).error().message.starts_with(path + "[1]"));
  EXPECT_TRUE(reshaped("[[1], [0]]", {2, 3}).error().message.starts_with(path + "[1]"));
  EXPECT_TRUE(reshaped("[[0, 2]]", {2, 3}).error().message.starts_with(path + "[0][1]"));
  EXPECT_TRUE(reshaped("[0]", {2, 3}).error().message.starts_with(path + "[0]"));
}

}  // namespace
}  // namespace unshard
