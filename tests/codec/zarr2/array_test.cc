#include "codec/zarr2/array.h"

#include <gtest/gtest.h>

#include <string>

#include "codec/json/parser.h"
#include "codec/json/writer.h"
#include "codec/pyramid/block_plan.h"
#include "tests/support/array_texts.h"
#include "tests/support/broken_documents.h"

namespace unshard {
namespace {

constexpr const char* kArray = R"({
  "zarr_format": 2, "shape": [4, 6], "chunks": [2, 3], "dtype": ">u2", "order": "F",
  "compressor": {"id": "zlib", "level": 1}, "filters": null, "fill_value": 3,
  "dimension_separator": "/"})";

TEST(Zarr2Array, IsReadAndWrittenUnchanged) {
  constexpr const char* kAttributes = R"({"_ARRAY_DIMENSIONS": ["y", "x"], "note": 1})";
  const auto array = ParseZarr2Array(kArray, kAttributes);
  ASSERT_TRUE(array) << array.error().message;
  EXPECT_EQ(array->dialect, Dialect::kZarr2);
  EXPECT_EQ(array->data_type, (DataType{DataType::Kind::kUnsigned, 2}));
  EXPECT_EQ(array->shape, (std::vector<std::uint64_t>{4, 6}));
  EXPECT_EQ(array->chunk_shape, (std::vector<std::uint64_t>{2, 3}));
  EXPECT_EQ(array->fill_value, (ByteVector{3, 0}));
  EXPECT_EQ(array->axis_names[1], "x");
  EXPECT_EQ(array->key_encoding.separator, '/');
  EXPECT_EQ(PlainItemsOf(*array->codec)->order, (std::vector<std::size_t>{1, 0}));
  const auto documents = WriteZarr2Array(*array);
  ASSERT_TRUE(documents) << documents.error().message;
  EXPECT_EQ(documents->zarray, ParseJson(kArray).value());
  EXPECT_EQ(documents->zattrs, ParseJson(kAttributes).value());
}

TEST(Zarr2Array, ChunksHaveOrderAndBytesOfTheDocument) {
  const auto array = ParseZarr2Array(WithMember(kArray, "compressor", "null"));
  ASSERT_TRUE(array) << array.error().message;
  const Voxels voxels =
      Voxels::Make(array->data_type, {2, 3}, {1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0}).value();
  const ByteVector encoded{0, 1, 0, 4, 0, 2, 0, 5, 0, 3, 0, 6};
  EXPECT_EQ(array->codec->Encode(voxels).value(), encoded);
  EXPECT_EQ(array->codec->Decode(encoded, array->chunk_shape), voxels);
}

TEST(Zarr2Array, WithoutASeparatorItIsADotAndWithoutAFillValueThereIsNone) {
  JsonValue document = ParseJson(WithMember(kArray, "fill_value", "null")).value();
  document.Erase("dimension_separator");
  const auto array = ParseZarr2Array(WriteJson(document));
  ASSERT_TRUE(array) << array.error().message;
  EXPECT_EQ(array->key_encoding.separator, '.');
  EXPECT_EQ(array->fill_value, std::nullopt);
  EXPECT_TRUE(WriteZarr2Array(*array)->zarray.Find("fill_value")->is_null());
}

// Of n5-zarr and jzarr. Strings of raw items are base64.
TEST(Zarr2Array, AFillValueMayBeANumberInAString) {
  const auto fill = [](const char* dtype, const char* fill_value) {
    JsonValue document = ParseJson(WithMember(kArray, "fill_value", fill_value)).value();
    document.Set("dtype", JsonValue::String(dtype));
    const auto array = ParseZarr2Array(WriteJson(document));
    return array ? *array->fill_value : ByteVector{0xee};
  };
  EXPECT_EQ(fill("|u1", "\"0\""), ByteVector{0});
  EXPECT_EQ(fill(">i2", "\"-2\""), (ByteVector{0xfe, 0xff}));
  EXPECT_EQ(fill("<f4", "\"1.5\""), (ByteVector{0, 0, 0xc0, 0x3f}));
  EXPECT_EQ(fill("<f4", "\"NaN\""), (ByteVector{0, 0, 0xc0, 0x7f}));
  EXPECT_EQ(fill("<c8", R"(["0", "1.5"])"), (ByteVector{0, 0, 0, 0, 0, 0, 0xc0, 0x3f}));
  EXPECT_EQ(fill("|b1", "\"1\""), ByteVector{1});
  EXPECT_EQ(fill("|V3", "\"0000\""), (ByteVector{0xd3, 0x4d, 0x34}));
  EXPECT_EQ(fill("|u1", "\"zero\""), ByteVector{0xee});
}

TEST(Zarr2Array, AnEmptyAxisMayHaveChunksOfNothing) {
  JsonValue document = ParseJson(WithMember(kArray, "chunks", "[2, 0]")).value();
  EXPECT_FALSE(ParseZarr2Array(WriteJson(document)));
  document.Set("shape", ParseJson("[4, 0]").value());
  const auto array = ParseZarr2Array(WriteJson(document));
  ASSERT_TRUE(array) << array.error().message;
  EXPECT_EQ(array->chunk_shape, (std::vector<std::uint64_t>{2, 1}));
}

