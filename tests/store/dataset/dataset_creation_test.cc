// The documents of which a dataset like another one is made, and what a creation that fails leaves.
#include "store/dataset/dataset_creation.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <sstream>

#include "tests/support/counting_store.h"
#include "tests/support/memory_store.h"
#include "tests/support/temporary_directory.h"

namespace unshard {
namespace {

using Paths = std::set<std::string>;

constexpr const char* kGroup = R"({"zarr_format":3,"node_type":"group"})";
constexpr const char* kArray = R"({"zarr_format":3,"node_type":"array"})";
constexpr Capabilities kUnlisted{.lists = false, .keeps_replaced_versions = false};

const std::map<std::string, std::string> kImage = {
    {"zarr.json", R"({"zarr_format":3,"node_type":"group","attributes":{"ome":{"version":"0.5",
        "multiscales":[{"datasets":[{"path":"0"},{"path":"full/1"}]}]}}})"},
    {"0/zarr.json", kArray},
    {"0/c/0/0", "chunk"},
    {"full/zarr.json", kGroup},
    {"full/1/zarr.json", kArray},
    {"labels/zarr.json", R"({"zarr_format":3,"node_type":"group",
        "attributes":{"ome":{"version":"0.5","labels":["deep/cells"]}}})"},
    {"labels/deep/zarr.json", kGroup},
    {"labels/deep/cells/zarr.json",
     R"({"zarr_format":3,"node_type":"group","attributes":{"ome":{"version":"0.5",
        "multiscales":[{"datasets":[{"path":"0"}]}],"image-label":{}}}})"},
    {"labels/deep/cells/0/zarr.json", kArray},
    {"README", "text"}};

const std::map<std::string, std::string> kVolume = {
    {"info", R"({"scales":[{"key":"8_8_8"},{"key":"deep/16"}],"mesh":"mesh"})"},
    {"8_8_8/0-8_0-8_0-8", "chunk"},
    {"8_8_8/info", "{}"},
    {"deep/16/0-8_0-8_0-8", "chunk"},
    {"mesh/info", R"({"@type":"neuroglancer_multilod_draco"})"},
    {"mesh/0.shard", "meshes"},
    {"mesh/below/info", "{}"}};

std::shared_ptr<CountingStore> StoreOf(const std::map<std::string, std::string>& files,
                                       const Capabilities& capabilities = {}) {
  const auto store = std::make_shared<MemoryStore>(capabilities);
  for (const auto& [key, text] : files) store->Put(key, text);
  return std::make_shared<CountingStore>(store);
}

Paths DocumentsIn(ObjectStore& store) {
  Paths paths;
  const auto documents = ReadDocuments(store, {});
  EXPECT_TRUE(documents) << documents.error().message;
  for (const NewDocument& document : *documents) {
    EXPECT_TRUE(paths.insert(document.path).second) << document.path;
    EXPECT_EQ((*ReadWhole(store, document.path, 1000, {}))->text, document.text);
  }
  return paths;
}

const Paths kOfImage = {"zarr.json",
                        "0/zarr.json",
                        "full/zarr.json",
                        "full/1/zarr.json",
                        "labels/zarr.json",
                        "labels/deep/zarr.json",
                        "labels/deep/cells/zarr.json",
                        "labels/deep/cells/0/zarr.json"};

TEST(ReadDocuments, ThoseOfLabelsAreAmongThem) {
  const auto store = StoreOf(kImage);
  EXPECT_EQ(DocumentsIn(*store), kOfImage);
  EXPECT_EQ(store->of("0").lists + store->of("full/1").lists, 0U);
}

TEST(ReadDocuments, WhereTheStoreCannotListTheyAreThoseThatAreMentioned) {
  EXPECT_EQ(DocumentsIn(*StoreOf(kImage, kUnlisted)), kOfImage);
  EXPECT_EQ(DocumentsIn(*StoreOf(kVolume, kUnlisted)), (Paths{"info", "mesh/info"}));
}

