// Whole datasets in other formats: views rules 2, 4, 7, 9, 10, 11.
#include "codec/pyramid/dataset_view.h"

#include <gtest/gtest.h>

#include "codec/json/parser.h"
#include "codec/pyramid/array_documents.h"
#include "tests/support/compact_json.h"

namespace unshard {
namespace {

SourceDataset Volume(const std::string& scales, const std::string& type, const char* channels) {
  SourceDataset dataset;
  dataset.dialect = Dialect::kPrecomputed;
  dataset.kind = SourceDataset::Kind::kPyramid;
  dataset.attributes =
      *ParseJson(R"({"type":"image","data_type":")" + type + R"(","num_channels":)" + channels +
                 R"(,"scales":[)" + scales + "]}");
  auto arrays = ReadScales(dataset.attributes);
  EXPECT_TRUE(arrays) << arrays.error().message;
  for (Array& array : *arrays) dataset.levels.push_back({"key", std::move(array)});
  return dataset;
}

std::string Scale(const std::string& size, const std::string& offset, const std::string& nm) {
  return R"({"key":"key","size":)" + size + R"(,"voxel_offset":)" + offset + R"(,"resolution":)" +
         nm + R"(,"chunk_sizes":[[16,16,8]],"encoding":"raw"})";
}

SourceDataset ArrayOf(Dialect dialect, const std::string& document) {
  SourceDataset dataset;
  dataset.dialect = dialect;
  dataset.kind = SourceDataset::Kind::kArray;
  auto array = ReadArray(dialect, *ParseJson(document), {});
  EXPECT_TRUE(array) << array.error().message;
  dataset.levels.push_back({"", *std::move(array)});
  return dataset;
}

std::string Zarr3(const std::string& type, const std::string& shape, const std::string& chunk,
                  const std::string& codecs, const std::string& fill = "0",
                  const std::string& more = "") {
  return R"({"zarr_format":3,"node_type":"array","shape":)" + shape + R"(,"data_type":")" + type +
         R"(","chunk_grid":{"name":"regular","configuration":{"chunk_shape":)" + chunk +
         R"(}},"chunk_key_encoding":{"name":"default"},"fill_value":)" + fill + R"(,"codecs":)" +
         codecs + more + "}";
}

const char* const kLittle = R"({"name":"bytes","configuration":{"endian":"little"}})";
const char* const kBig = R"({"name":"bytes","configuration":{"endian":"big"}})";
const char* const kGzip = R"({"name":"gzip","configuration":{"level":3}})";

std::string List(std::initializer_list<const char*> codecs) {
  std::string list;
  for (const char* codec : codecs) list += (list.empty() ? "" : ",") + std::string(codec);
  return "[" + list + "]";
}

PresentedDataset Present(const SourceDataset& dataset, Dialect to) {
  auto presented = PresentDataset(dataset, to, {});
  EXPECT_TRUE(presented) << presented.error().message;
  return presented ? *std::move(presented) : PresentedDataset();
}

std::vector<std::string> Names(const PresentedDataset& presented) {
  std::vector<std::string> names;
  for (const auto& document : presented.documents) {
    names.push_back(document.directory + "/" + document.name);
  }
  return names;
}

BlockForm FormOf(const PresentedDataset& shown) {
  const PresentedArray& array = shown.levels.at(0).array;
  return FormOfView(array.stored, array.presented, array.axes);
}
BlockForm FormOf(const SourceDataset& dataset, Dialect to) { return FormOf(Present(dataset, to)); }

const std::string kTwoScales = Scale("[37,29,21]", "[10,-6,3]", "[8,8,30]") + "," +
                               Scale("[19,15,21]", "[5,-3,3]", "[16,16,30]");

TEST(DatasetView, LevelsHaveThePathsThatReadersOfTheFormatExpect) {
  const SourceDataset volume = Volume(kTwoScales, "uint16", "1");
  EXPECT_EQ(Names(Present(volume, Dialect::kZarr3)),
            (std::vector<std::string>{"0/zarr.json", "1/zarr.json", "/zarr.json"}));
  EXPECT_EQ(
      Names(Present(volume, Dialect::kN5)),
      (std::vector<std::string>{"s0/attributes.json", "s1/attributes.json", "/attributes.json"}));
  const auto zarr2 = Names(Present(volume, Dialect::kZarr2));
  EXPECT_EQ(zarr2[zarr2.size() - 2], "/.zgroup");
  EXPECT_EQ(zarr2.back(), "/.zattrs");
  const SourceDataset array =
      ArrayOf(Dialect::kZarr3, Zarr3("uint8", "[8,8,8]", "[4,4,4]", List({R"({"name":"bytes"})"})));
  EXPECT_EQ(Names(Present(array, Dialect::kN5)), (std::vector<std::string>{"/attributes.json"}));
  const PresentedDataset scales = Present(array, Dialect::kPrecomputed);
  EXPECT_EQ(Names(scales), (std::vector<std::string>{"/info"}));
  EXPECT_EQ(scales.levels[0].path, "1_1_1");
  EXPECT_EQ(scales.warnings.size(), 1U) << "no units";
}

TEST(DatasetView, OneChannelIsDroppedAndNamesAndUnitsAreCarried) {
  const PresentedDataset n5 = Present(Volume(kTwoScales, "uint16", "1"), Dialect::kN5);
  const JsonValue& level = n5.documents[1].content;
  EXPECT_EQ(CompactJson(*level.Find("dimensions")), "[19,15,21]");
  EXPECT_EQ(CompactJson(*level.Find("blockSize")), "[16,16,8]");
  EXPECT_EQ(CompactJson(*level.Find("axes")), R"(["x","y","z"])");
  EXPECT_EQ(CompactJson(*level.Find("units")), R"(["nm","nm","nm"])");
  EXPECT_EQ(level.Find("resolution")->items().size(), 3U);
  EXPECT_EQ(CompactJson(*level.Find("offset")), "[80,-48,90]");
  const PresentedDataset channels = Present(Volume(kTwoScales, "uint8", "3"), Dialect::kZarr3);
  EXPECT_EQ(CompactJson(*channels.documents[0].content.Find("shape")), "[3,21,29,37]");
}

TEST(DatasetView, AttributesOfTheNamesOfN5AreNotCarriedIntoIt) {
  const SourceDataset array = ArrayOf(
      Dialect::kZarr3, Zarr3("uint8", "[8,8]", "[4,4]", List({R"({"name":"bytes"})"}), "0",
                             R"(,"attributes":{"resolution":8.0,"offset":"a","title":"kept"})"));
  const PresentedDataset n5 = Present(array, Dialect::kN5);
  EXPECT_EQ(n5.documents[0].content.Find("resolution"), nullptr);
  EXPECT_EQ(n5.documents[0].content.Find("offset"), nullptr);
  EXPECT_EQ(TextOf(n5.documents[0].content, "title"), "kept");
}

TEST(DatasetView, UnitsOfASingleArrayBecomeAResolution) {
  const SourceDataset array = ArrayOf(
      Dialect::kZarr3,
      Zarr3(
          "uint8", "[8,8,8]", "[4,4,4]", List({R"({"name":"bytes"})"}), "0",
          R"(,"dimension_names":["x","y","z"],"attributes":{"dimension_units":["4 nm","8.5 nm","0.03 um"]})"));
  const PresentedDataset shown = Present(array, Dialect::kPrecomputed);
  EXPECT_EQ(shown.levels[0].path, "4_8.5_30");
  EXPECT_TRUE(shown.warnings.empty());
  EXPECT_EQ(FormOf(shown), BlockForm::kTranscode) << "x is the slowest axis";
  const PresentedDataset n5 = Present(array, Dialect::kN5);
  EXPECT_EQ(CompactJson(*n5.documents[0].content.Find("axes")), R"(["z","y","x"])");
}

TEST(DatasetView, AUnitThatIsNoLengthIsRefused) {
  const SourceDataset array = ArrayOf(
      Dialect::kZarr3,
      Zarr3("uint8", "[8,8]", "[4,4]", List({R"({"name":"bytes"})"}), "0",
            R"(,"dimension_names":["y","x"],"attributes":{"dimension_units":["4 s","4 s"]})"));
  const auto refused = PresentDataset(array, Dialect::kPrecomputed, {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kNotSupported);
}

TEST(DatasetView, AVolumeNeedsAChannel) {
  const SourceDataset array =
      ArrayOf(Dialect::kZarr3, Zarr3("uint8", "[0,8,8,8]", "[1,4,4,4]", List({kLittle})));
  const auto refused = PresentDataset(array, Dialect::kPrecomputed, {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kNotSupported);
  EXPECT_NE(refused.error().message.find("at least one channel"), std::string::npos);
}

TEST(DatasetView, ATypeThatTheFormatLacksIsRefusedAndBoolIsUint8) {
  const auto of = [](const char* type) {
    const bool wide = std::string(type) != "bool";
    return ArrayOf(Dialect::kZarr3,
                   Zarr3(type, "[8,8]", "[4,4]", List({wide ? kLittle : R"({"name":"bytes"})"}),
                         wide ? "0" : "false"));
  };
  EXPECT_FALSE(PresentDataset(of("int64"), Dialect::kPrecomputed, {}));
  EXPECT_FALSE(PresentDataset(of("float16"), Dialect::kN5, {}));
  EXPECT_TRUE(PresentDataset(of("int64"), Dialect::kN5, {}));
  const PresentedDataset shown = Present(of("bool"), Dialect::kPrecomputed);
  EXPECT_EQ(TextOf(shown.documents[0].content, "data_type"), "uint8");
  EXPECT_EQ(CompactJson(*shown.documents[0].content.Find("scales")->items()[0].Find("size")),
            "[8,8,1]");
}

TEST(DatasetView, BlocksThatAreTheSameBytesAreCopiedAndKeepTheirCompression) {
  const SourceDataset gzip =
      ArrayOf(Dialect::kZarr3, Zarr3("uint16", "[9,8]", "[4,4]", List({kLittle, kGzip})));
  const PresentedDataset zarr2 = Present(gzip, Dialect::kZarr2);
  EXPECT_EQ(FormOf(zarr2), BlockForm::kCopy);
  EXPECT_EQ(CompactJson(*zarr2.documents[0].content.Find("compressor")),
            R"({"id":"gzip","level":3})");
  EXPECT_EQ(FormOf(gzip, Dialect::kN5), BlockForm::kTranscode) << "other byte order";
  EXPECT_EQ(FormOf(gzip, Dialect::kPrecomputed), BlockForm::kTranscode) << "compressed";
  const SourceDataset big =
      ArrayOf(Dialect::kZarr3, Zarr3("uint16", "[9,8]", "[4,4]", List({kBig, kGzip})));
  const PresentedDataset n5 = Present(big, Dialect::kN5);
  EXPECT_EQ(FormOf(n5), BlockForm::kAddHeader);
  EXPECT_EQ(TextOf(*n5.documents[0].content.Find("compression"), "type"), "gzip");
}

TEST(DatasetView, TheShuffleOfBloscIsANameOrANumberAsInEachFormat) {
  const auto n5 = [](const std::string& type, const std::string& shuffle) {
    return ArrayOf(Dialect::kN5, R"({"dimensions":[8],"blockSize":[4],"dataType":")" + type +
                                     R"(","compression":{"type":"blosc","cname":"lz4",)" +
                                     R"("clevel":5,"shuffle":)" + shuffle + R"(,"blocksize":0}})");
  };
  const auto zarr3 = [](const SourceDataset& source) {
    const PresentedDataset shown = Present(source, Dialect::kZarr3);
    EXPECT_EQ(FormOf(shown), BlockForm::kStripHeader);
    return CompactJson(shown.documents[0].content.Find("codecs")->items().back());
  };
  EXPECT_EQ(zarr3(n5("float32", "1")),
            R"({"name":"blosc","configuration":{"cname":"lz4","clevel":5,"shuffle":"shuffle",)"
            R"("blocksize":0,"typesize":4}})");
  EXPECT_NE(zarr3(n5("float32", "0")).find("\"noshuffle\""), std::string::npos);
  EXPECT_NE(zarr3(n5("uint8", "2")).find("\"bitshuffle\""), std::string::npos);
  EXPECT_NE(zarr3(n5("uint8", "-1")).find("\"bitshuffle\""), std::string::npos);
  EXPECT_NE(zarr3(n5("uint16", "-1")).find("\"shuffle\""), std::string::npos);
  const PresentedDataset zarr2 = Present(n5("uint16", "2"), Dialect::kZarr2);
  EXPECT_EQ(CompactJson(*zarr2.documents[0].content.Find("compressor")),
            R"({"id":"blosc","cname":"lz4","clevel":5,"shuffle":2,"blocksize":0})");
}

TEST(DatasetView, EdgesOfChunksDecideWhetherTheyCanBeCopied) {
  EXPECT_EQ(
      FormOf(Volume(Scale("[32,32,16]", "[0,0,0]", "[8,8,30]"), "uint16", "1"), Dialect::kZarr3),
      BlockForm::kCopy);
  EXPECT_EQ(
      FormOf(Volume(Scale("[32,32,17]", "[0,0,0]", "[8,8,30]"), "uint16", "1"), Dialect::kZarr3),
      BlockForm::kTranscode);
  EXPECT_EQ(FormOf(Volume(Scale("[32,32,17]", "[0,0,0]", "[8,8,30]"), "uint8", "1"), Dialect::kN5),
            BlockForm::kAddHeader);
  const SourceDataset even =
      ArrayOf(Dialect::kZarr3, Zarr3("uint16", "[8,8,8]", "[4,4,4]", List({kLittle})));
  const SourceDataset ragged =
      ArrayOf(Dialect::kZarr3, Zarr3("uint16", "[9,8,8]", "[4,4,4]", List({kLittle})));
  EXPECT_EQ(FormOf(even, Dialect::kPrecomputed), BlockForm::kCopy);
  EXPECT_EQ(FormOf(ragged, Dialect::kPrecomputed), BlockForm::kTranscode);
}

TEST(DatasetView, WhatIsEncodedAgainIsNotCompressedUnlessAsked) {
  const SourceDataset array =
      ArrayOf(Dialect::kZarr3, Zarr3("uint16", "[9,8]", "[4,4]", List({kLittle, kGzip})));
  const PresentedDataset shown = Present(array, Dialect::kN5);
  EXPECT_EQ(TextOf(*shown.documents[0].content.Find("compression"), "type"), "raw");
  const auto mapping = ChunkMapping::ForView(shown.levels[0].array);
  ASSERT_TRUE(mapping) << mapping.error().message;
  EXPECT_EQ(mapping->EncodedSize({0, 0}), 12U + 32U);
  EXPECT_EQ(mapping->EncodedSize({2, 0}), 12U + 8U) << "blocks end where the array does";
}

// TensorStore's name for it in Zarr v2, which has no byte order.
TEST(DatasetView, BrainFloatsOfZarr2AreLittleEndian) {
  for (const bool big : {false, true}) {
    const SourceDataset array = ArrayOf(
        Dialect::kZarr3, Zarr3("bfloat16", "[9,8]", "[4,4]", List({big ? kBig : kLittle}), "1.5"));
    const PresentedDataset shown = Present(array, Dialect::kZarr2);
    EXPECT_EQ(TextOf(shown.documents[0].content, "dtype"), "bfloat16");
    EXPECT_EQ(CompactJson(*shown.documents[0].content.Find("fill_value")), "1.5");
    EXPECT_EQ(FormOf(shown), big ? BlockForm::kTranscode : BlockForm::kCopy);
  }
}

TEST(DatasetView, ACompressorThatWasAskedForIsThatOfTranscodedLevels) {
  const SourceDataset array =
      ArrayOf(Dialect::kZarr3, Zarr3("uint16", "[9,8]", "[4,4]", List({kLittle, kGzip})));
  ViewOptions options;
  options.compression.push_back(CodecOfZarr3(
      "blosc", *ParseJson(R"({"cname":"lz4","clevel":5,"shuffle":"shuffle","blocksize":0})")));
  const auto n5 = PresentDataset(array, Dialect::kN5, options);
  ASSERT_TRUE(n5) << n5.error().message;
  EXPECT_EQ(CompactJson(*n5->documents[0].content.Find("compression")),
            R"({"type":"blosc","cname":"lz4","clevel":5,"shuffle":1,"blocksize":0})");
  const auto zarr2 = PresentDataset(array, Dialect::kZarr2, options);
  ASSERT_TRUE(zarr2);
  EXPECT_EQ(TextOf(*zarr2->documents[0].content.Find("compressor"), "id"), "gzip") << "copied";
  EXPECT_FALSE(PresentDataset(array, Dialect::kPrecomputed, options));
}

TEST(DatasetView, AbsentChunksAreShownWhereReadersWouldTakeThemForZeros) {
  const SourceDataset array =
      ArrayOf(Dialect::kZarr3, Zarr3("uint16", "[9,8]", "[4,4]", List({kLittle, kGzip}), "513"));
  const auto n5 = ChunkMapping::ForView(Present(array, Dialect::kN5).levels[0].array);
  ASSERT_TRUE(n5);
  EXPECT_TRUE(n5->writes_absent());
  const auto absent = n5->FromChunk(std::nullopt, {2, 1});
  ASSERT_TRUE(absent);
  EXPECT_EQ(*absent, (ByteVector{0, 0, 0, 2, 0, 0, 0, 4, 0, 0, 0, 1, 2, 1, 2, 1, 2, 1, 2, 1}));
  const auto zarr2 = ChunkMapping::ForView(Present(array, Dialect::kZarr2).levels[0].array);
  ASSERT_TRUE(zarr2);
  EXPECT_FALSE(zarr2->writes_absent());
}

TEST(DatasetView, RawIsTheSameFormatWithoutCompression) {
  const auto raw = [](const SourceDataset& dataset) {
    auto presented = PresentDataset(dataset, dataset.dialect, {});
    EXPECT_TRUE(presented) << presented.error().message;
    return presented->documents.at(0).content;
  };
  EXPECT_EQ(CompactJson(*raw(ArrayOf(Dialect::kZarr3,
                                     Zarr3("uint16", "[9,8]", "[4,4]", List({kBig, kGzip}))))
                             .Find("codecs")),
            List({kBig}));
  EXPECT_EQ(CompactJson(*raw(ArrayOf(Dialect::kN5,
                                     R"({"dimensions":[9],"blockSize":[4],"dataType":"uint8",)"
                                     R"("compression":{"type":"gzip"}})"))
                             .Find("compression")),
            R"({"type":"raw"})");
}

TEST(DatasetView, TwoLevelsOfOneResolutionAreRefusedAsScales) {
  SourceDataset dataset =
      ArrayOf(Dialect::kZarr3, Zarr3("uint8", "[8,8,8]", "[4,4,4]", List({R"({"name":"bytes"})"})));
  dataset.kind = SourceDataset::Kind::kPyramid;
  dataset.levels[0].path = "a";
  dataset.levels.push_back({"b", dataset.levels[0].array});
  const std::string one = R"(","coordinateTransformations":[{"type":"scale","scale":[1,1,1]}]})";
  dataset.attributes = *ParseJson(
      R"({"ome":{"version":"0.5","multiscales":[{"axes":[{"name":"z","type":"space",)"
      R"("unit":"nanometer"},{"name":"y","type":"space","unit":"nanometer"},{"name":"x",)"
      R"("type":"space","unit":"nanometer"}],"datasets":[{"path":"a)" +
      one + R"(,{"path":"b)" + one + "]}]}}");
  const auto refused = PresentDataset(dataset, Dialect::kPrecomputed, {});
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("1_1_1"), std::string::npos);
  EXPECT_TRUE(PresentDataset(dataset, Dialect::kZarr2, {}));
}

