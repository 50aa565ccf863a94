
#include <gtest/gtest.h>

#include <cerrno>
#include <map>
#include <string>

#include "codec/json/json.h"
#include "codec/json/meaning.h"
#include "codec/json/parser.h"
#include "codec/json/writer.h"
#include "codec/precomputed/info.h"
#include "codec/precomputed/merge.h"
#include "codec/types/fill_value.h"
#include "codec/zarr3/document.h"
#include "codec/zarr3/merge.h"

namespace unshard {
namespace {

std::string Replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

// As TensorStore 0.1.86 writes it.
const std::string kTensorStoreArray =
    R"({"attributes":{"x":1},"chunk_grid":{"configuration":{"chunk_shape":[4,4]},"name":"regular"},)"
    R"("chunk_key_encoding":{"name":"default"},"codecs":[{"configuration":{"chunk_shape":[2,2],)"
    R"("codecs":[{"configuration":{"endian":"little"},"name":"bytes"},)"
    R"({"configuration":{"level":6},"name":"gzip"}],"index_codecs":[{"configuration":)"
    R"({"endian":"little"},"name":"bytes"},{"name":"crc32c"}]},"name":"sharding_indexed"}],)"
    R"("data_type":"uint16","fill_value":0,"node_type":"array","shape":[8,8],"zarr_format":3})";

// As zarr-python 3.1.6 writes the unsharded form of that, with an attribute more.
const std::string kWrittenByZarrPython =
    R"({"shape": [8, 8], "data_type": "uint16", "chunk_grid": {"name": "regular",
    "configuration": {"chunk_shape": [2, 2]}}, "chunk_key_encoding": {"name": "default",
    "configuration": {"separator": "/"}}, "fill_value": 0, "codecs": [{"name": "bytes",
    "configuration": {"endian": "little"}}, {"name": "gzip", "configuration": {"level": 6}}],
    "attributes": {"x": 1, "y": [1.5, "ä"]}, "zarr_format": 3, "node_type": "array",
    "storage_transformers": []})";

std::string Shown(const std::string& original) {
  const auto node = ParseZarrMetadata(original);
  EXPECT_TRUE(node) << node.error().message;
  return node->unsharded_text;
}

void ExpectRefused(const Result<std::string>& merged, const std::string& place) {
  ASSERT_FALSE(merged) << *merged;
  EXPECT_EQ(merged.error().code, ErrorCode::kPermissionDenied) << merged.error().message;
  EXPECT_EQ(merged.error().system_errno, EPERM);
  EXPECT_TRUE(merged.error().message.starts_with(place)) << merged.error().message;
}

TEST(MergeZarrTest, WhatIsShownIsNoChange) {
  EXPECT_EQ(MergeZarrMetadata(kTensorStoreArray, Shown(kTensorStoreArray)).value(),
            kTensorStoreArray);
}

TEST(MergeZarrTest, SpelledOutDefaultsAreNoChange) {
  const std::string edited = Replaced(kWrittenByZarrPython, R"(, "y": [1.5, "ä"])", "");
  EXPECT_EQ(MergeZarrMetadata(kTensorStoreArray, edited).value(), kTensorStoreArray);
}

TEST(MergeZarrTest, ANewAttributeIsTheOnlyThingThatChanges) {
  const auto merged = MergeZarrMetadata(kTensorStoreArray, kWrittenByZarrPython);
  ASSERT_TRUE(merged) << merged.error().message;
  const JsonValue found = ParseJson(*merged).value();
  const JsonValue expected =
      ParseJson(Replaced(kTensorStoreArray, R"({"x":1})", R"({"x":1,"y":[1.5,"ä"]})")).value();
  EXPECT_EQ(WriteJson(found, 0), WriteJson(expected, 0)) << "order and spelling are kept";
  EXPECT_EQ(merged->find('\n'), std::string::npos) << "one line stays one line";
}

