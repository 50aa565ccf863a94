// What the next mount makes of each chunk that it finds in a spool.
#include "store/volume/spool_replay.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "tests/support/writing_parts.h"

namespace unshard {
namespace {

// Forwards everything except MakeDurable().
class NeverDurable final : public ObjectReplacer {
 public:
  explicit NeverDurable(ObjectReplacer& below) : below_(below) {}
  Status CanReplace(const std::string& key) override { return below_.CanReplace(key); }
  Result<std::unique_ptr<ObjectReplacement>> Begin(const ReplacedObject& object,
                                                   const Deadline& stop) override {
    return below_.Begin(object, stop);
  }
  Status MakeDurable(const std::string&) override {
    return Fail(ErrorCode::kUnavailable, "test: not durable");
  }
  std::string Describe(const std::string& key) const override { return below_.Describe(key); }

 private:
  ObjectReplacer& below_;
};

class SpoolReplayTest : public WritingParts {
 protected:
  void Replay(ObjectReplacer& replacer, const std::string& root = {}) {
    SpoolReplay(replacer, *parts_->datasets, parts_->checks, parts_->current, parts_->versions,
                *parts_->attempts, nullptr, root)
        .Run({parts_->spool});
  }
  // As the next mount does.
  void ReplayAnew() {
    Restart();
    Replay(*replacer_);
  }
  // A chunk as an earlier mount left it, with terms that Commit() does not give.
  void Seal(const std::string& chunk, std::string_view text, const SealTerms& terms,
            const std::string& dataset = "a") {
    const auto staged = Staged(text);
    ASSERT_TRUE(staged);
    const auto sealed = parts_->spool->Seal(staged->get(), dataset, chunk, terms);
    ASSERT_TRUE(sealed) << sealed.error().message;
  }
  ChunkFingerprint StoredPrint(const std::string& path) {
    return parts_->current.StoredFingerprint(Chunk(path).tree, Chunk(path).chunk)->fingerprint;
  }
};

TEST_F(SpoolReplayTest, WhatWasNotPublishedIsSeenAndDirtyAgain) {
  ASSERT_TRUE(Commit("a/0", "x"));
  ASSERT_TRUE(Commit("a/0", "y"));
  ASSERT_TRUE(Commit("a/5", "z"));
  ASSERT_TRUE(Remove("a/1"));
  ReplayAnew();
  EXPECT_EQ(Current("a/0") + Current("a/1") + Current("a/5"), "y-z");
  EXPECT_EQ(parts_->versions.adopted(), 3u);
  EXPECT_EQ(parts_->dirty.size(), 3u);
  ASSERT_TRUE(Publish("a/0"));
  EXPECT_EQ(Stored("a/0") + Stored("a/1"), "y-");
}

TEST_F(SpoolReplayTest, TheStoreIsAskedForSeveralChunksAtATime) {
  ASSERT_TRUE(Commit("a/0", "x"));
  ASSERT_TRUE(Commit("a/1", "y"));
  Restart();
  memory_->HoldReads();
  std::size_t most = 0;
  std::thread answers([&] {
    for (int i = 0; i < 1000 && most < 2; ++i) {
      most = std::max(most, memory_->held_reads());
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    memory_->ReleaseReads();
  });
  Replay(*replacer_);
  answers.join();
  EXPECT_EQ(most, 2u);
  EXPECT_EQ(Current("a/0") + Current("a/1"), "xy");
}

TEST_F(SpoolReplayTest, WhatTheShardHasAlreadyIsDiscardedOnceThatIsDurable) {
  ASSERT_TRUE(Commit("a/0", "x"));
  ASSERT_TRUE(Remove("a/1"));
  PutShard({{0, "x"}});
  Restart();
  NeverDurable never(*replacer_);
  Replay(never);
  EXPECT_EQ(Spooled(), "a/0 a/1");
  EXPECT_TRUE(parts_->dirty.empty());
  ReplayAnew();
  EXPECT_EQ(Spooled(), "");
  EXPECT_EQ(parts_->versions.adopted(), 0u);
  EXPECT_EQ(Current("a/0") + Current("a/1"), "x-");
}

TEST_F(SpoolReplayTest, WhatAnotherProcessHasChangedIsQuarantined) {
  ASSERT_TRUE(Commit("a/0", "x"));
  ASSERT_TRUE(Commit("a/1", "y"));
  PutShard({{0, "o"}, {1, "b"}});
  ReplayAnew();
  EXPECT_EQ(Quarantined(), "a/0");
  EXPECT_EQ(Current("a/0") + Current("a/1"), "oy");
}

TEST_F(SpoolReplayTest, WhatAnotherProcessChangesWhileItWaitsIsQuarantined) {
  ASSERT_TRUE(Commit("a/0", "x"));
  ASSERT_TRUE(Commit("a/1", "y"));
  ReplayAnew();
  PutShard({{0, "o"}, {1, "b"}});
  EXPECT_FALSE(Publish("a/0"));
  EXPECT_EQ(Quarantined(), "a/0");
  EXPECT_EQ(Stored("a/0") + Stored("a/1"), "oy");
  EXPECT_EQ(Current("a/0") + Current("a/1"), "oy");
}

// The last one to publish wins again.
TEST_F(SpoolReplayTest, WhatIsCommittedOverItIsOfThisMount) {
  ASSERT_TRUE(Commit("a/0", "x"));
  ReplayAnew();
  ASSERT_TRUE(Commit("a/0", "z"));
  PutShard({{0, "o"}, {1, "b"}});
  EXPECT_TRUE(Publish("a/0"));
  EXPECT_EQ(Quarantined(), "");
  EXPECT_EQ(Stored("a/0"), "z");
}

TEST_F(SpoolReplayTest, TheVersionBeforeMayHaveBeenPublishedMeanwhile) {
  ASSERT_TRUE(Commit("a/0", "x"));
  const auto publishing = parts_->written->BeginPublish(ShardOf("a/0"));
  ASSERT_TRUE(Commit("a/0", "y"));
  PutShard({{0, "x"}, {1, "b"}});  // and with that this process is killed
  ReplayAnew();
  EXPECT_EQ(Quarantined(), "");
  EXPECT_EQ(Current("a/0"), "y");
}

// The shard has been replaced by a publish that failed after that, or may have been.
TEST_F(SpoolReplayTest, WhatAFailedPublishHasPutIsNoChangeByOthers) {
  using Lost = MemoryReplacer::Lost;
  ASSERT_TRUE(Commit("a/0", "x"));
  replacer_->LoseNext(Lost::kDurability);
  ASSERT_FALSE(Publish("a/0"));
  ASSERT_TRUE(Commit("a/0", "y"));
  const auto publishing = parts_->written->BeginPublish(ShardOf("a/0"));
  ASSERT_TRUE(Commit("a/0", "z"));
  ReplayAnew();
  EXPECT_EQ(Quarantined() + Current("a/0"), "z");
  ASSERT_TRUE(Publish("a/0"));
  EXPECT_EQ(parts_->publishing.counters().conflicts, 0u);
  ASSERT_TRUE(Commit("a/1", "x"));
  replacer_->LoseNext(Lost::kAnswer);
  ASSERT_FALSE(Publish("a/1"));
  ASSERT_TRUE(Commit("a/1", "y"));
  ASSERT_TRUE(Commit("a/1", "z"));
  ReplayAnew();
  EXPECT_EQ(Quarantined() + Current("a/1"), "z");
}

// The request of a process that was killed arrives once the next one has looked at the store, and
// committed the chunk again.
TEST_F(SpoolReplayTest, WhatAnEarlierMountHadUnderWayIsNoChangeByOthers) {
  ASSERT_TRUE(Commit("a/0", "x"));
  replacer_->LoseNext(MemoryReplacer::Lost::kRequest);
  ASSERT_FALSE(Publish("a/0"));
  ReplayAnew();
  ASSERT_TRUE(Commit("a/0", "y"));
  PutShard({{0, "x"}, {1, "b"}});
  ASSERT_TRUE(Publish("a/0"));
  EXPECT_EQ(Stored("a/0") + Stored("a/1"), "yb");
  EXPECT_EQ(parts_->publishing.counters().conflicts, 0u);
}

// The same, and that one is killed while it publishes what it has committed.
TEST_F(SpoolReplayTest, WhatIsUnderWayOfTwoMountsIsNoChangeByOthers) {
  ASSERT_TRUE(Commit("a/0", "x"));
  replacer_->LoseNext(MemoryReplacer::Lost::kRequest);
  ASSERT_FALSE(Publish("a/0"));
  ReplayAnew();
  ASSERT_TRUE(Commit("a/0", "y"));
  const auto publishing = parts_->written->BeginPublish(ShardOf("a/0"));
  ASSERT_TRUE(Commit("a/0", "z"));
  PutShard({{0, "x"}, {1, "b"}});
  ReplayAnew();
  EXPECT_EQ(Quarantined(), "");
  EXPECT_EQ(Current("a/0"), "z");
}

// Version z is sealed while x is being published. Before z becomes the latest version, that publish
// ends, and the version between, y, is published, or this process is killed while it publishes y.
TEST_F(SpoolReplayTest, WhatIsPublishedWhileItsSuccessorIsCommittedIsNoChangeByOthers) {
  for (const std::string_view put : {"y", "x", "a"}) {
    SCOPED_TRACE(put);
    PutShard({{0, "a"}, {1, "b"}});
    Restart();
    ASSERT_TRUE(Commit("a/0", "x"));
    const auto first = parts_->written->BeginPublish(ShardOf("a/0"));
    ASSERT_TRUE(Commit("a/0", "y"));
    auto staged = Staged("z");
    ASSERT_TRUE(staged);
    const auto terms = parts_->written->ReplacedBy(
        *parts_->written->Find(ChunkId::Of(*Chunk("a/0").tree, Chunk("a/0").chunk)));
    const auto sealed = parts_->spool->Seal(
        staged->get(), "a", "0", {terms.base, terms.other, Chunk("a/0").tree->layout_digest()});
    ASSERT_TRUE(sealed) << sealed.error().message;
    staged->reset();  // before its spool goes
    parts_->versions.EndPublish(first, std::nullopt);
    const auto second = parts_->written->BeginPublish(ShardOf("a/0"));
    parts_->versions.Adopt({parts_->spool, *sealed}, Chunk("a/0"));
    PutShard({{0, std::string(put)}, {1, "b"}});
    ReplayAnew();
    EXPECT_EQ(Quarantined(), put == "a" ? "a/0" : "");
    EXPECT_EQ(Current("a/0"), put == "a" ? "a" : "z") << "which the first publish has replaced";
  }
}

// The process was killed before it knew of its own put, and another host has replaced that since.
TEST_F(SpoolReplayTest, WhatWasPutAndReplacedSinceIsDiscarded) {
  ASSERT_TRUE(Commit("a/0", "x"));
  ASSERT_TRUE(Commit("a/1", "y"));
  replacer_->LoseNext(MemoryReplacer::Lost::kAnswer);
  ASSERT_FALSE(Publish("a/0"));
  PutShard({{0, "t"}, {1, "y"}});
  ReplayAnew();
  EXPECT_EQ(Quarantined(), "");
  EXPECT_EQ(Spooled(), "");
  EXPECT_EQ(Current("a/0") + Current("a/1"), "ty");
  EXPECT_FALSE(parts_->attempts->Knows("a/0"));
}

TEST_F(SpoolReplayTest, AChunkThatHasNoPlaceAnyMoreIsQuarantined) {
  ASSERT_TRUE(Commit("a/0", "x"));
  memory_->Remove("a/zarr.json");
  ReplayAnew();
  EXPECT_EQ(Quarantined(), "a/0");
}

// As with view=all, where the directories of the source are below those of the views.
TEST_F(SpoolReplayTest, DatasetsAreFoundBelowTheRootOfTheirTrees) {
  Seal("2", "x", {}, "");
  Restart();
  Replay(*replacer_, "a/");
  EXPECT_EQ(Quarantined(), "");
  EXPECT_EQ(Current("a/2"), "x");
}

TEST_F(SpoolReplayTest, AChunkOfAnotherLayoutIsQuarantined) {
  Seal("2", "x", {{}, std::nullopt, Chunk("a/0").tree->layout_digest() + 1});
  Seal("3", "x", {{}, std::nullopt, Chunk("a/0").tree->layout_digest()});
  ReplayAnew();
  EXPECT_EQ(Quarantined(), "a/2");
  EXPECT_EQ(Current("a/3"), "x");
}

TEST_F(SpoolReplayTest, ASealWithoutALayoutIsCheckedByItsBytes) {
  Seal("2", "two bytes where one is right", {});
  Seal("3", "x", {});
  ReplayAnew();
  EXPECT_EQ(Quarantined(), "a/2");
  EXPECT_EQ(Current("a/3"), "x");
}

TEST_F(SpoolReplayTest, AChunkWhoseShardCannotBeReadWaits) {
  ASSERT_TRUE(Commit("a/0", "x"));
  memory_->Put("a/0", "no shard");
  ReplayAnew();
  EXPECT_EQ(Quarantined(), "");
  EXPECT_EQ(Spooled(), "a/0");
  EXPECT_EQ(Current("a/0"), "x");
}

TEST_F(SpoolReplayTest, OnlyAChunkThatReplacesNothingIsTheFirst) {
  Seal("0", "x", {StoredPrint("a/0")});
  Seal("2", "y", {});
  ReplayAnew();
  const auto latest = [&](const std::string& path) {
    return parts_->written->Find(ChunkId::Of(*Chunk(path).tree, Chunk(path).chunk));
  };
  ASSERT_TRUE(latest("a/0") && latest("a/2"));
  EXPECT_FALSE(latest("a/0")->first);
  EXPECT_TRUE(latest("a/2")->first);
}

}  // namespace
}  // namespace unshard
