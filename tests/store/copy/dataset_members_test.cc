// What a copy finds below a group or a pyramid, and what looking for it costs.
#include "store/copy/dataset_members.h"

#include <gtest/gtest.h>

#include <map>

#include "store/copy/copy_places.h"
#include "tests/support/counting_store.h"
#include "tests/support/memory_store.h"

namespace unshard {
namespace {

constexpr const char* kGroup = R"({"zarr_format":3,"node_type":"group"})";
constexpr const char* kArray =
    R"({"zarr_format":3,"node_type":"array","shape":[8,8],"data_type":"uint8",
    "chunk_grid":{"name":"regular","configuration":{"chunk_shape":[4,4]}},
    "chunk_key_encoding":{"name":"default"},"fill_value":0,"codecs":[{"name":"bytes"}]})";

std::string Pyramid(const std::string& level) {
  return R"({"zarr_format":3,"node_type":"group","attributes":{"ome":{"version":"0.5","multiscales":[
      {"axes":[{"name":"y","type":"space"},{"name":"x","type":"space"}],"datasets":[{"path":")" +
         level + R"(","coordinateTransformations":[{"type":"scale","scale":[1,1]}]}]}]}}})";
}

std::string Volume(const std::string& key) {
  return R"({"type":"image","data_type":"uint8","num_channels":1,"scales":[{"key":")" + key +
         R"(","size":[8,8,8],"voxel_offset":[0,0,0],"resolution":[1,1,1],
         "chunk_sizes":[[8,8,8]],"encoding":"raw"}]})";
}

using Files = std::map<std::string, std::string>;

struct Walked {
  std::shared_ptr<CountingStore> store;
  DatasetMembers members;

  [[nodiscard]] std::vector<std::string> datasets() const { return PathsOf(members.datasets); }
  [[nodiscard]] std::vector<std::string> groups() const { return PathsOf(members.groups); }
  [[nodiscard]] std::vector<std::string> files(FileDirectory::Kind kind) const {
    std::vector<std::string> paths;
    for (const FileDirectory& one : members.files) {
      if (one.kind == kind) paths.push_back(one.path);
    }
    return paths;
  }

 private:
  static std::vector<std::string> PathsOf(const std::vector<DatasetMember>& members) {
    std::vector<std::string> paths;
    for (const DatasetMember& member : members) paths.push_back(member.path);
    return paths;
  }
};

Walked Walk(const Files& files, const Capabilities& capabilities = {}) {
  const auto store = std::make_shared<MemoryStore>(capabilities);
  for (const auto& [key, text] : files) store->Put(key, text);
  Walked walked;
  walked.store = std::make_shared<CountingStore>(store);
  if (capabilities.lists) {
    walked.members = *FindMembers(*walked.store, nullptr);
  } else {
    CatalogStore catalog(walked.store);
    walked.members = *FindMembers(catalog, &catalog);
  }
  return walked;
}

using Paths = std::vector<std::string>;

const Files kImage = {{"zarr.json", Pyramid("0")},
                      {"0/zarr.json", kArray},
                      {"0/c/0/0", "chunk"},
                      {"README", "text"},
                      {"labels/zarr.json", R"({"zarr_format":3,"node_type":"group",
                          "attributes":{"ome":{"version":"0.5","labels":["cells"]}}})"},
                      {"labels/cells/zarr.json", Pyramid("full/0")},
                      {"labels/cells/full/zarr.json", kGroup},
                      {"labels/cells/full/0/zarr.json", kArray},
                      {"labels/cells/full/0/c/0/0", "chunk"},
                      {"mask/zarr.json", kArray},
                      {"mask/c/0/0", "chunk"},
                      {"docs/deep/text", "text"}};

TEST(FindMembers, GoesOnBelowPyramidsAndNotIntoLevels) {
  const Walked walked = Walk(kImage);
  EXPECT_EQ(walked.datasets(), (Paths{"", "labels/cells", "mask"}));
  EXPECT_EQ(walked.groups(), (Paths{"labels", "labels/cells/full"}));
  EXPECT_EQ(walked.files(FileDirectory::Kind::kPlain), (Paths{"", "docs/deep"}));
  EXPECT_TRUE(walked.files(FileDirectory::Kind::kObjects).empty());
}

TEST(FindMembers, ListsEachDirectoryOnceAndNoArray) {
  const Walked walked = Walk(kImage);
  for (const char* listed :
       {"", "labels", "labels/cells", "labels/cells/full", "docs", "docs/deep"}) {
    EXPECT_EQ(walked.store->of(listed).lists, 1U) << listed;
  }
  EXPECT_EQ(walked.store->total().lists, 6U);
  for (const auto& [key, text] : kImage) {
    const bool is_document = key.ends_with("zarr.json");
    EXPECT_EQ(walked.store->of(key).opens, is_document ? 1U : 0U) << key;
  }
}