TEST(MergeZarrTest, WhatIsNotTouchedKeepsItsSpelling) {
  const std::string original = Replaced(
      kTensorStoreArray, R"({"x":1})",
      R"({"big":12345678901234567890123,"one":1.0,"list":[1e2,{"a":1.50,"b":2}],"gone":0})");
  const std::string edited =
      Replaced(kWrittenByZarrPython, R"({"x": 1, "y": [1.5, "ä"]})",
               R"({"list": [100, {"b": 3, "a": 1.5}], "one": 1, "big": 12345678901234567890123})");
  const auto merged = MergeZarrMetadata(original, edited);
  ASSERT_TRUE(merged) << merged.error().message;
  EXPECT_EQ(WriteJson(*ParseJson(*merged)->Find("attributes"), 0),
            WriteJson(ParseJson(R"({"big":12345678901234567890123,"one":1.0,
                                    "list":[1e2,{"a":1.50,"b":3}]})")
                          .value(),
                      0));
}

TEST(MergeZarrTest, NamesOfDimensionsAndUnknownMembersAreTakenOver) {
  const std::string edited = Replaced(kWrittenByZarrPython, R"("zarr_format")",
                                      R"("dimension_names": ["y", null], "mine": {"a": 1},
                                         "zarr_format")");
  const auto merged = MergeZarrMetadata(kTensorStoreArray, edited);
  ASSERT_TRUE(merged) << merged.error().message;
  const JsonValue document = ParseJson(*merged).value();
  EXPECT_EQ(WriteJson(*document.Find("dimension_names"), 0),
            WriteJson(ParseJson(R"(["y",null])").value(), 0));
  EXPECT_NE(document.Find("mine"), nullptr);
  const auto back = MergeZarrMetadata(*merged, kWrittenByZarrPython);
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(ParseJson(*back)->Find("mine"), nullptr) << "what the edit leaves out is gone";
  const auto wrong =
      MergeZarrMetadata(kTensorStoreArray, Replaced(kWrittenByZarrPython, R"("zarr_format")",
                                                    R"("dimension_names": ["y"], "zarr_format")"));
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().code, ErrorCode::kInvalidArgument);
}

TEST(MergeZarrTest, TheLayoutIsRefused) {
  const struct {
    const char* from;
    const char* to;
    const char* place;
  } edits[] = {
      {R"("data_type": "uint16")", R"("data_type": "int16")", "data_type:"},
      {R"([2, 2])", R"([4, 4])", "chunk_grid:"},
      {R"("separator": "/")", R"("separator": ".")", "chunk_key_encoding:"},
      {R"("fill_value": 0)", R"("fill_value": 1)", "fill_value:"},
      {R"("level": 6)", R"("level": 9)", "codecs:"},
      {R"("endian": "little")", R"("endian": "big")", "codecs:"},
      {R"(, {"name": "gzip", "configuration": {"level": 6}})", "", "codecs:"},
      {R"("storage_transformers": [])", R"("storage_transformers": ["x"])", "zarr.json:"},
  };
  for (const auto& edit : edits) {
    SCOPED_TRACE(edit.to);
    ExpectRefused(
        MergeZarrMetadata(kTensorStoreArray, Replaced(kWrittenByZarrPython, edit.from, edit.to)),
        edit.place);
  }
  ExpectRefused(MergeZarrMetadata(kTensorStoreArray, R"({"zarr_format": 3, "node_type": "group"})"),
                "node_type:");
  ExpectRefused(MergeZarrMetadata(kTensorStoreArray, kTensorStoreArray), "codecs:");
}

TEST(MergeZarrTest, TheShapeMayChange) {
  const std::string attributes = R"(, "y": [1.5, "ä"])";
  const std::string resized =
      Replaced(Replaced(kWrittenByZarrPython, attributes, ""), "[8, 8]", "[9, 0]");
  const auto merged = MergeZarrMetadata(kTensorStoreArray, resized);
  ASSERT_TRUE(merged) << merged.error().message;
  EXPECT_EQ(WriteJson(ParseJson(*merged).value(), 0),
            WriteJson(ParseJson(Replaced(kTensorStoreArray, "[8,8]", "[9,0]")).value(), 0));
  const auto back = MergeZarrMetadata(*merged, Shown(kTensorStoreArray));
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_TRUE(SameMeaning(ParseJson(*back).value(), ParseJson(kTensorStoreArray).value()));
}