TEST(Zarr2Array, EveryTypeOfVoxelsIsKnown) {
  const std::pair<const char*, const char*> types[] = {
      {"|b1", "bool"},      {"|i1", "int8"},        {"|u1", "uint8"},   {"<i2", "int16"},
      {">i4", "int32"},     {"<i8", "int64"},       {">u2", "uint16"},  {"<u4", "uint32"},
      {"<u8", "uint64"},    {"<f2", "float16"},     {">f4", "float32"}, {"<f8", "float64"},
      {"<c8", "complex64"}, {">c16", "complex128"}, {"|V3", "r24"},     {"bfloat16", "bfloat16"}};
  for (const auto& [dtype, name] : types) {
    JsonValue document = ParseJson(WithMember(kArray, "fill_value", "null")).value();
    document.Set("dtype", JsonValue::String(dtype));
    const auto array = ParseZarr2Array(WriteJson(document));
    ASSERT_TRUE(array) << array.error().message;
    EXPECT_EQ(DataTypeName(array->data_type), name);
    EXPECT_EQ(WriteZarr2Array(*array)->zarray.Find("dtype")->text(), dtype);
  }
}

TEST(Zarr2Array, FailuresNameTheMember) {
  const BrokenMember members[] = {
      {"zarr_format", "3", ErrorCode::kDataLoss, "zarr_format: expected"},
      {"chunks", "[2]", ErrorCode::kDataLoss, "chunks: expected 2 extents"},
      {"chunks", "[2, 0]", ErrorCode::kDataLoss, "chunks[1]: expected"},
      {"shape", "[9223372036854775807, 9223372036854775807]", ErrorCode::kDataLoss,
       "chunks: expected fewer than 2^64 chunks"},
      {"dtype", "[[\"a\", \"<u2\"]]", ErrorCode::kNotSupported,
       "dtype: unsupported data type [[\"a\", \"<u2\"]]; structured"},
      {"dtype", "\"|O\"", ErrorCode::kNotSupported, "dtype: unsupported data type \"|O\""},
      {"dtype", "\"<U4\"", ErrorCode::kNotSupported, "dtype: unsupported data type \"<U4\""},
      {"dtype", "\"<M8[eon]\"", ErrorCode::kNotSupported,
       "dtype: unsupported data type \"<M8[eon]\""},
      {"dtype", "2", ErrorCode::kDataLoss, "dtype: expected a string"},
      {"order", "\"A\"", ErrorCode::kDataLoss, "order: expected \"C\" or \"F\""},
      {"compressor", "{\"id\": \"zfpy\"}", ErrorCode::kNotSupported,
       "compressor.id: the codec \"zfpy\""},
      {"compressor", "{}", ErrorCode::kDataLoss, "compressor.id: "},
      {"filters", "[{\"id\": \"vlen-utf8\"}]", ErrorCode::kNotSupported,
       "filters[0].id: the codec \"vlen-utf8\""},
      {"filters", "[{\"id\": \"shuffle\", \"elementsize\": 0}]", ErrorCode::kDataLoss,
       "filters[0].elementsize: expected a whole number"},
      {"filters", "[{\"id\": \"delta\", \"dtype\": \"<U4\"}]", ErrorCode::kNotSupported,
       "filters[0].dtype: unsupported data type \"<U4\""},
      {"filters", "[{\"id\": \"delta\"}]", ErrorCode::kDataLoss,
       "filters[0]: expected the member \"dtype\""},
      {"fill_value", "-1", ErrorCode::kDataLoss, "fill_value: expected"},
      {"dimension_separator", "\"-\"", ErrorCode::kDataLoss, "dimension_separator: expected"}};
  ExpectFailures(kArray, members, [](const std::string& text) { return ParseZarr2Array(text); });
  const auto attributes = ParseZarr2Array(kArray, "[]");
  EXPECT_EQ(attributes.error().message.substr(0, 8), ".zattrs:");
}

TEST(Zarr2Array, ALevelThatOnlyWritingNeedsIsNamedByItsOwnPath) {
  constexpr const char* kLevel = R"({"id": "zlib", "level": 77})";
  const auto array = ParseZarr2Array(WithMember(kArray, "compressor", kLevel));
  ASSERT_TRUE(array) << array.error().message;
  const std::string message = array->codec->CanEncode().error().message;
  EXPECT_NE(message.find(": compressor.level: expected a whole number from 0 to 9"), message.npos)
      << message;
}

TEST(Zarr2Array, WhatItCannotSayIsRefused) {
  Array array = ParseZarr2Array(kArray).value();
  array.key_encoding = {};
  EXPECT_EQ(WriteZarr2Array(array).error().code, ErrorCode::kNotSupported);
  array = ParseZarr2Array(kArray).value();
  array.origin = {1, 0};
  EXPECT_EQ(WriteZarr2Array(array).error().code, ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace unshard