SourceDataset Zarr2ArrayOf(const std::string& fill, const std::string& attributes,
                           const std::string& dtype = "<i2") {
  SourceDataset dataset;
  dataset.dialect = Dialect::kZarr2;
  dataset.kind = SourceDataset::Kind::kArray;
  auto array =
      ReadArray(Dialect::kZarr2,
                *ParseJson(R"({"zarr_format":2,"shape":[4],"chunks":[2],"dtype":")" + dtype +
                           R"(","compressor":null,"filters":null,"order":"C",)"
                           R"("fill_value":)" +
                           fill + "}"),
                *ParseJson(attributes));
  EXPECT_TRUE(array) << array.error().message;
  dataset.levels.push_back({"", *std::move(array)});
  return dataset;
}

TEST(DatasetView, TimesOfZarr2AreTimesInZarr3) {
  const auto member = [](const SourceDataset& dataset, Dialect to, const char* key) {
    return CompactJson(*Present(dataset, to).documents[0].content.Find(key));
  };
  const std::string lowest = "-9223372036854775808";
  for (const auto& [dtype, type, unit, scale] :
       {std::tuple("<M8[ns]", "numpy.datetime64", "ns", "1"),
        std::tuple(">m8[10us]", "numpy.timedelta64", "us", "10")}) {
    const std::string data_type = R"({"name":")" + std::string(type) +
                                  R"(","configuration":{"unit":")" + unit + R"(","scale_factor":)" +
                                  scale + "}}";
    const std::string named = R"({"_ARRAY_DIMENSIONS":["x"]})";
    for (const std::string& fill : {lowest, std::string(R"("NaT")")}) {
      const SourceDataset zarr2 = Zarr2ArrayOf(fill, named, dtype);
      EXPECT_EQ(member(zarr2, Dialect::kZarr3, "data_type"), data_type);
      EXPECT_EQ(member(zarr2, Dialect::kZarr3, "fill_value"), lowest);
      EXPECT_EQ(member(zarr2, Dialect::kZarr3, "attributes"), "{}");
      EXPECT_EQ(member(zarr2, Dialect::kZarr2, "dtype"), '"' + std::string(dtype) + '"');
      const auto refused = PresentDataset(zarr2, Dialect::kN5, {});
      ASSERT_FALSE(refused);
      EXPECT_NE(refused.error().message.find(type), std::string::npos);
    }
    const SourceDataset zarr3 =
        ArrayOf(Dialect::kZarr3,
                R"({"zarr_format":3,"node_type":"array","shape":[4],"data_type":)" + data_type +
                    R"(,"chunk_grid":{"name":"regular","configuration":{"chunk_shape":[2]}},)"
                    R"("chunk_key_encoding":{"name":"default"},"fill_value":"NaT",)"
                    R"("codecs":[{"name":"bytes","configuration":{"endian":")" +
                    (dtype[0] == '>' ? "big" : "little") + R"("}}]})");
    EXPECT_EQ(member(zarr3, Dialect::kZarr2, "dtype"), '"' + std::string(dtype) + '"');
    EXPECT_EQ(member(zarr3, Dialect::kZarr2, "fill_value"), lowest);
  }
}

