#include "fs/tree/node_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <new>
#include <thread>

#include "fs/tree/name.h"
#include "fs/tree/superblock.h"

namespace unshard {
namespace {

// A file or directory of the source. The table asks nodes for nothing else; the superblock is never
// touched.
class SourceNode : public Directory {
 public:
  SourceNode(Superblock& superblock, NodeId id, std::string path, bool directory)
      : Directory(superblock, id, StableInode(path)),
        path_(std::move(path)),
        directory_(directory) {}
  std::string Path() const override { return path_; }
  Directory* directory() override { return directory_ ? this : nullptr; }
  std::optional<std::string> SourcePath() const override { return path_; }
  NodePtr MovedTo(const std::string& path) override {
    if (directory_) return std::make_shared<SourceNode>(superblock(), id(), path, true);
    path_ = path;
    return nullptr;
  }
  Result<std::unique_ptr<Name>> Find(std::string_view) override { return NamePtr(); }
  Status List(const Listing&) override { return {}; }
  bool ListingIsKept() const override { return false; }

 protected:
  Result<Entry> Stat() override { return Entry{}; }

 private:
  std::string path_;
  const bool directory_;
};

// A node that stands for nothing in the source.
class OtherNode : public SourceNode {
 public:
  using SourceNode::SourceNode;
  std::optional<std::string> SourcePath() const override { return std::nullopt; }
};

class NodeTableTest : public testing::Test {
 protected:
  NodeTableTest() { ReferDirectory(""); }

  NodePtr ReferDirectory(const std::string& path) {
    return Refer<SourceNode>(NodeTable::DirectoryIdentity(path), path, true);
  }
  NodePtr ReferFile(const std::string& path, const std::string& tag) {
    return Refer<SourceNode>("f:" + path + '\n' + tag, path, false);
  }
  template <class Kind>
  NodePtr Refer(const std::string& identity, const std::string& path, bool directory) {
    return table_.Refer(identity, [&](NodeId id) {
      return std::make_shared<Kind>(NoSuperblock(), id, path, directory);
    });
  }
  static Superblock& NoSuperblock() {
    alignas(Superblock) static std::byte storage[sizeof(Superblock)];
    return reinterpret_cast<Superblock&>(storage);
  }