TEST(CompleteZarrTest, AShardedArrayIsNotCreated) {
  ExpectRefused(CompleteZarrMetadata(kTensorStoreArray, nullptr),
                "codecs: sharded arrays cannot be created");
}

TEST(MergeZarrTest, WhatIsNoMetadataIsRefused) {
  for (const char* edited : {"", "{", "[]", "{}", R"({"zarr_format": 2})"}) {
    const auto merged = MergeZarrMetadata(kTensorStoreArray, edited);
    ASSERT_FALSE(merged) << edited;
    EXPECT_EQ(merged.error().code, ErrorCode::kInvalidArgument) << edited;
  }
}

TEST(MergeZarrTest, DefaultsOfCodecsMayComeAndGo) {
  const std::string original = Replaced(
      Replaced(kTensorStoreArray, "uint16", "uint8"),
      R"({"configuration":{"endian":"little"},"name":"bytes"},{"configuration":{"level":6},"name":"gzip"})",
      R"("bytes",{"name":"blosc","configuration":{"cname":"lz4","clevel":5,"shuffle":"noshuffle"}},)"
      R"({"name":"zstd","configuration":{"level":1}},"crc32c")");
  const std::string shown = Shown(original);
  std::string edited =
      Replaced(shown, R"("noshuffle")", R"("noshuffle", "typesize": 1, "blocksize": 0)");
  edited = Replaced(edited, R"("level": 1)", R"("level": 1, "checksum": false)");
  edited = Replaced(edited, R"("name": "crc32c")", R"("name": "crc32c", "configuration": {})");
  edited = Replaced(edited, R"("name": "bytes")",
                    R"("name": "bytes", "configuration": {"endian": "little"})");
  EXPECT_EQ(MergeZarrMetadata(original, edited).value(), original);
  ExpectRefused(
      MergeZarrMetadata(original, Replaced(edited, R"("checksum": false)", R"("checksum": true)")),
      "codecs:");
}

std::string Group(const std::string& array) {
  return R"({"attributes": {}, "zarr_format": 3, "consolidated_metadata": {"kind": "inline",
             "must_understand": false, "metadata": {"a": )" +
         array + R"(}}, "node_type": "group"})";
}

TEST(MergeZarrTest, EmbeddedCopiesFollowTheSameRules) {
  const std::string original = Group(kTensorStoreArray);
  EXPECT_EQ(MergeZarrMetadata(original, Shown(original)).value(), original);
  const auto merged = MergeZarrMetadata(original, Group(kWrittenByZarrPython));
  ASSERT_TRUE(merged) << merged.error().message;
  const JsonValue document = ParseJson(*merged).value();
  const JsonValue& a = *document.Find("consolidated_metadata")->Find("metadata")->Find("a");
  EXPECT_EQ(
      WriteJson(a, 0),
      WriteJson(
          ParseJson(MergeZarrMetadata(kTensorStoreArray, kWrittenByZarrPython).value()).value(),
          0));
  ExpectRefused(
      MergeZarrMetadata(original, Group(Replaced(kWrittenByZarrPython, "[8, 8]", "[9, 8]"))),
      R"(consolidated_metadata.metadata["a"].shape:)");
  const std::string bare = R"({"zarr_format": 3, "node_type": "group"})";
  ExpectRefused(MergeZarrMetadata(bare, Group(kWrittenByZarrPython)),
                R"(consolidated_metadata.metadata["a"]:)");
  EXPECT_TRUE(MergeZarrMetadata(original, bare)) << "copies may go";
}

// The stored documents of a hierarchy, by path; counts how often each was asked for.
struct Hierarchy {
  std::map<std::string, std::string, std::less<>> documents;
  std::map<std::string, int, std::less<>> asked = {};

  StoredNodes LookUp() {
    return [this](std::string_view path) -> Result<std::optional<std::string>> {
      ++asked[std::string(path)];
      const auto found = documents.find(path);
      if (found == documents.end()) return std::nullopt;
      return found->second;
    };
  }
};

std::string GroupOf(const std::string& nodes) {
  return R"({"attributes": {"title": "all"}, "zarr_format": 3, "consolidated_metadata": {)"
         R"("kind": "inline", "must_understand": false, "metadata": {)" +
         nodes + R"(}}, "node_type": "group"})";
}