TEST(DatasetView, AMissingValueOfZarr2IsAnAttributeInZarr3) {
  const auto attributes_of = [](const SourceDataset& dataset) {
    const JsonValue document = Present(dataset, Dialect::kZarr3).documents[0].content;
    return CompactJson(*document.Find("fill_value")) + CompactJson(*document.Find("attributes"));
  };
  const std::string named = R"({"_ARRAY_DIMENSIONS":["x"]})";
  EXPECT_EQ(attributes_of(Zarr2ArrayOf("-9", named)), R"(-9{"_FillValue":-9})");
  EXPECT_EQ(attributes_of(Zarr2ArrayOf("null", named)), "0{}");
  EXPECT_EQ(attributes_of(Zarr2ArrayOf("null", R"({"_ARRAY_DIMENSIONS":["x"],"_FillValue":7})")),
            R"(0{"_FillValue":7})");
  EXPECT_EQ(attributes_of(Zarr2ArrayOf("-9", "{}")), "-9{}") << "xarray does not open it";
}

TEST(DatasetView, AMissingValueOfZarr3IsTheFillValueInZarr2) {
  const auto view = [](const char* fill, const char* more) {
    return Present(
        ArrayOf(Dialect::kZarr3, Zarr3("int16", "[4]", "[2]", List({kLittle}), fill,
                                       R"(,"dimension_names":["x"])" + std::string(more))),
        Dialect::kZarr2);
  };
  const auto fill_of = [](const PresentedDataset& presented) {
    return CompactJson(*presented.documents[0].content.Find("fill_value"));
  };
  const auto presents_absent = [](const PresentedDataset& presented) {
    const auto mapping = ChunkMapping::ForView(presented.levels[0].array);
    EXPECT_TRUE(mapping);
    return mapping && mapping->writes_absent();
  };
  PresentedDataset masked = view("-9", R"(,"attributes":{"_FillValue":-9,"units":"m"})");
  EXPECT_EQ(fill_of(masked), "-9");
  EXPECT_EQ(CompactJson(masked.documents[1].content), R"({"units":"m","_ARRAY_DIMENSIONS":["x"]})");
  EXPECT_FALSE(presents_absent(masked));
  PresentedDataset other = view("0", R"(,"attributes":{"_FillValue":-9})");
  EXPECT_EQ(fill_of(other), "-9");
  EXPECT_TRUE(presents_absent(other)) << "absent chunks are zeros, and not missing";
  EXPECT_EQ(fill_of(view("0", "")), "null");
  EXPECT_TRUE(presents_absent(view("0", ""))) << "undefined in zarr-python 2";
  EXPECT_TRUE(presents_absent(view("5", "")));
}

