// Searching a source for datasets: how far, and what a look into one directory touches.
#include "store/dataset/dataset_tree.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>

#include "tests/support/counting_store.h"
#include "tests/support/memory_store.h"
#include "tests/support/sharded_source.h"

namespace unshard {
namespace {

const ShardedSource& Flat() {
  static const ShardedSource source = ZarrSource({8}, {1}, {4}, {ChunkKeyEncoding::Kind::kV2, '.'});
  return source;
}

class DatasetTreeTest : public testing::Test {
 protected:
  DatasetTree Make(std::size_t max_directories = kSearchedAhead) {
    DatasetTreeOptions options;
    options.max_directories = max_directories;
    return {store_, nullptr, std::make_shared<IndexCache>(std::uint64_t{1} << 20), nullptr,
            options};
  }
  std::shared_ptr<MemoryStore> store_ = std::make_shared<MemoryStore>();
};

TEST_F(DatasetTreeTest, ASourceThatIsNotSearchedToItsEndIsNotRefused) {
  for (const char* name : {"a", "b", "c"}) store_->Put(std::string(name) + "/notes", "text");
  store_->Put("d/array/zarr.json", Flat().document);
  DatasetTree tree = Make(3);
  const Status found = tree.Discover();
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_TRUE(tree.found().empty());
  ASSERT_TRUE(tree.Find("d/array"));
  EXPECT_EQ(tree.Find("d/array")->trees.size(), 1u);
  EXPECT_EQ(tree.found().size(), 1u);
}

TEST_F(DatasetTreeTest, ASourceThatWasSearchedToItsEndIsRefusedWithoutADataset) {
  store_->Put("a/notes", "text");
  DatasetTree tree = Make();
  const Status found = tree.Discover();
  ASSERT_FALSE(found);
  EXPECT_NE(found.error().message.find("in 2 directories"), std::string::npos);
}

TEST_F(DatasetTreeTest, ALookIntoOneDirectoryLeavesWhatIsKnownOfOthersAsItIs) {
  store_->Put("zarr.json", R"({"zarr_format":3,"node_type":"group"})");
  store_->Put("a/zarr.json", Flat().document);
  store_->Put("b/zarr.json", Flat().document);
  DatasetTree tree = Make(2);
  ASSERT_TRUE(tree.Discover());
  const auto root = tree.Find("");
  const auto a = tree.Find("a");
  ASSERT_TRUE(root && a);
  ASSERT_TRUE(tree.Find("b"));
  EXPECT_EQ(tree.Find(""), root) << "made anew for each array below, mounting would be quadratic";
  EXPECT_EQ(tree.Find("a"), a);
  tree.Reload("b");
  EXPECT_EQ(tree.Find(""), root);
}

TEST_F(DatasetTreeTest, TreesAreFoundByWhatIsNearThem) {
  for (const char* name : {"a", "a.b", "ab", "c/d"}) {
    store_->Put(std::string(name) + "/zarr.json", Flat().document);
  }
  DatasetTree tree = Make();
  ASSERT_TRUE(tree.Discover());
  const auto near = [&](const std::string& key) {
    std::set<std::string> directories;
    for (const auto& one : tree.index().TreesNear(key)) directories.insert(one->directory());
    return directories;
  };
  using Names = std::set<std::string>;
  EXPECT_EQ(near("a/0"), Names{"a"});
  EXPECT_EQ(near("a"), Names{"a"});
  EXPECT_EQ(near("c"), Names{"c/d"});
  EXPECT_EQ(near("c/e"), Names{});
  EXPECT_EQ(near(""), (Names{"a", "a.b", "ab", "c/d"}));
  EXPECT_TRUE(tree.index().ServesTreesIn("c"));
  store_->Remove("c/d/zarr.json");
  tree.Reload("c/d");
  EXPECT_FALSE(tree.index().ServesTreesIn("c"));
}

TEST_F(DatasetTreeTest, WhatIsPrecomputedWithoutShardsIsADataset) {
  for (const char* type : {"neuroglancer_legacy_mesh", "neuroglancer_segment_properties"}) {
    store_->Put("info", R"({"@type":")" + std::string(type) + "\"}");
    DatasetTree tree = Make();
    const Status found = tree.Discover();
    ASSERT_TRUE(found) << found.error().message;
    EXPECT_EQ(tree.found().size(), 1u);
  }
}

TEST_F(DatasetTreeTest, OnlyAFileIsADocument) {
  store_->Put("zarr.json", R"({"zarr_format":3,"node_type":"group"})");
  store_->Put("info/zarr.json", Flat().document);
  store_->Put("zarr.json.d/zarr.json/zarr.json", Flat().document);
  DatasetTree tree = Make();
  const Status found = tree.Discover();
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_FALSE(tree.Find("")->fault);
  ASSERT_TRUE(tree.Find("info"));
  EXPECT_EQ(tree.Find("info")->trees.size(), 1u);
  ASSERT_TRUE(tree.Find("zarr.json.d/zarr.json"));
  EXPECT_EQ(tree.Find("zarr.json.d/zarr.json")->trees.size(), 1u);
}

TEST_F(DatasetTreeTest, ATreeStaysWhileItsChunksAreStoredAsBefore) {
  ShardingSpec spec;
  const ShardedSource volume = PrecomputedSource({8, 4, 4}, {4, 4, 4}, spec);
  store_->Put("info", volume.document);
  DatasetTree tree = Make();
  ASSERT_TRUE(tree.Discover());
  const auto before = tree.Find("8_8_8")->trees;
  ASSERT_EQ(before.size(), 1u);
  std::string more = volume.document;
  more.insert(more.find("\"scales\":[") + 10,
              R"({"key":"4_4_4","size":[16,8,8],"chunk_sizes":[[4,4,4]],"encoding":"raw",)"
              R"("resolution":[4,4,4]},)");
  store_->Put("info", more);
  tree.Reload("");
  EXPECT_EQ(tree.Find("8_8_8")->trees, before) << "another scale came";
  EXPECT_TRUE(tree.TakeChange(""));
  EXPECT_FALSE(tree.TakeChange(""));
  EXPECT_FALSE(before.front()->retired());
  store_->Put("info", PrecomputedSource({8, 8, 4}, {4, 4, 4}, spec).document);
  EXPECT_FALSE(tree.Serves(*before.front()).value());
  EXPECT_TRUE(before.front()->retired());
  EXPECT_EQ(tree.index().SuccessorOf(*before.front()), nullptr) << "ids follow the size";
}

// The watcher's thread has read a document that is replaced before its result stands.
TEST_F(DatasetTreeTest, WhatWasReadEarlierNeverReplacesWhatWasReadLater) {
  using std::chrono::milliseconds;
  const auto counting = std::make_shared<CountingStore>(store_);
  store_->Put("zarr.json", R"({"zarr_format":3,"node_type":"group"})");
  store_->Put("a/zarr.json", Flat().document);
  DatasetTree tree(counting, nullptr, std::make_shared<IndexCache>(std::uint64_t{1} << 20), nullptr,
                   {});
  ASSERT_TRUE(tree.Discover());
  store_->Remove("a/zarr.json");
  std::promise<void> has_read;
  std::promise<void> go_on;
  std::atomic<bool> pause = true;
  // After zarr.json was found missing, .zarray is asked for.
  counting->OnOpen([&](std::string_view key) {
    if (key != "a/.zarray" || !pause.exchange(false)) return;
    has_read.set_value();
    go_on.get_future().wait_for(milliseconds(10000));
  });
  auto earlier = std::async(std::launch::async, [&] { tree.Reload("a"); });
  has_read.get_future().wait();
  store_->Put("a/zarr.json", Flat().document);
  auto later = std::async(std::launch::async, [&] { tree.Reload("a"); });
  later.wait_for(milliseconds(200));  // for ever, where it waits for the earlier one
  go_on.set_value();
  earlier.get();
  later.get();
  ASSERT_TRUE(tree.Find("a"));
  EXPECT_EQ(tree.Find("a")->trees.size(), 1u);
}

}  // namespace
}  // namespace unshard