const std::string kBareGroup =
    R"({"attributes": {"title": "all"}, "zarr_format": 3, "node_type": "group"})";

JsonValue CopyIn(const std::string& group, const std::string& name) {
  const JsonValue document = ParseJson(group).value();
  const JsonValue* copy = document.Find("consolidated_metadata")->Find("metadata")->Find(name);
  EXPECT_NE(copy, nullptr) << name;
  return copy != nullptr ? *copy : JsonValue();
}

// A copy of kTensorStoreArray with the attributes that the writer gave it.
const JsonValue& ShardedCopy() {
  static const JsonValue copy =
      ParseJson(MergeZarrMetadata(kTensorStoreArray, kWrittenByZarrPython).value()).value();
  return copy;
}

TEST(MergeZarrTest, NewCopiesOfShardedArraysAreMergedIntoTheirOwnDocuments) {
  const std::string plain = Replaced(kWrittenByZarrPython, "[8, 8]", "[5, 5]");
  const std::string inner = R"({"zarr_format": 3, "node_type": "group", "attributes": {}, )"
                            R"("consolidated_metadata": {"kind": "inline", "must_understand": )"
                            R"(false, "metadata": {"deep": )" +
                            kWrittenByZarrPython + "}}}";
  const std::string edited =
      GroupOf(R"("a": )" + kWrittenByZarrPython + R"(, "plain": )" + plain + R"(, "foreign": )" +
              kWrittenByZarrPython + R"(, "g": )" + inner + R"(, "g/b": )" + kWrittenByZarrPython);
  Hierarchy hierarchy{{{"a", kTensorStoreArray},
                       {"plain", kWrittenByZarrPython},
                       {"g/b", kTensorStoreArray},
                       {"g/deep", kTensorStoreArray}}};
  for (const bool completed : {false, true}) {
    const auto merged = completed ? CompleteZarrMetadata(edited, hierarchy.LookUp())
                                  : MergeZarrMetadata(kBareGroup, edited, hierarchy.LookUp());
    ASSERT_TRUE(merged) << merged.error().message;
    EXPECT_TRUE(SameMeaning(CopyIn(*merged, "a"), ShardedCopy())) << *merged;
    EXPECT_TRUE(SameMeaning(CopyIn(*merged, "g/b"), ShardedCopy()));
    EXPECT_TRUE(SameMeaning(CopyIn(WriteJson(CopyIn(*merged, "g")), "deep"), ShardedCopy()));
    EXPECT_TRUE(SameMeaning(CopyIn(*merged, "plain"), ParseJson(plain).value()))
        << "not sharded: as it was written";
    EXPECT_TRUE(SameMeaning(CopyIn(*merged, "foreign"), ParseJson(kWrittenByZarrPython).value()))
        << "no array of the store: as it was written";
    EXPECT_EQ(MergeZarrMetadata(*merged, edited, hierarchy.LookUp()).value(), *merged);
    EXPECT_EQ(MergeZarrMetadata(*merged, Shown(*merged)).value(), *merged)
        << "what is shown needs no other document";
  }
}

TEST(MergeZarrTest, NewCopiesThatContradictTheStoredArrayAreRefused) {
  const struct {
    std::string copy;
    std::string stored;
    const char* place;
  } cases[] = {
      {Replaced(kWrittenByZarrPython, "[8, 8]", "[9, 8]"), kTensorStoreArray, ".shape:"},
      {Replaced(kWrittenByZarrPython, "[2, 2]", "[4, 4]"), kTensorStoreArray, ".chunk_grid:"},
      {Replaced(kWrittenByZarrPython, "gzip", "zstd"), kTensorStoreArray, ".codecs:"},
      {kWrittenByZarrPython, kBareGroup, ".node_type:"},
      {kWrittenByZarrPython, "{", ":"},
      {kWrittenByZarrPython, R"({"zarr_format": 3, "node_type": "array"})", ":"},
  };
  for (const auto& each : cases) {
    SCOPED_TRACE(each.place);
    Hierarchy hierarchy{{{"a", each.stored}}};
    const std::string edited = Group(each.copy);
    const std::string place = R"(consolidated_metadata.metadata["a"])";
    ExpectRefused(MergeZarrMetadata(kBareGroup, edited, hierarchy.LookUp()), place + each.place);
    ExpectRefused(CompleteZarrMetadata(edited, hierarchy.LookUp()), place + each.place);
  }
  const StoredNodes broken = [](std::string_view) -> Result<std::optional<std::string>> {
    return Fail(ErrorCode::kUnavailable, "no answer");
  };
  const auto merged = CompleteZarrMetadata(Group(kWrittenByZarrPython), broken);
  ASSERT_FALSE(merged);
  EXPECT_EQ(merged.error().code, ErrorCode::kUnavailable) << merged.error().message;
}

