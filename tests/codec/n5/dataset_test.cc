#include "codec/n5/dataset.h"

#include <gtest/gtest.h>

#include <string>

#include "codec/json/parser.h"
#include "codec/json/writer.h"
#include "tests/support/array_texts.h"
#include "tests/support/broken_documents.h"

namespace unshard {
namespace {

constexpr const char* kDataset = R"({
  "dimensions": [300, 200, 100], "blockSize": [64, 32, 16], "dataType": "int16",
  "compression": {"type": "gzip", "level": -1, "useZlib": false},
  "axes": ["x", "y", "z"], "units": ["nm", "nm", ""], "resolution": [4, 4.5, 1],
  "pixelResolution": {"unit": "nm"}})";

TEST(N5Dataset, AxesAreReversed) {
  const auto array = ParseN5Dataset(kDataset);
  ASSERT_TRUE(array) << array.error().message;
  EXPECT_EQ(array->shape, (std::vector<std::uint64_t>{100, 200, 300}));
  EXPECT_EQ(array->chunk_shape, (std::vector<std::uint64_t>{16, 32, 64}));
  EXPECT_EQ(array->axis_names[0], "z");
  EXPECT_EQ(array->units[0], (DimensionUnit{1, ""}));
  EXPECT_EQ(array->units[1], (DimensionUnit{4.5, "nm"}));
  EXPECT_EQ(array->fill_value, std::nullopt);
  EXPECT_EQ(WriteJson(array->attributes, 0), R"({"pixelResolution": {"unit": "nm"}})");
  EXPECT_NE(&array->codec->items(), array->codec.get());
  EXPECT_EQ(*WriteN5Dataset(*array), ParseJson(kDataset).value());
}

TEST(N5Dataset, LabelMultisetsAreNoVoxels) {
  const auto array = ParseN5Dataset(WithMember(kDataset, "isLabelMultiset", "true"));
  ASSERT_FALSE(array);
  EXPECT_EQ(array.error().code, ErrorCode::kNotSupported);
  EXPECT_NE(array.error().message.find("isLabelMultiset"), std::string::npos);
  EXPECT_TRUE(ParseN5Dataset(WithMember(kDataset, "isLabelMultiset", "false")));
}

TEST(N5Dataset, TheFirstVersionHadOneNameForTheCompression) {
  JsonValue document = ParseJson(WithMember(kDataset, "compressionType", "\"raw\"")).value();
  document.Erase("compression");
  const auto array = ParseN5Dataset(WriteJson(document));
  ASSERT_TRUE(array) << array.error().message;
  EXPECT_EQ(WriteJson(*WriteN5Dataset(*array)->Find("compression"), 0), R"({"type": "raw"})");
}

TEST(N5Dataset, FailuresNameTheMember) {
  const BrokenMember members[] = {
      {"dimensions", "[-1, 1, 1]", ErrorCode::kDataLoss, "dimensions[0]: expected"},
      {"blockSize", "[1, 1]", ErrorCode::kDataLoss, "blockSize: expected 3 extents"},
      {"blockSize", "[1, 1, 4294967296]", ErrorCode::kDataLoss, "blockSize[2]: expected"},
      {"dimensions", "[1, 9223372036854775807, 9223372036854775807]", ErrorCode::kDataLoss,
       "blockSize: expected fewer than 2^64 chunks"},
      {"dataType", "\"string\"", ErrorCode::kNotSupported,
       "dataType: unsupported data type \"string\""},
      {"dataType", "\"float16\"", ErrorCode::kNotSupported,
       "dataType: unsupported data type \"float16\""},
      {"compression", "{\"type\": \"jpeg\"}", ErrorCode::kNotSupported,
       "compression.type: unsupported compression \"jpeg\""},
      {"compression", "{}", ErrorCode::kDataLoss, "compression.type: "},
      {"codecs", "[]", ErrorCode::kNotSupported, "codecs: "},
      {"axes", "[\"x\"]", ErrorCode::kDataLoss, "axes: expected"},
      {"resolution", "[1, 2]", ErrorCode::kDataLoss, "resolution: expected"},
      {"resolution", "[1, 2, \"a\"]", ErrorCode::kDataLoss, "resolution[2]: expected a number"}};
  ExpectFailures(kDataset, members, [](const std::string& text) { return ParseN5Dataset(text); });
}

TEST(N5Dataset, WhatOnlyVoxelsNeedFailsNothingElse) {
  const std::string text = WithMember(kDataset, "compression", R"({"type": "jpeg"})");
  const auto array = ParseN5Dataset(*ParseJson(text));
  ASSERT_TRUE(array) << array.error().message;
  EXPECT_EQ(array->voxels.error().code, ErrorCode::kNotSupported);
  EXPECT_EQ(array->type_name, ParseN5Dataset(kDataset)->type_name);
  EXPECT_EQ(Describe(*array).encoding, "jpeg");
}

TEST(N5Dataset, AnOptionThatOnlyWritingNeedsIsNamedAsInTheDocument) {
  const std::pair<const char*, const char*> cases[] = {
      {R"({"type": "gzip", "level": 77})", "level: expected a whole number from -1 to 9"},
      {R"({"type": "bzip2", "blockSize": 12})", "blockSize: expected a whole number from 1 to 9"},
      {R"({"type": "lz4", "blockSize": 1})", "blockSize: expected a whole number from 64 to "},
      {R"({"type": "xz", "preset": 10})", "preset: expected a whole number from 0 to 9"}};
  for (const auto& [compression, expected] : cases) {
    const auto array = ParseN5Dataset(WithMember(kDataset, "compression", compression));
    ASSERT_TRUE(array) << array.error().message;
    if (!array->codec->CanDecode()) continue;  // not in this build
    const Status able = array->codec->CanEncode();
    ASSERT_FALSE(able) << compression;
    EXPECT_NE(able.error().message.find(std::string(": compression.") + expected),
              std::string::npos)
        << able.error().message;
  }
}

TEST(N5Dataset, TypesThatN5LacksAreRefused) {
  Array array = ParseN5Dataset(kDataset).value();
  array.data_type = {DataType::Kind::kBool, 1};
  EXPECT_EQ(WriteN5Dataset(array).error().message, "N5 has no data type bool");
}

}  // namespace
}  // namespace unshard
