#include "fs/node_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

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

TEST(NodeTableTest, ARenamedDirectoryTakesTheNodesBelowAlong) {
  NodeTable table;
  const auto refer = [&](const std::string& path) {
    return table.Refer("d:" + path, "d:" + path, DirectoryTarget{path})->id;
  };
  const NodeId moved = refer("a"), below = refer("a/b"), beside = refer("ab"),
               replaced = refer("z");
  const NodeId file = table.Refer("i:1:2", 12, LiveFileTarget{"a/x"})->id;
  {
    const auto node = table.Get(file);
    const std::lock_guard lock(node->mutex);
    node->live_path = "a/x";
  }
  const auto opaque = [](const std::string& path) { return path == "z/b"; };
  auto paths = table.Move("a", "z", opaque);
  std::sort(paths.begin(), paths.end());
  EXPECT_EQ(paths, (std::vector<std::string>{"z", "z/b"}));
  EXPECT_EQ(refer("z"), moved);
  EXPECT_EQ(refer("z/b"), below);
  EXPECT_EQ(refer("ab"), beside);
  EXPECT_NE(refer("a"), moved);
  EXPECT_NE(table.Get(moved)->inode, table.Get(*table.Find("d:a"))->inode);
  EXPECT_EQ(table.Get(moved)->inode, StableInode("d:z")) << "as in listings";
  EXPECT_FALSE(std::get<DirectoryTarget>(table.Get(moved)->target).opaque);
  EXPECT_TRUE(std::get<DirectoryTarget>(table.Get(below)->target).opaque);
  EXPECT_EQ(table.Get(file)->live_path, "z/x");
  // What stood there before is gone, though somebody may have it open.
  EXPECT_TRUE(table.Get(replaced));
  table.Forget(replaced, 1);
  EXPECT_EQ(table.Find("d:z"), moved);
}

TEST(NodeTableTest, WhatIsMadeInThePlaceOfWhatWasRemovedHasANodeOfItsOwn) {
  NodeTable table;
  const NodeId removed = table.Refer("d:a", "d:a", DirectoryTarget{"a"})->id;
  table.Disown("d:a");
  const NodeId made = table.Refer("d:a", "d:a", DirectoryTarget{"a"})->id;
  EXPECT_NE(made, removed);
  table.Forget(removed, 1);
  EXPECT_EQ(table.Find("d:a"), made);
  EXPECT_EQ(table.Move("a", "b", [](const std::string&) { return false; }),
            std::vector<std::string>{"b"});
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

}  // namespace
}  // namespace unshard