TEST(ReadDocuments, BesideTheScalesOfAVolumeAreMeshes) {
  const auto store = StoreOf(kVolume);
  EXPECT_EQ(DocumentsIn(*store), (Paths{"info", "mesh/info"}));
  for (const char* chunks : {"8_8_8", "deep/16", "mesh"}) EXPECT_EQ(store->of(chunks).lists, 0U);
}

TEST(ReadDocuments, AMentionThatLeavesTheDatasetIsIgnored) {
  const auto store =
      StoreOf({{"info", R"({"scales":[],"mesh":"../mesh","skeletons":"."})"}}, kUnlisted);
  EXPECT_EQ(DocumentsIn(*store), Paths{"info"});
}

TEST(ReadDocuments, WhatIsTooDeepIsSaidAndNotLeftOut) {
  std::map<std::string, std::string> files;
  std::string directory;
  for (int i = 0; i < 20; ++i) {
    files[directory + "zarr.json"] = kGroup;
    directory += "a/";
  }
  const auto documents = ReadDocuments(*StoreOf(files), {});
  ASSERT_FALSE(documents);
  EXPECT_EQ(documents.error().code, ErrorCode::kResourceExhausted);
}

TEST(ReadDocuments, NothingIsADataset) {
  EXPECT_FALSE(ReadDocuments(*StoreOf({{"README", "text"}}), {}));
}

// Paths of directories, and of files with their texts.
std::map<std::string, std::string> Contents(const TemporaryDirectory& directory) {
  std::map<std::string, std::string> contents;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory.path())) {
    std::ostringstream text;
    if (entry.is_regular_file()) text << std::ifstream(entry.path()).rdbuf();
    contents[std::filesystem::relative(entry.path(), directory.path())] = text.str();
  }
  return contents;
}

constexpr const char* kOther = R"({"zarr_format":3,"node_type":"array","of":"others"})";
const std::vector<NewDocument> kTwoArrays = {
    {"zarr.json", kGroup}, {"0/zarr.json", kArray}, {"1/zarr.json", kArray}};

struct FailedCreation {
  const char* name;
  std::map<std::string, std::string> there;
  std::optional<ErrorCode> code;  // nothing: any
};

TEST(CreateDataset, AFailureLeavesWhatWasThereAndNothingElse) {
  const FailedCreation cases[] = {
      {"another array", {{"d/1/zarr.json", kOther}, {"d/README", "text"}}, ErrorCode::kConflict},
      // That of a creation that was killed, or is under way.
      {"the same array",
       {{"d/0/zarr.json", kArray}, {"d/1/zarr.json", kOther}},
       ErrorCode::kConflict},
      {"a file in place of a directory", {{"d/1", "text"}}, std::nullopt},
      {"a dataset", {{"d/zarr.json", kOther}}, ErrorCode::kInvalidArgument},
      {"a dataset of another format", {{"d/.zgroup", "{}"}}, ErrorCode::kInvalidArgument}};
  for (const FailedCreation& one : cases) {
    const TemporaryDirectory directory;
    for (const auto& [key, text] : one.there) directory.Write(key, text);
    const auto before = Contents(directory);
    const Status created = CreateDataset(directory.At("d"), kTwoArrays);
    ASSERT_FALSE(created) << one.name;
    EXPECT_EQ(created.error().code, one.code.value_or(created.error().code)) << one.name;
    EXPECT_EQ(Contents(directory), before) << one.name;
  }
}

TEST(CreateDataset, WhatIsLeftOfOneThatWasKilledIsTaken) {
  const TemporaryDirectory directory;
  directory.Write("d/1/zarr.json", kArray);
  const Status created = CreateDataset(directory.At("d"), kTwoArrays);
  ASSERT_TRUE(created) << created.error().message;
  for (const NewDocument& document : kTwoArrays) {
    EXPECT_EQ(Contents(directory)["d/" + document.path], document.text);
  }
}

}  // namespace
}  // namespace unshard