// Someone made the array anew in the store after its copy was embedded.
TEST(MergeZarrTest, TheArraysOwnDocumentPrevailsOverAnOldCopy) {
  const std::string original = Group(kTensorStoreArray);
  const std::string grown = Replaced(kTensorStoreArray, "[8,8]", "[16,8]");
  const std::string edited = Group(Replaced(kWrittenByZarrPython, "[8, 8]", "[16, 8]"));
  ExpectRefused(MergeZarrMetadata(original, edited),
                R"(consolidated_metadata.metadata["a"].shape:)");
  Hierarchy hierarchy{{{"a", grown}}};
  const auto merged = MergeZarrMetadata(original, edited, hierarchy.LookUp());
  ASSERT_TRUE(merged) << merged.error().message;
  EXPECT_EQ(WriteJson(*CopyIn(*merged, "a").Find("shape"), 0), "[16, 8]");
  EXPECT_NE(merged->find("sharding_indexed"), std::string::npos);
  // A copy that was stored in the wrong form is set right.
  const auto repaired = CompleteZarrMetadata(edited, hierarchy.LookUp());
  ASSERT_TRUE(repaired) << repaired.error().message;
  EXPECT_NE(repaired->find("sharding_indexed"), std::string::npos);
}

TEST(MergeZarrTest, CopiesThatDidNotChangeAreNotLookedFor) {
  const std::string original =
      GroupOf(R"("a": )" + kTensorStoreArray + R"(, "b": )" + kTensorStoreArray);
  std::string edited = Shown(original);
  edited.replace(edited.rfind(R"("x")"), 3, R"("z")");
  Hierarchy hierarchy{{{"a", kTensorStoreArray}, {"b", kTensorStoreArray}}};
  ASSERT_TRUE(MergeZarrMetadata(original, edited, hierarchy.LookUp()));
  EXPECT_EQ(hierarchy.asked, (std::map<std::string, int, std::less<>>{{"b", 1}}));
}

TEST(CompleteZarrTest, DocumentsWithoutCopiesOfShardedArraysStayByteForByte) {
  Hierarchy hierarchy{{{"plain", kWrittenByZarrPython}, {"a", kTensorStoreArray}}};
  for (const std::string& edited :
       {std::string(), std::string("{"), std::string("[1]"), kBareGroup, kWrittenByZarrPython,
        GroupOf(R"("plain":   )" + kWrittenByZarrPython), GroupOf(R"("a": )" + kTensorStoreArray),
        GroupOf(R"("new": )" + kTensorStoreArray),
        std::string(R"({"zarr_format": 3, "node_type": "group", "consolidated_metadata": null})"),
        std::string(R"({"zarr_format": 3, "node_type": "group", "consolidated_metadata": {}})")}) {
    EXPECT_EQ(CompleteZarrMetadata(edited, hierarchy.LookUp()).value(), edited);
  }
}

TEST(MergeZarrTest, ArraysWithoutShardsMayChangeInAnyWay) {
  const std::string resized = Replaced(kWrittenByZarrPython, "[8, 8]", "[9, 9]");
  EXPECT_EQ(MergeZarrMetadata(kWrittenByZarrPython, resized).value(), resized);
}