TEST(FindMembers, LeavesOutWhatIsExcludedAndDoesNotReadIt) {
  const auto store = std::make_shared<MemoryStore>(Capabilities{});
  for (const auto& [key, text] : kImage) store->Put(key, text);
  CountingStore counting(store);
  const auto found = FindMembers(counting, nullptr, {"docs", "labels", "labels/cells"});
  ASSERT_TRUE(found) << found.error().message;
  ASSERT_EQ(found->datasets.size(), 2u);
  EXPECT_EQ(found->datasets[1].path, "mask");
  EXPECT_TRUE(found->groups.empty());
  ASSERT_EQ(found->files.size(), 1u);
  EXPECT_EQ(found->files[0].path, "");
  EXPECT_EQ(counting.total().lists, 1u);
  EXPECT_EQ(counting.of("labels/zarr.json").opens, 0u);

  const auto labels = FindMembers(counting, nullptr, {"labels/cells"});
  ASSERT_EQ(labels->groups.size(), 1u);
  EXPECT_EQ(labels->groups[0].path, "labels");
  // What is not there, what holds levels, and files.
  for (const char* wrong :
       {"label", "0", "labels/cells/full", "labels/cells/full/0", "mask/c", "README"}) {
    const auto refused = FindMembers(counting, nullptr, {wrong});
    ASSERT_FALSE(refused) << wrong;
    EXPECT_EQ(refused.error().code, ErrorCode::kNotFound);
    EXPECT_NE(refused.error().message.find(wrong), std::string::npos) << refused.error().message;
  }
}

TEST(FindMembers, WhatKilledCopiesAndDocumentsAreIsNoFile) {
  const Walked walked = Walk({{"zarr.json", Pyramid("0")},
                              {"0/zarr.json", kArray},
                              {".zattrs", "{}"},
                              {".zmetadata", "{}"},
                              {"zarr.json.__lock", ""},
                              {"README.new.__lock", ""},
                              {".unshard-probe-1", ""},
                              {".unshard-copy-7-0/3", "chunk"}});
  EXPECT_EQ(walked.datasets(), Paths{""});
  EXPECT_TRUE(walked.members.files.empty());
}

TEST(FindMembers, ObjectsBesideAVolumeAreNotListed) {
  const Walked walked = Walk({{"info", Volume("8_8_8")},
                              {"8_8_8/0-8_0-8_0-8", "chunk"},
                              {"mesh/info", R"({"@type":"neuroglancer_legacy_mesh"})"},
                              {"mesh/1:0:0-8", "mesh"},
                              {"provenance", "{}"}});
  EXPECT_EQ(walked.datasets(), Paths{""});
  EXPECT_EQ(walked.files(FileDirectory::Kind::kObjects), Paths{"mesh"});
  EXPECT_EQ(walked.files(FileDirectory::Kind::kPlain), Paths{""});
  EXPECT_EQ(walked.store->total().lists, 1U);
}

TEST(FindMembers, AStoreThatCannotListHasWhatIsMentionedAndLabels) {
  const Walked walked = Walk(kImage, {.lists = false, .keeps_replaced_versions = false});
  EXPECT_EQ(walked.datasets(), (Paths{"", "labels/cells"}));
  EXPECT_TRUE(walked.members.files.empty());
  EXPECT_TRUE(Walk({{"zarr.json", kGroup}, {"a/zarr.json", kArray}},
                   {.lists = false, .keeps_replaced_versions = false})
                  .members.datasets.empty());
}

TEST(CheckPlaces, NothingOfTheSourceMayLieWhereALevelBelongs) {
  const auto check = [](const Files& more, const std::string& level) {
    Files files = {{"zarr.json", Pyramid("0")}, {"0/zarr.json", kArray}};
    files.insert(more.begin(), more.end());
    const Walked walked = Walk(files);
    return CheckPlaces(*walked.store, walked.members, {{"", level}});
  };
  EXPECT_TRUE(check({}, "0"));
  EXPECT_TRUE(check({{"s0-notes/text", "text"}}, "s0"));
  EXPECT_TRUE(check({{"a/zarr.json", kGroup}, {"a/text", "text"}}, "a/0"));
  EXPECT_FALSE(check({{"s0/zarr.json", kArray}}, "s0"));
  EXPECT_FALSE(check({{"s0/zarr.json", kGroup}}, "s0"));
  EXPECT_FALSE(check({{"s0/a/zarr.json", kArray}}, "s0"));
  EXPECT_FALSE(check({{"s0/deep/text", "text"}}, "s0"));
  EXPECT_FALSE(check({{"s0", "text"}}, "s0"));
  EXPECT_FALSE(check({{"a", "text"}}, "a/0"));
  const Status refused = check({{"a/zarr.json", kArray}}, "a/0");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(refused.error().message.find("memory:a/0: "), std::string::npos);
}

TEST(LossesOf, PrecomputedObjectsGoOnlyBesideVolumesAndAttributesOfGroupsNowhereThere) {
  const Walked volume = Walk({{"info", Volume("8_8_8")}, {"mesh/info", R"({"@type":"x"})"}});
  const Walked image = Walk(kImage);
  const FormatsByPath precomputed(volume.members.datasets), zarr(image.members.datasets);
  EXPECT_TRUE(LossesOf(*volume.store, volume.members, precomputed).empty());
  EXPECT_EQ(FilesToCopy(volume.members, precomputed).size(), 1U);
  EXPECT_EQ(LossesOf(*volume.store, volume.members, zarr).size(), 1U);
  EXPECT_TRUE(FilesToCopy(volume.members, zarr).empty());
  EXPECT_TRUE(LossesOf(*image.store, image.members, zarr).empty());
  const auto losses = LossesOf(*image.store, image.members, precomputed);
  ASSERT_EQ(losses.size(), 1U);
  EXPECT_TRUE(losses.front().ends_with("not copied: labels: labels")) << losses.front();
}

}  // namespace
}  // namespace unshard
