// Arrays whose chunks nothing here can decode are copied where both say the same of them.
#include "codec/pyramid/passed_chunks.h"

#include <gtest/gtest.h>

#include <string>

#include "codec/json/parser.h"
#include "codec/json/writer.h"
#include "codec/pyramid/array_documents.h"
#include "codec/pyramid/chunk_mapping.h"
#include "codec/pyramid/dataset_view.h"
#include "codec/schema/copied_documents.h"

namespace unshard {
namespace {

Array ReadPassed(Dialect dialect, const std::string& document) {
  auto array = dialect == Dialect::kPrecomputed
                   ? Result<Array>(ParseScales(*ParseJson(document)).value().front())
                   : ParseArray(dialect, *ParseJson(document), {});
  array = ForPassing(std::move(array));
  EXPECT_TRUE(array) << array.error().message;
  return *std::move(array);
}

struct Form {
  std::string type = R"("string")", chunk = "[3,4]",
              codecs = R"(["vlen-utf8",{"name":"zstd","configuration":{"level":1}}])",
              fill = R"("")";
};

std::string Zarr3Text(const Form& form) {
  return R"({"zarr_format":3,"node_type":"array","shape":[7,4],"data_type":)" + form.type +
         R"(,"chunk_grid":{"name":"regular","configuration":{"chunk_shape":)" + form.chunk +
         R"(}},"chunk_key_encoding":{"name":"default"},"fill_value":)" + form.fill +
         R"(,"codecs":)" + form.codecs + R"(,"attributes":{"a":1},"dimension_names":["x",null]})";
}

Array Zarr3Of(const Form& form) { return ReadPassed(Dialect::kZarr3, Zarr3Text(form)); }

std::string InfoText(const std::string& encoding, const std::string& chunk) {
  return R"({"@type":"neuroglancer_multiscale_volume","type":"image","data_type":"float32",
      "num_channels":1,"scales":[{"key":"s","size":[8,8,8],"resolution":[1,1,1],"chunk_sizes":[)" +
         chunk + R"(],"encoding":")" + encoding + R"("}]})";
}

std::string Zarr2Text(const std::string& dtype, const std::string& filters) {
  return R"({"zarr_format":2,"shape":[5],"chunks":[2],"dtype":)" + dtype +
         R"(,"compressor":null,"order":"C","fill_value":null,"filters":)" + filters + "}";
}

std::string Refusal(const Array& from, const Array& to) {
  const Status passes = CanPassChunks(from, to, SameAxes(from.rank()));
  EXPECT_EQ(passes.has_value(), ChunkMapping::ForCopy(from, to, SameAxes(to.rank())).has_value());
  return passes ? "" : passes.error().message;
}

TEST(PassedChunks, ArraysOfOneFormPassThem) {
  const Form forms[] = {
      {},
      {R"("variable_length_bytes")", "[3,4]", R"(["vlen-bytes"])"},
      {R"({"name":"struct","configuration":{"fields":[{"name":"id","data_type":"int32"}]}})",
       "[7,4]", R"([{"name":"bytes","configuration":{"endian":"little"}}])", R"({"id":0})"},
      {R"("uint8")", "[3,4]", R"([{"name":"numcodecs.pcodec"}])", "0"},
      {R"("float8_e4m3")", "[3,4]", R"(["bytes"])", "0.0"}};
  for (const Form& form : forms) {
    const Array array = Zarr3Of(form);
    EXPECT_TRUE(OnlyPasses(array)) << form.type;
    EXPECT_EQ(Refusal(array, array), "") << form.type;
    const auto mapping = ChunkMapping::ForCopy(array, array, SameAxes(2));
    ASSERT_TRUE(mapping);
    EXPECT_EQ(mapping->form(), BlockForm::kCopy);
    EXPECT_FALSE(mapping->writes_absent());
    EXPECT_TRUE(mapping->Check(ByteVector{1, 2, 3}, {0, 0}));
  }
  for (const char* const encoding : {"mine", "draco"}) {
    const Array scale = ReadPassed(Dialect::kPrecomputed, InfoText(encoding, "[4,4,4]"));
    EXPECT_EQ(Refusal(scale, scale), "");
    EXPECT_NE(Refusal(scale, ReadPassed(Dialect::kPrecomputed, InfoText(encoding, "[8,4,4]"))), "");
  }
  for (const auto& [dtype, filters] :
       {std::pair(R"("|O")", R"([{"id":"vlen-utf8"}])"), std::pair(R"("<U3")", "null"),
        std::pair(R"([["id","<i4"],["v","<f8"]])", "null"),
        std::pair(R"("|u1")", R"([{"id":"x"}])")}) {
    const Array array = ReadPassed(Dialect::kZarr2, Zarr2Text(dtype, filters));
    EXPECT_EQ(Refusal(array, array), "") << dtype;
    EXPECT_NE(Refusal(array, ReadPassed(Dialect::kZarr2, Zarr2Text(dtype, R"([{"id":"y"}])"))), "");
  }
}

TEST(PassedChunks, WhatDiffersIsNamed) {
  const Array array = Zarr3Of({});
  const auto refusal = [&](const Form& form) {
    const std::string message = Refusal(array, Zarr3Of(form));
    EXPECT_EQ(message.empty(), Refusal(Zarr3Of(form), array).empty());
    return message.substr(0, message.find(':'));
  };
  EXPECT_EQ(refusal({.codecs = R"(["vlen-utf8",{"name":"zstd","configuration":{"level":9}}])"}), "")
      << "another level";
  EXPECT_EQ(refusal({.chunk = "[4,4]"}), "expected chunks [3, 4] of the source, found [4, 4]");
  EXPECT_EQ(refusal({.fill = R"("none")"}),
            R"(expected the fill value "" of the source, found "none")");
  EXPECT_EQ(refusal({.type = R"("bytes")"}),
            R"(expected the data type "string" of the source, found "bytes")");
  EXPECT_NE(refusal({.codecs = R"(["vlen-utf8"])"}).find("expected the encoding"),
            std::string::npos);
  // The same size and the same codecs, in another order of bytes.
  const Form little{R"({"name":"fixed_length_utf32","configuration":{"length_bytes":8}})", "[3,4]",
                    R"([{"name":"bytes","configuration":{"endian":"little"}}])"};
  Form big = little;
  big.codecs = R"([{"name":"bytes","configuration":{"endian":"big"}}])";
  EXPECT_NE(Refusal(Zarr3Of(little), Zarr3Of(big)), "");
  Form longer = little;
  longer.type = R"({"name":"fixed_length_utf32","configuration":{"length_bytes":12}})";
  EXPECT_FALSE(MatchArrays(Zarr3Of(little), std::vector<PyramidAxis>(2), Zarr3Of(longer)));
}

TEST(PassedChunks, ArraysWithoutAGridOrWithDamageAreRefused) {
  const auto refused = [](const std::string& document) {
    return !ForPassing(ParseArray(Dialect::kZarr3, *ParseJson(document), {}));
  };
  const std::string right = Zarr3Text({});
  EXPECT_FALSE(refused(right));
  const auto with = [&](const std::string& part, const std::string& other) {
    std::string text = right;
    return text.replace(text.find(part), part.size(), other);
  };
  EXPECT_TRUE(refused(with(R"("regular")", R"("mine")")));
  EXPECT_TRUE(refused(with(R"("default")", R"("mine")")));
  EXPECT_TRUE(refused(with(R"(["x",null])", R"(["x"])"))) << "damage that only voxels need";
  EXPECT_TRUE(refused(with(R"("attributes")", R"("mine":{"must_understand":true},"attributes")")));
}

// The documents of a copy in the format of its source.
std::string CopyOf(const Array& array, const std::optional<Schema>& wanted) {
  SourceDataset source;
  source.dialect = array.dialect;
  source.kind = SourceDataset::Kind::kArray;
  source.levels.push_back({"", array});
  const auto documents = DocumentsOfCopy(source, array.dialect, wanted);
  return documents ? WriteJson(documents->front().content, 0) : documents.error().message;
}

TEST(PassedChunks, DocumentsOfACopyKeepWhatChunksAre) {
  for (const Form& form :
       {Form{},
        Form{R"({"name":"struct","configuration":{"fields":[{"name":"a","data_type":"int8"}]}})",
             "[7,4]", R"([{"name":"bytes"}])", R"({"a":0})"}}) {
    const Array array = Zarr3Of(form);
    const Array copy = ReadPassed(Dialect::kZarr3, CopyOf(array, std::nullopt));
    EXPECT_EQ(Refusal(array, copy), "");
    EXPECT_EQ(copy.attributes, array.attributes);
    EXPECT_EQ(copy.axis_names, array.axis_names);

    Schema shards;
    shards.chunk_layout.write_chunk.shape = HardShape({6, 8});
    const Array sharded = ReadPassed(Dialect::kZarr3, CopyOf(array, shards));
    EXPECT_EQ(Refusal(array, sharded), "");
    // Along an axis with one chunk a shard has that chunk: with one chunk in all there is no shard.
    const Shape expected = {6, 4};
    EXPECT_EQ(sharded.shard_shape, form.chunk == "[7,4]" ? std::nullopt : std::optional(expected));
  }
  Schema shards;
  shards.chunk_layout.write_chunk.shape = HardShape({4, 4});
  EXPECT_NE(CopyOf(Zarr3Of({}), shards).find("chunk"), std::string::npos) << "no multiple of 3";
  for (const char* const dtype : {R"("|O")", R"([["id","<i4"]])"}) {
    const Array array = ReadPassed(Dialect::kZarr2, Zarr2Text(dtype, R"([{"id":"vlen-utf8"}])"));
    EXPECT_EQ(Refusal(array, ReadPassed(Dialect::kZarr2, CopyOf(array, std::nullopt))), "");
  }
}

TEST(PassedChunks, OtherFormatsCannotSayThem) {
  SourceDataset source;
  source.kind = SourceDataset::Kind::kArray;
  source.levels.push_back({"", Zarr3Of({})});
  for (const Dialect dialect : {Dialect::kZarr2, Dialect::kN5}) {
    const auto refused = PresentDataset(source, dialect, {{}, true});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kNotSupported);
    EXPECT_NE(refused.error().message.find("string"), std::string::npos) << refused.error().message;
  }
}

}  // namespace
}  // namespace unshard