TEST(SameFillValueTest, SpellingsOfOneValueAreTheSame) {
  const struct {
    const char* data_type;
    const char* a;
    const char* b;
    bool same;
  } cases[] = {
      {"float32", "0", "0.0", true},
      {"float32", "0.1", "0.10000000149011612", true},  // as zarr-python writes it
      {"float16", "0.1", "0.0999755859375", true},      // likewise
      {"float64", "0.1", "0.10000000149011612", false},
      {"float32", "\"NaN\"", "\"0x7fc00000\"", true},
      {"float32", "\"NaN\"", "\"0x7fc00001\"", false},
      {"float64", "NaN", "\"NaN\"", true},
      {"float16", "65504", "\"0x7bff\"", true},
      {"float16", "1e9", "\"Infinity\"", true},
      {"float16", "6e-8", "\"0x0001\"", true},
      {"bfloat16", "1", "\"0x3f80\"", true},
      {"float32", "-0.0", "0.0", false},
      {"float32", "\"-Infinity\"", "\"Infinity\"", false},
      {"uint64", "18446744073709551615", "18446744073709551614", false},
      {"int32", "3", "3.0", true},
      {"bool", "0", "false", true},
      {"bool", "1", "false", false},
      {"complex64", "[0, \"NaN\"]", "[0.0, \"0x7fc00000\"]", true},
      {"complex64", "[0, 1]", "[1, 0]", false},
      {"numpy.datetime64", "\"NaT\"", "-9223372036854775808", true},
      {"string", "\"a\"", "\"b\"", false},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(SameFillValue(c.data_type, ParseJson(c.a).value(), ParseJson(c.b).value()), c.same)
        << c.data_type << " " << c.a << " " << c.b;
  }
}

// As TensorStore 0.1.86 writes it.
const std::string kTensorStoreInfo =
    R"({"@type":"neuroglancer_multiscale_volume","data_type":"uint64","num_channels":1,"scales":[)"
    R"({"chunk_sizes":[[32,32,32]],"compressed_segmentation_block_size":[8,8,8],)"
    R"("encoding":"compressed_segmentation","key":"8_8_40","resolution":[8.0,8.0,40.0],)"
    R"("sharding":{"@type":"neuroglancer_uint64_sharded_v1","data_encoding":"gzip",)"
    R"("hash":"identity","minishard_bits":1,"minishard_index_encoding":"raw","preshift_bits":1,)"
    R"("shard_bits":1},"size":[64,64,64],"voxel_offset":[0,0,0]}],"type":"segmentation"})";

// As CloudVolume 12.15.2 writes the unsharded form of that, after `info["mesh"] = "mesh"`.
const std::string kWrittenByCloudVolume = R"({
  "@type": "neuroglancer_multiscale_volume", "data_type": "uint64", "mesh": "mesh",
  "num_channels": 1, "scales": [{"chunk_sizes": [[32, 32, 32]],
  "compressed_segmentation_block_size": [8, 8, 8], "encoding": "compressed_segmentation",
  "key": "8_8_40", "resolution": [8.0, 8.0, 40.0], "size": [64, 64, 64],
  "voxel_offset": [0, 0, 0]}], "type": "segmentation"})";

TEST(MergeInfoTest, TheMeshOfCloudVolumeIsTheOnlyThingThatChanges) {
  const std::string unchanged = Replaced(kWrittenByCloudVolume, R"("mesh": "mesh",)", "");
  EXPECT_EQ(MergeNeuroglancerInfo(kTensorStoreInfo, unchanged).value(), kTensorStoreInfo);
  const auto merged = MergeNeuroglancerInfo(kTensorStoreInfo, kWrittenByCloudVolume);
  ASSERT_TRUE(merged) << merged.error().message;
  const std::string expected = Replaced(kTensorStoreInfo, R"("type":"segmentation"})",
                                        R"("type":"segmentation","mesh":"mesh"})");
  EXPECT_EQ(WriteJson(ParseJson(*merged).value(), 0), WriteJson(ParseJson(expected).value(), 0));
}

