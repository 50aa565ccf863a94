#include "fs/node_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "fs/shard_lister.h"
#include "tests/support/counting_store.h"
#include "tests/support/memory_store.h"

namespace unshard {
namespace {

TEST(NodeTableTest, TheRootIsAlwaysThere) {
  NodeTable table;
  table.Forget(kRootNode, 1000);
  ASSERT_TRUE(table.Get(kRootNode));
  EXPECT_EQ(table.Get(kRootNode)->inode, kRootNode);
  EXPECT_EQ(table.Find("d:"), kRootNode);
  EXPECT_TRUE(std::get<DirectoryTarget>(table.Get(kRootNode)->target).path.empty());
}

TEST(NodeTableTest, ANodeLivesAsLongAsItIsReferredTo) {
  NodeTable table;
  const NodeId id = table.Refer("d:a", "d:a", DirectoryTarget{"a"})->id;
  EXPECT_EQ(table.Refer("d:a", "d:a", DirectoryTarget{"a"})->id, id);
  EXPECT_EQ(table.Refer("d:a", "d:a", DirectoryTarget{"a"})->id, id);
  table.Forget(id, 2);
  EXPECT_TRUE(table.Get(id));
  table.Forget(id, 1);
  EXPECT_FALSE(table.Get(id));
  EXPECT_FALSE(table.Find("d:a"));
  EXPECT_EQ(table.size(), 1u) << "the root";
  table.Forget(id, 1);
  EXPECT_EQ(table.size(), 1u) << "once more changes nothing";
}

TEST(NodeTableTest, AnIdIsNeverUsedAgainAndTheInodeStays) {
  NodeTable table;
  const auto first = table.Refer("f:a\ntag1", "f:a", FileTarget{"a", {}});
  const auto second = table.Refer("f:a\ntag2", "f:a", FileTarget{"a", {}});
  EXPECT_NE(first->id, second->id) << "another generation";
  EXPECT_EQ(first->inode, second->inode);
  table.Forget(first->id, 1);
  const auto third = table.Refer("f:a\ntag1", "f:a", FileTarget{"a", {}});
  EXPECT_NE(third->id, first->id);
  EXPECT_EQ(third->inode, first->inode);
}

TEST(NodeTableTest, SourcePathsAreThoseOfDirectoriesAndFiles) {
  NodeTable table;
  table.Refer("d:a", "d:a", DirectoryTarget{"a"});
  table.Refer("f:a/x", "f:a/x", FileTarget{"a/x", {}});
  table.Refer("m:a/info", "f:a/info", DocumentTarget{"a/info", nullptr, {}, false});
  auto paths = table.SourcePaths();
  std::sort(paths.begin(), paths.end());
  EXPECT_EQ(paths, (std::vector<std::string>{"", "a", "a/x"}));
}

TEST(NodeTableTest, ReferencesBalanceUnderManyThreads) {
  NodeTable table;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 2000; ++i) {
        const std::string path = "d" + std::to_string(i % 5);
        const auto node = table.Refer("d:" + path, "d:" + path, DirectoryTarget{path});
        EXPECT_TRUE(table.Get(node->id));
        table.Forget(node->id, 1);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(table.size(), 1u);
}

std::optional<std::uint64_t> Number(std::string_view name) {
  if (name.empty() || name.find_first_not_of("0123456789") != std::string_view::npos) return {};
  return std::stoull(std::string(name));
}

class ShardListerTest : public testing::Test {
 protected:
  std::vector<std::uint64_t> List(const std::string& directory, bool fresh) {
    const auto numbers = lister_.List(directory, Number, fresh);
    EXPECT_TRUE(numbers);
    return numbers ? **numbers : std::vector<std::uint64_t>();
  }
  std::shared_ptr<MemoryStore> memory_ = std::make_shared<MemoryStore>();
  std::shared_ptr<CountingStore> store_ = std::make_shared<CountingStore>(memory_);
  ShardLister lister_{store_};
};

TEST_F(ShardListerTest, NumbersAreSortedAndOtherNamesLeftOut) {
  for (const char* key : {"a/10", "a/9", "a/info", "a/010", "b/1"}) memory_->Put(key, "x");
  EXPECT_EQ(List("a", true), (std::vector<std::uint64_t>{9, 10})) << "each number once";
  EXPECT_EQ(List("missing", true), std::vector<std::uint64_t>());
}

TEST_F(ShardListerTest, TheStoreIsAskedOncePerListing) {
  memory_->Put("a/1", "x");
  List("a", true);
  memory_->Put("a/2", "x");
  EXPECT_EQ(List("a", false), std::vector<std::uint64_t>{1});
  EXPECT_EQ(store_->total().lists, 1u);
  EXPECT_EQ(List("a", true), (std::vector<std::uint64_t>{1, 2}));
  EXPECT_EQ(store_->total().lists, 2u);
}

TEST_F(ShardListerTest, WhatIsForgottenIsReadAnew) {
  memory_->Put("a/1", "x");
  List("a", true);
  memory_->Put("a/2", "x");
  lister_.Forget();
  EXPECT_EQ(List("a", false), (std::vector<std::uint64_t>{1, 2}));
}

TEST_F(ShardListerTest, OnlyTheLastFewDirectoriesAreRemembered) {
  for (int i = 0; i < 65; ++i) memory_->Put("d" + std::to_string(i) + "/1", "x");
  for (int i = 0; i < 65; ++i) List("d" + std::to_string(i), true);
  store_->Reset();
  List("d64", false);
  EXPECT_EQ(store_->total().lists, 0u);
  List("d0", false);
  EXPECT_EQ(store_->total().lists, 1u);
}

}  // namespace
}  // namespace unshard
