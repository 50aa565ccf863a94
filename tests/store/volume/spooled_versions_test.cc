// How committed versions come into and leave their spool, and what of that the queue is told.
#include "store/volume/spooled_versions.h"

#include "tests/support/writing_parts.h"

namespace unshard {
namespace {

class SpooledVersionsTest : public WritingParts {
 protected:
  SpooledVersions& versions() { return parts_->versions; }
  CommittedVersions::Spooled SpooledOf(const WrittenVersionPtr& version) {
    return *parts_->written->SpooledOf(*version);
  }
};

TEST_F(SpooledVersionsTest, ACommitMakesItsShardDirtyByWhatIsNew) {
  ASSERT_TRUE(Commit("a/5", "x"));
  ASSERT_TRUE(Commit("a/5", "y"));
  ASSERT_TRUE(Commit("m/1", "fragments"));
  ASSERT_TRUE(Commit("m/1", "more fragments"));
  ASSERT_EQ(parts_->dirty.size(), 4u);
  EXPECT_EQ(parts_->dirty[0].shard, ShardOf("a/5"));
  EXPECT_EQ(parts_->dirty[0].chunks, 1);
  EXPECT_EQ(parts_->dirty[0].bytes, 1);
  EXPECT_EQ(parts_->dirty[1].chunks, 0);
  EXPECT_EQ(parts_->dirty[1].bytes, 0);
  EXPECT_EQ(parts_->dirty[3].bytes, 5);
  EXPECT_EQ(Spooled(), "a/5 m/1") << "what was committed over is discarded";
}

TEST_F(SpooledVersionsTest, AShardIsCompleteOnceAllItsChunksAreInTheSpool) {
  for (const char* path : {"a/0", "a/1", "a/2", "a/3"}) ASSERT_TRUE(Commit(path, "x"));
  EXPECT_FALSE(parts_->dirty[2].complete);
  EXPECT_TRUE(parts_->dirty[3].complete);
  ASSERT_TRUE(Remove("a/0"));
  EXPECT_FALSE(parts_->dirty[4].complete);
}

TEST_F(SpooledVersionsTest, VersionsAreNumberedInOrder) {
  const auto first = Commit("a/0", "x");
  const auto second = Commit("a/1", "x");
  ASSERT_TRUE(first && second);
  EXPECT_LT((*first)->number, (*second)->number);
}

TEST_F(SpooledVersionsTest, WhatIsCommittedOverWhileItIsPublishedStaysUntilThatEnds) {
  const auto version = Commit("a/0", "x");
  ASSERT_TRUE(version);
  const auto publishing = parts_->written->BeginPublish(ShardOf("a/0"));
  const auto later = Commit("a/0", "y");
  ASSERT_TRUE(later);
  EXPECT_EQ(Spooled(), "a/0 a/0");
  versions().AbandonPublish(publishing);
  EXPECT_EQ(Spooled(), "a/0");
  const auto again = parts_->written->BeginPublish(ShardOf("a/0"));
  ASSERT_TRUE(Commit("a/0", "z"));
  const SpooledChunk published = SpooledOf(*later).chunk;
  EXPECT_TRUE(parts_->spool->Open(published));
  EXPECT_EQ(versions().EndPublish(again, std::nullopt).chunks, 0u)
      << "the chunk is as dirty as before";
  const auto gone = parts_->spool->Open(published);
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(Current("a/0"), "z");
}

TEST_F(SpooledVersionsTest, WithdrawnVersionsAreKeptUnlessALaterOneIsThere) {
  ASSERT_TRUE(Commit("a/0", "x"));
  ASSERT_TRUE(Commit("a/1", "y"));
  const auto publishing = parts_->written->BeginPublish(ShardOf("a/0"));
  ASSERT_TRUE(Commit("a/1", "z"));
  const auto kept = versions().Withdraw(ShardOf("a/0"), publishing);
  ASSERT_EQ(kept.size(), 1u);
  EXPECT_EQ(kept[0].chunk.chunk, "0");
  EXPECT_EQ(Current("a/0") + Current("a/1"), "az") << "readers see the store again";
  EXPECT_EQ(Spooled(), "a/0 a/1");
}

TEST_F(SpooledVersionsTest, AQuarantinedFileIsReportedAndNotReplayed) {
  const auto version = Commit("a/0", "x");
  ASSERT_TRUE(version);
  versions().Quarantine(SpooledOf(*version), "test");
  EXPECT_EQ(versions().quarantined(), 1u);
  EXPECT_EQ(Quarantined(), "a/0");
  EXPECT_EQ(Spooled(), "");
  Restart();
  EXPECT_TRUE(parts_->spool->TakeRecovered().empty());
}

TEST_F(SpooledVersionsTest, AnAdoptedFileIsTheLatestVersionAndDirty) {
  ASSERT_TRUE(Commit("a/0", "x"));
  ASSERT_TRUE(Commit("a/2", "y"));
  Restart();
  EXPECT_EQ(Current("a/0") + Current("a/2"), "a-");
  for (const SpooledChunk& chunk : parts_->spool->TakeRecovered()) {
    const bool absent = chunk.chunk == "2";
    versions().Adopt({parts_->spool, chunk}, Chunk("a/" + chunk.chunk),
                     StoredChunkPrint{{absent, 1, 2}});
  }
  EXPECT_EQ(Current("a/0") + Current("a/2"), "xy");
  EXPECT_EQ(versions().adopted(), 2u);
  EXPECT_EQ(parts_->dirty.size(), 2u);
  const auto latest = [&](const std::string& path) {
    return parts_->written->Find(ChunkId::Of(*Chunk(path).tree, Chunk(path).chunk));
  };
  EXPECT_FALSE(latest("a/0")->first);
  EXPECT_TRUE(latest("a/2")->first);
}

TEST_F(SpooledVersionsTest, WhatWasSyncedSurvivesAPowerLoss) {
  const auto first = Commit("a/0", "x");
  const auto second = Commit("a/1", "y");
  ASSERT_TRUE(first && second && Commit("a/2", "z"));
  versions().SyncTogether({*first});
  ASSERT_TRUE(versions().Sync(*second));
  const auto left = disk_->AfterPowerLoss(Survival::kNothing, 1);
  SpoolOptions options;
  options.source = "test";
  const auto spool = Spool::Open(left, options);
  ASSERT_TRUE(spool) << spool.error().message;
  std::string names;
  for (const SpooledChunk& chunk : (*spool)->TakeRecovered()) names += chunk.chunk;
  EXPECT_EQ(names, "01");
}

TEST_F(SpooledVersionsTest, ASyncOfWhatWasCommittedOverSyncsItsSuccessor) {
  const auto first = Commit("a/0", "x");
  const auto second = Commit("a/0", "y");
  ASSERT_TRUE(first && second);
  ASSERT_TRUE(versions().Sync(*first));
  EXPECT_TRUE(parts_->written->Unsynced(*(*first)->tree, {}).empty());
  ASSERT_TRUE(Publish("a/0"));
  disk_->FailEvery(DiskOperation::kSync, EIO);
  EXPECT_TRUE(versions().Sync(*second)) << "published, and with that durable";
  const auto third = Commit("a/0", "z");
  ASSERT_TRUE(third);
  disk_->FailEvery(DiskOperation::kOpen, EIO);
  EXPECT_FALSE(versions().Sync(*third));
}

}  // namespace
}  // namespace unshard