  NodeTable table_;
};

TEST_F(NodeTableTest, TheRootIsAlwaysThere) {
  table_.Forget(kRootNode, 1000);
  ASSERT_TRUE(table_.Get(kRootNode));
  EXPECT_EQ(table_.Find("d:"), kRootNode);
  EXPECT_EQ(table_.Get(kRootNode)->SourcePath(), "");
}

TEST_F(NodeTableTest, ANodeLivesAsLongAsItIsReferredTo) {
  const NodeId id = ReferDirectory("a")->id();
  EXPECT_EQ(ReferDirectory("a")->id(), id);
  EXPECT_TRUE(table_.ReferAgain(id));
  table_.Forget(id, 2);
  EXPECT_TRUE(table_.Get(id));
  table_.Forget(id, 1);
  EXPECT_FALSE(table_.Get(id));
  EXPECT_FALSE(table_.Find("d:a"));
  EXPECT_FALSE(table_.ReferAgain(id));
  EXPECT_EQ(table_.size(), 1u) << "the root";
  table_.Forget(id, 1);
  EXPECT_EQ(table_.size(), 1u) << "once more changes nothing";
}

TEST_F(NodeTableTest, ANodeThatCouldNotBeMadeIsMadeByTheNextLookUp) {
  const auto fail = [](NodeId) -> NodePtr { throw std::bad_alloc(); };
  EXPECT_THROW(table_.Refer(NodeTable::DirectoryIdentity("a"), fail), std::bad_alloc);
  EXPECT_FALSE(table_.Find("d:a"));
  const NodePtr made = ReferDirectory("a");
  ASSERT_TRUE(made);
  EXPECT_EQ(table_.Find("d:a"), made->id());
  EXPECT_TRUE(table_.Forget(made->id(), 1));
  EXPECT_EQ(table_.size(), 1u) << "the root";
}

TEST_F(NodeTableTest, NodesOfTheControlDirectoryAreKnownByTheirNumbers) {
  const auto make = [](NodeId id) {
    return std::make_shared<OtherNode>(NoSuperblock(), id, ".unshard", true);
  };
  const NodeId control = table_.ReferControl("control", make)->id();
  const NodeId other = ReferFile("a", "1")->id();
  EXPECT_TRUE(IsControlNode(control));
  EXPECT_FALSE(IsControlNode(other));
  EXPECT_FALSE(IsControlNode(kRootNode));
  EXPECT_FALSE(IsControlNode(*PackGridNode({kMaxTrees - 1, 1, 0})));
  EXPECT_EQ(table_.ReferControl("control", make)->id(), control);
  EXPECT_FALSE(table_.Forget(control, 1));
  EXPECT_TRUE(table_.Forget(control, 1));
  EXPECT_EQ(table_.Get(control), nullptr);
}

TEST_F(NodeTableTest, AnIdIsNeverUsedAgain) {
  const NodeId first = ReferFile("a", "tag1")->id();
  EXPECT_NE(ReferFile("a", "tag2")->id(), first) << "another generation";
  table_.Forget(first, 1);
  EXPECT_NE(ReferFile("a", "tag1")->id(), first);
}

TEST_F(NodeTableTest, SourcePathsAreThoseOfDirectoriesAndFiles) {
  ReferDirectory("a");
  ReferFile("a/x", "tag");
  Refer<OtherNode>("m:a/info", "a/info", false);
  auto paths = table_.SourcePaths();
  std::sort(paths.begin(), paths.end());
  EXPECT_EQ(paths, (std::vector<std::string>{"", "a", "a/x"}));
}

TEST_F(NodeTableTest, ARenamedDirectoryTakesTheNodesBelowAlong) {
  const auto refer = [&](const std::string& path) { return ReferDirectory(path)->id(); };
  const NodeId moved = refer("a"), below = refer("a/b"), beside = refer("ab"),
               replaced = refer("z");
  const NodeId file = ReferFile("a/x", "tag")->id();
  auto paths = table_.Move("a", "z");
  std::sort(paths.begin(), paths.end());
  EXPECT_EQ(paths, (std::vector<std::string>{"z", "z/b"}));
  EXPECT_EQ(refer("z"), moved);
  EXPECT_EQ(refer("z/b"), below);
  EXPECT_EQ(refer("ab"), beside);
  EXPECT_NE(refer("a"), moved);
  EXPECT_EQ(table_.Get(moved)->SourcePath(), "z");
  EXPECT_EQ(table_.Get(below)->SourcePath(), "z/b");
  EXPECT_EQ(table_.Get(file)->SourcePath(), "z/x");
  // What stood there before is gone, though somebody may have it open.
  EXPECT_TRUE(table_.Get(replaced));
  table_.Forget(replaced, 1);
  EXPECT_EQ(table_.Find("d:z"), moved);
}

TEST_F(NodeTableTest, WhatIsMadeInThePlaceOfWhatWasRemovedHasANodeOfItsOwn) {
  const NodeId removed = ReferDirectory("a")->id();
  table_.Disown("d:a");
  const NodeId made = ReferDirectory("a")->id();
  EXPECT_NE(made, removed);
  table_.Forget(removed, 1);
  EXPECT_EQ(table_.Find("d:a"), made);
  EXPECT_EQ(table_.Move("a", "b"), std::vector<std::string>{"b"});
}

TEST_F(NodeTableTest, ReferencesBalanceUnderManyThreads) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 2000; ++i) {
        const NodePtr node = ReferDirectory("d" + std::to_string(i % 5));
        EXPECT_TRUE(table_.Get(node->id()));
        table_.Forget(node->id(), 1);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(table_.size(), 1u);
}

}  // namespace
}  // namespace unshard