TEST(MergeInfoTest, ResolutionMayChangeAndDefaultsMayGo) {
  std::string edited = Replaced(kWrittenByCloudVolume, "[8.0, 8.0, 40.0]", "[8, 8, 42.5]");
  edited = Replaced(edited, R"("@type": "neuroglancer_multiscale_volume", )", "");
  edited = Replaced(edited, R"("num_channels": 1, )", "");
  edited = Replaced(edited, R"(,
  "voxel_offset": [0, 0, 0])",
                    "");
  edited = Replaced(edited, "uint64", "UINT64");
  const auto merged = MergeNeuroglancerInfo(kTensorStoreInfo, edited);
  ASSERT_TRUE(merged) << merged.error().message;
  const JsonValue document = ParseJson(*merged).value();
  EXPECT_EQ(document.Find("data_type")->text(), "uint64");
  EXPECT_EQ(document.Find("num_channels")->text(), "1");
  const JsonValue& resolution = *document.Find("scales")->items()[0].Find("resolution");
  EXPECT_EQ(resolution.items()[0].text(), "8.0") << "what means the same keeps its spelling";
  EXPECT_EQ(resolution.items()[2].text(), "42.5");
}

TEST(MergeInfoTest, TheLayoutIsRefused) {
  const struct {
    const char* from;
    const char* to;
    const char* place;
  } edits[] = {
      {"uint64", "uint32", "data_type:"},
      {R"("num_channels": 1)", R"("num_channels": 2)", "num_channels:"},
      {"8_8_40", "8_8_41", "scales:"},
      {"[64, 64, 64]", "[64, 64, 65]", "scales[0].size:"},
      {"[[32, 32, 32]]", "[[32, 32, 16]]", "scales[0].chunk_sizes:"},
      {"[0, 0, 0]", "[0, 0, 1]", "scales[0].voxel_offset:"},
      {R"("compressed_segmentation",)", R"("raw",)", "scales[0].encoding:"},
      {"[8, 8, 8]", "[8, 8, 4]", "scales[0].compressed_segmentation_block_size:"},
      {R"("scales": [)",
       R"("scales": [{"key": "0", "size": [64, 64, 64], "chunk_sizes": [[32, 32, 32]],
       "encoding": "raw", "sharding": {"@type": "neuroglancer_uint64_sharded_v1",
       "preshift_bits": 0, "hash": "identity", "minishard_bits": 0, "shard_bits": 0}}, )",
       "scales[0].sharding: sharded arrays cannot be created"},
      {"neuroglancer_multiscale_volume", "neuroglancer_skeletons", "@type:"},
  };
  for (const auto& edit : edits) {
    SCOPED_TRACE(edit.to);
    ExpectRefused(MergeNeuroglancerInfo(kTensorStoreInfo,
                                        Replaced(kWrittenByCloudVolume, edit.from, edit.to)),
                  edit.place);
  }
  ExpectRefused(MergeNeuroglancerInfo(kTensorStoreInfo, kTensorStoreInfo), "scales[0].sharding:");
}

TEST(MergeInfoTest, ScalesComeInAnyOrder) {
  const std::string scale = R"({"key": "16_16_40", "size": [32, 32, 64]})";
  for (const bool first : {true, false}) {
    const std::string edited =
        first ? Replaced(kWrittenByCloudVolume, R"("scales": [)", R"("scales": [)" + scale + ", ")
              : Replaced(kWrittenByCloudVolume, R"(}])", R"(}, )" + scale + "]");
    const auto merged = MergeNeuroglancerInfo(kTensorStoreInfo, edited);
    ASSERT_TRUE(merged) << merged.error().message;
    const auto info = ParseNeuroglancerInfo(*merged);
    ASSERT_TRUE(info);
    EXPECT_EQ(info->sharded.size(), 1u);
    const JsonValue document = ParseJson(*merged).value();
    const auto& scales = document.Find("scales")->items();
    ASSERT_EQ(scales.size(), 2u);
    EXPECT_TRUE(SameMeaning(scales[first ? 0 : 1], ParseJson(scale).value()));
    EXPECT_NE(scales[first ? 1 : 0].Find("sharding"), nullptr);
    const auto gone = MergeNeuroglancerInfo(*merged, kWrittenByCloudVolume);
    ASSERT_TRUE(gone) << "it is not sharded: " << gone.error().message;
    EXPECT_EQ(ParseJson(*gone)->Find("scales")->items().size(), 1u);
  }
}

