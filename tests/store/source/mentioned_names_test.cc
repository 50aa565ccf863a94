#include "store/source/mentioned_names.h"

#include <gtest/gtest.h>

#include "codec/json/parser.h"

namespace unshard {
namespace {

using Names = std::vector<std::string>;

MentionedNames Of(std::string_view name, std::string_view text) {
  const auto document = ParseJson(text);
  EXPECT_TRUE(document) << text;
  return NamesMentionedIn(name, *document);
}

TEST(MentionedNames, OfAGroupAreItsConsolidatedNodesAndMultiscales) {
  const auto names = Of("zarr.json", R"({"consolidated_metadata":{"metadata":{"a":{},"a/b":{}}},
                                         "attributes":{"multiscales":[{"datasets":[{"path":"0"},{}]}],
                                                       "labels":["cells",3]}})");
  EXPECT_EQ(names.directories, (Names{"a", "a/b", "0", "cells"}));
  EXPECT_EQ(names.documents.front(), "a/zarr.json");
  EXPECT_FALSE(names.chunks);
}

TEST(MentionedNames, OfZarr2AreTheDocumentsOfZmetadataAndTheScales) {
  const auto names =
      Of(".zmetadata", R"({"metadata":{".zattrs":{},"a/.zarray":{},"a/.zattrs":{}}})");
  EXPECT_EQ(names.directories, (Names{"a", "a"}));
  EXPECT_EQ(names.documents, (Names{".zattrs", "a/.zarray", "a/.zattrs"}));
  EXPECT_EQ(
      Of(".zattrs", R"({"plate":{"wells":[{"path":"A/1"}]},"well":{"images":[{"path":"0"}]}})")
          .directories,
      (Names{"A/1", "0"}));
}

TEST(MentionedNames, OfASceneAreItsImagesAndMatrices) {
  const auto names = Of("zarr.json", R"({"attributes":{"ome":{"scene":{"coordinateTransformations":[
          {"type":"affine","path":"coordinateTransformations/a","input":{"path":"left","name":"p"},
           "output":{"path":"right"}},{"input":"world"}]}}}})");
  EXPECT_EQ(names.directories, (Names{"coordinateTransformations/a", "left", "right"}));
}

TEST(MentionedNames, OfAnInfoAreScalesMeshesAndProperties) {
  EXPECT_EQ(Of("info", R"({"scales":[{"key":"8_8_8"},{"key":"../x"}],"mesh":"m","skeletons":"s",
                           "segment_properties":"p","by_id":{"key":"i"},"spatial":[{"key":"s0"}]})")
                .directories,
            (Names{"8_8_8", "../x", "m", "s", "p", "i", "s0"}));
  EXPECT_TRUE(Of("info", R"({"scales":7,"mesh":[]})").directories.empty());
}

TEST(MentionedNames, OfN5AreTheScalesOfViewers) {
  EXPECT_EQ(Of("attributes.json", R"({"scales":[[1,1],[2,2]]})").directories, (Names{"s0", "s1"}));
}

TEST(MentionedNames, AnArrayNamesTheDirectoriesAboveItsChunks) {
  const auto zarr3 = Of("zarr.json", R"({"node_type":"array","shape":[1,2,3]})").chunks;
  ASSERT_TRUE(zarr3);
  EXPECT_EQ(zarr3->prefix, "c");
  EXPECT_EQ(zarr3->levels, 2U);
  const auto dots = Of("zarr.json", R"({"node_type":"array","shape":[1,2],"chunk_key_encoding":
                                        {"name":"default","configuration":{"separator":"."}}})");
  EXPECT_EQ(dots.chunks->prefix, "");
  EXPECT_EQ(dots.chunks->levels, 0U);
  EXPECT_EQ(Of(".zarray", R"({"shape":[1,2],"dimension_separator":"/"})").chunks->levels, 1U);
  EXPECT_EQ(Of(".zarray", R"({"shape":[1,2]})").chunks->levels, 0U);
  EXPECT_EQ(Of("attributes.json", R"({"dimensions":[1,2,3]})").chunks->levels, 2U);
}

}  // namespace
}  // namespace unshard