TEST(DatasetView, AScalarHasAnEmptyListOfDimensions) {
  const PresentedDataset scalar = Present(
      ArrayOf(Dialect::kZarr3, Zarr3("int16", "[]", "[]", List({kLittle}))), Dialect::kZarr2);
  ASSERT_EQ(scalar.documents.size(), 2U);
  EXPECT_EQ(CompactJson(scalar.documents[1].content), R"({"_ARRAY_DIMENSIONS":[]})");
}

TEST(DatasetView, BareNanIsAStringInDocumentsThatAreMadeHere) {
  const SourceDataset source = Zarr2ArrayOf("0", R"({"missing_value":NaN,"range":[-Infinity,1]})");
  for (const Dialect to : {Dialect::kZarr3, Dialect::kN5}) {
    const PresentedDataset presented = Present(source, to);
    EXPECT_EQ(presented.warnings.size(), 1U);
    const std::string text = CompactJson(presented.documents[0].content);
    EXPECT_NE(text.find(R"("missing_value":"NaN")"), text.npos) << text;
    EXPECT_NE(text.find(R"(["-Infinity",1])"), text.npos) << text;
  }
}

TEST(DatasetView, OnlyOneAxisOfAnN5DatasetHasAName) {
  const SourceDataset twice =
      ArrayOf(Dialect::kZarr3, Zarr3("uint8", "[2,3,4]", "[2,3,4]", List({R"({"name":"bytes"})"}),
                                     "0", R"(,"dimension_names":["b","a","b"])"));
  EXPECT_EQ(CompactJson(*Present(twice, Dialect::kN5).documents[0].content.Find("axes")),
            R"(["","a","b"])");
}