TEST(MergeInfoTest, AScaleWithoutAKeyStaysAsItIs) {
  const std::string stored =
      Replaced(kTensorStoreInfo, R"(}],"type")", R"(},{"size":[32,32,64]}],"type")");
  const auto info = ParseNeuroglancerInfo(stored);
  ASSERT_TRUE(info) << info.error().message;
  EXPECT_EQ(MergeNeuroglancerInfo(stored, info->unsharded_text).value(), stored);
}

TEST(MergeInfoTest, AShardedScaleWithoutChunksCanBeRemoved) {
  std::string without = kWrittenByCloudVolume;
  const std::size_t begin = without.find(R"("scales": [)") + 11;
  without.erase(begin, without.rfind(']') - begin);
  ExpectRefused(MergeNeuroglancerInfo(kTensorStoreInfo, without), "scales:");
  std::string asked;
  for (const bool holds : {true, false}) {
    const auto merged =
        MergeNeuroglancerInfo(kTensorStoreInfo, without, [&](std::string_view directory) {
          asked = directory;
          return holds;
        });
    EXPECT_EQ(asked, "8_8_40");
    EXPECT_EQ(merged.has_value(), !holds);
    if (!merged) continue;
    EXPECT_TRUE(ParseJson(*merged)->Find("scales")->items().empty());
  }
}

TEST(MergeInfoTest, ANewInfoWithShardedDirectoriesIsRefused) {
  const Status sharded = CheckNewInfo(kTensorStoreInfo);
  ASSERT_FALSE(sharded);
  EXPECT_TRUE(
      sharded.error().message.starts_with("scales[0].sharding: sharded arrays cannot be created"));
  EXPECT_TRUE(CheckNewInfo(kWrittenByCloudVolume));
  EXPECT_TRUE(CheckNewInfo("no JSON"));
}

TEST(MergeInfoTest, WhatIsNoInfoIsRefused) {
  for (const char* edited : {"", "[]", "{", R"({"scales": 3})"}) {
    const auto merged = MergeNeuroglancerInfo(kTensorStoreInfo, edited);
    ASSERT_FALSE(merged) << edited;
    EXPECT_EQ(merged.error().code, ErrorCode::kInvalidArgument) << edited;
  }
}

TEST(MergeInfoTest, AnnotationsKeepDimensionsTypesAndIndices) {
  const std::string sharding = R"("sharding": {"@type": "neuroglancer_uint64_sharded_v1",
      "preshift_bits": 0, "hash": "identity", "minishard_bits": 1, "shard_bits": 1})";
  const std::string original = R"({"@type": "neuroglancer_annotations_v1",
      "dimensions": {"x": [1e-9, "m"], "y": [1e-9, "m"]}, "annotation_type": "POINT",
      "properties": [{"id": "p", "type": "uint8"}], "relationships": [], "by_id": {"key": "b", )" +
                               sharding + R"(}, "spatial": [{"key": "s", "grid_shape": [2, 2],
      "chunk_size": [5, 5], "limit": 3, )" +
                               sharding + "}]}";
  const std::string shown = ParseNeuroglancerInfo(original).value().unsharded_text;
  EXPECT_EQ(MergeNeuroglancerInfo(original, shown).value(), original);
  const auto merged = MergeNeuroglancerInfo(
      original, Replaced(shown, R"("id": "p")", R"("description": "size", "id": "p")"));
  ASSERT_TRUE(merged) << merged.error().message;
  EXPECT_NE(merged->find(R"("description": "size")"), std::string::npos);
  EXPECT_NE(merged->find("minishard_bits"), std::string::npos);
  ExpectRefused(MergeNeuroglancerInfo(original, Replaced(shown, "uint8", "uint16")),
                "properties[0].type:");
  ExpectRefused(MergeNeuroglancerInfo(original, Replaced(shown, R"("key": "b")", R"("key": "c")")),
                "by_id.key:");
  const std::string swapped = Replaced(
      Replaced(Replaced(shown, R"("x")", R"("t")"), R"("y")", R"("x")"), R"("t")", R"("y")");
  ExpectRefused(MergeNeuroglancerInfo(original, swapped), "dimensions:");
}

}  // namespace
}  // namespace unshard
