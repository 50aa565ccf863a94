// What is in the spool, as listings and look-ups of directories ask for it.
#include "store/chunks/committed_versions.h"

#include <gtest/gtest.h>

#include "store/chunks/zarr_tree.h"
#include "tests/support/memory_store.h"
#include "tests/support/sharded_source.h"

namespace unshard {
namespace {

class CommittedVersionsTest : public testing::Test {
 protected:
  CommittedVersionsTest() {
    const ShardedSource source = ZarrSource({8, 8, 8}, {1, 1, 1}, {4, 4, 4});
    const auto store = std::make_shared<MemoryStore>();
    const auto shards =
        std::make_shared<ShardSet>(store, "a", source.format, source.keys, nullptr,
                                   std::make_shared<IndexCache>(1 << 20), ShardSetOptions{});
    tree_ = MakeZarrTree(3, shards, nullptr, *source.zarr, store);
  }
  ChunkTree::Match At(const std::string& path) const {
    ChunkTree::Match match;
    for (std::size_t begin = 0; begin <= path.size();) {
      const std::size_t end = std::min(path.find('/', begin), path.size());
      match = tree_->Resolve(match.directory, path.substr(begin, end - begin));
      begin = end + 1;
    }
    return match;
  }
  WrittenVersionPtr Commit(const std::string& path, bool removed = false) {
    WrittenVersionPtr version = Sealed(path, removed);
    written_.Replace(version);
    return version;
  }
  // On its way to become the latest.
  WrittenVersionPtr Sealed(const std::string& path, bool removed = false) {
    auto version = std::make_shared<WrittenVersion>();
    version->tree = tree_;
    version->chunk = At(path).chunk;
    version->number = ++last_;
    version->removed = removed;
    version->spooled = SpooledChunk{};
    version->spooled->sequence = last_;
    return version;
  }
  bool Holds(const std::string& path) const {
    return written_.HoldsChunks(tree_->ordinal(), At(path).directory);
  }

  std::shared_ptr<ChunkTree> tree_;
  CommittedVersions written_;
  std::uint64_t last_ = 0;
};

TEST_F(CommittedVersionsTest, ADirectoryHoldsWhatIsInTheSpoolInItAndBelow) {
  EXPECT_FALSE(Holds("c"));
  const WrittenVersionPtr version = Commit("c/5/6/7");
  Commit("c/5/6/0");
  EXPECT_TRUE(Holds("c") && Holds("c/5") && Holds("c/5/6"));
  EXPECT_FALSE(Holds("c/6") || Holds("c/5/5") || Holds("c/4/6"));
  EXPECT_FALSE(written_.HoldsChunks(4, At("c/5").directory)) << "another tree";
  Commit("c/5/6/0", true);
  EXPECT_TRUE(Holds("c/5/6"));
  Commit("c/5/6/7", true);
  EXPECT_FALSE(Holds("c/5/6") || Holds("c")) << "removals are no chunks";
}

TEST_F(CommittedVersionsTest, WhatIsPublishedIsForTheStoreToShow) {
  const WrittenVersionPtr version = Commit("c/5/6/7");
  const auto publishing = written_.BeginPublish({tree_->ordinal(), version->chunk.slot.shard});
  EXPECT_TRUE(Holds("c/5/6"));
  const WrittenVersionPtr later = Commit("c/5/6/7");
  written_.EndPublish(publishing);
  EXPECT_TRUE(Holds("c/5/6")) << "its successor is in the spool";
  written_.EndPublish(written_.BeginPublish({tree_->ordinal(), version->chunk.slot.shard}));
  EXPECT_FALSE(Holds("c/5/6") || Holds("c"));
  EXPECT_EQ(written_.Find(ChunkId::Of(*tree_, version->chunk)), later);
}

TEST_F(CommittedVersionsTest, ADirectoryKnowsWhatOfItIsNotDurableYet) {
  const GridDirectory in = At("c/5/6").directory;
  EXPECT_TRUE(written_.Unsynced(*tree_, in).empty());
  const WrittenVersionPtr first = Commit("c/5/6/7");
  const WrittenVersionPtr second = Commit("c/5/6/6", true);
  Commit("c/5/5/6");
  EXPECT_EQ(written_.Unsynced(*tree_, in).size(), 2U);
  written_.MarkSynced(*first);
  EXPECT_EQ(written_.Unsynced(*tree_, in), std::vector<WrittenVersionPtr>{second});
  const WrittenVersionPtr again = Commit("c/5/6/6");
  EXPECT_EQ(written_.Unsynced(*tree_, in), std::vector<WrittenVersionPtr>{again});
  written_.EndPublish(written_.BeginPublish({tree_->ordinal(), again->chunk.slot.shard}));
  EXPECT_TRUE(written_.Unsynced(*tree_, in).empty()) << "published, and with that durable";
  const WrittenVersionPtr withdrawn = Commit("c/5/6/6");
  written_.Withdraw({withdrawn});
  EXPECT_TRUE(written_.Unsynced(*tree_, in).empty());
}

TEST_F(CommittedVersionsTest, AVersionThatCameLateDoesNotReplaceALaterOneThatIsPublished) {
  const WrittenVersionPtr earlier = Sealed("c/5/6/7");
  const WrittenVersionPtr later = Commit("c/5/6/7");
  written_.EndPublish(written_.BeginPublish({tree_->ordinal(), later->chunk.slot.shard}));
  const auto replaced = written_.Replace(earlier);
  ASSERT_TRUE(replaced.discard);
  EXPECT_EQ(replaced.discard->chunk.sequence, 1U);
  EXPECT_EQ(replaced.chunks, 0);
  EXPECT_EQ(written_.Find(ChunkId::Of(*tree_, later->chunk)), later);
  EXPECT_FALSE(Holds("c"));
}

TEST_F(CommittedVersionsTest, WhatIsWithdrawnIsForTheStoreToShowAndKept) {
  const WrittenVersionPtr first = Commit("c/5/6/7");
  const WrittenVersionPtr second = Commit("c/5/6/6");
  const auto publishing = written_.BeginPublish({tree_->ordinal(), first->chunk.slot.shard});
  const WrittenVersionPtr again = Commit("c/5/6/6");
  const auto withdrawn = written_.Withdraw(publishing);
  ASSERT_EQ(withdrawn.keep.size(), 1U);
  EXPECT_EQ(withdrawn.keep[0].chunk.sequence, 1U);
  ASSERT_EQ(withdrawn.discard.size(), 1U);
  EXPECT_EQ(withdrawn.discard[0].chunk.sequence, 2U);
  EXPECT_EQ(written_.Find(ChunkId::Of(*tree_, first->chunk)), nullptr);
  EXPECT_EQ(written_.Find(ChunkId::Of(*tree_, again->chunk)), again);
}

}  // namespace
}  // namespace unshard