TEST(DatasetView, OldImagesGetTheScalesThatTheirNewVersionRequires) {
  SourceDataset image = Zarr2ArrayOf("0", "{}");
  image.kind = SourceDataset::Kind::kPyramid;
  image.attributes = *ParseJson(
      R"({"multiscales":[{"version":"0.3","axes":["x"],"datasets":[{"path":"a"},{"path":"b"}]}]})");
  image.levels[0].path = "a";
  image.levels.push_back(image.levels[0]);
  image.levels[1].path = "b";
  image.levels[1].array.shape = {2};
  const PresentedDataset zarr3 = Present(image, Dialect::kZarr3);
  EXPECT_EQ(CompactJson(*zarr3.documents.back().content.Find("attributes")->Find("ome")),
            R"({"version":"0.5","multiscales":[{"axes":[{"name":"x","type":"space"}],)"
            R"("datasets":[{"path":"a","coordinateTransformations":)"
            R"([{"type":"scale","scale":[1]}]},{"path":"b","coordinateTransformations":)"
            R"([{"type":"scale","scale":[2]},{"type":"translation","translation":[0.5]}]}]}]})");
  const PresentedDataset n5 = Present(image, Dialect::kN5);
  EXPECT_EQ(CompactJson(*n5.documents.back().content.Find("downsamplingFactors")), "[[1],[2]]");
}

}  // namespace
}  // namespace unshard
