// Publishing one shard: what becomes of its versions when all goes well, and when it does not.
#include "store/volume/shard_publishing.h"

#include <algorithm>

#include "tests/support/writing_parts.h"

namespace unshard {
namespace {

class ShardPublishingTest : public WritingParts {
 protected:
  ShardPublishing& publishing() { return parts_->publishing; }
  // Fails the test where the publish does not fail.
  ErrorCode CodeOfPublish(const std::string& path) {
    const auto done = Publish(path);
    EXPECT_FALSE(done);
    return done ? ErrorCode::kInternal : done.error().code;
  }
  void RemoveFromSpool(const std::string& start) {
    for (const std::string& path : disk_->Paths()) {
      if (path.rfind("chunks/" + start, 0) == 0) {
        ASSERT_TRUE(disk_->Remove(path));
      }
    }
  }
  // The metadata of "a" as another process stores them, with `from` replaced.
  void PutMetadata(const std::string& from, const std::string& to) {
    const auto stored = memory_->Open("a/zarr.json", RangeRequest::At(0, 10000), Deadline::None());
    ASSERT_TRUE(stored && stored->version);
    std::string text(AsText(stored->first.span()));
    ASSERT_NE(text.find(from), std::string::npos) << text;
    memory_->Put("a/zarr.json", text.replace(text.find(from), from.size(), to));
  }
};

TEST_F(ShardPublishingTest, APublishMovesAllThatIsInTheSpoolIntoTheShard) {
  ASSERT_TRUE(Commit("a/0", "x"));
  ASSERT_TRUE(Commit("a/2", "y"));
  ASSERT_TRUE(Remove("a/1"));
  ASSERT_TRUE(Commit("a/5", "z"));
  const auto done = Publish("a/0");
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_TRUE(done->rewritten);
  EXPECT_EQ(done->chunks, 3u);
  EXPECT_EQ(done->bytes, 2u);
  EXPECT_EQ(Stored("a/0") + Stored("a/1") + Stored("a/2") + Stored("a/5"), "x-y-");
  EXPECT_EQ(Spooled(), "a/5") << "of another shard";
  EXPECT_GT(publishing().counters().bytes_published, 0u);
  EXPECT_EQ(publishing().counters().conflicts, 0u);
}

TEST_F(ShardPublishingTest, OfTooManyPublishedVersionsTheOldestAreForgotten) {
  remembered_ = 3;
  Restart();
  const auto remembered = [&] {
    std::string names;
    for (const char* name : {"a/0", "a/1", "a/2", "a/3", "a/4", "a/5"}) {
      const ChunkInTree chunk = Chunk(name);
      if (parts_->written->Find(ChunkId::Of(*chunk.tree, chunk.chunk))) names += name[2];
    }
    return names;
  };
  for (const char* name : {"a/1", "a/3", "a/0", "a/2"}) ASSERT_TRUE(Commit(name, "x"));
  ASSERT_TRUE(Publish("a/0"));
  EXPECT_EQ(remembered(), "023");
  EXPECT_EQ(parts_->renewed, std::vector<std::string>{"a/0"});
  ASSERT_TRUE(Commit("a/4", "x") && Commit("a/5", "x"));
  ASSERT_TRUE(Publish("a/4"));
  EXPECT_EQ(remembered(), "245") << "of the shard that was published least recently";
  EXPECT_EQ(Current("a/0") + Current("a/1") + Current("a/3"), "xxx");
}

TEST_F(ShardPublishingTest, AShardWithoutVersionsIsLeftAlone) {
  store_->Reset();
  const auto done = publishing().Publish({Chunk("a/0").tree->ordinal(), 0});
  ASSERT_TRUE(done);
  EXPECT_FALSE(done->rewritten);
  EXPECT_EQ(store_->total().requests(), 0u);
}

TEST_F(ShardPublishingTest, ALaterVersionOfAnotherProcessIsReplacedAndCounted) {
  ASSERT_TRUE(Commit("a/0", "x"));
  PutShard({{0, "o"}, {3, "o"}});
  const auto done = Publish("a/0");
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(Stored("a/0") + Stored("a/1") + Stored("a/3"), "x-o");
  EXPECT_EQ(publishing().counters().conflicts, 1u);
  EXPECT_EQ(parts_->versions.quarantined(), 0u);
}

constexpr std::uint64_t kIndexBytes = 4 * 16 + 4;

TEST_F(ShardPublishingTest, WhatIsReplacedIsNotReadWhereNobodyCameBetween) {
  ASSERT_TRUE(Commit("a/0", "x"));
  ASSERT_TRUE(Commit("a/1", "y"));
  std::uint64_t read = replacer_->base_bytes();
  ASSERT_TRUE(Publish("a/0"));
  EXPECT_EQ(replacer_->base_bytes() - read, kIndexBytes);
  ASSERT_TRUE(Commit("a/0", "v"));
  ASSERT_TRUE(Remove("a/1"));
  read = replacer_->base_bytes();
  ASSERT_TRUE(Publish("a/0"));
  EXPECT_EQ(replacer_->base_bytes() - read, kIndexBytes) << "this mount published it";
  EXPECT_EQ(Stored("a/0") + Stored("a/1"), "v-");
}

TEST_F(ShardPublishingTest, OurOwnPublishOfOtherChunksDoesNotComeBetween) {
  ASSERT_TRUE(Commit("a/0", "x"));
  bool committed = false;
  store_->OnStat([&](std::string_view key) {
    if (key != "a/zarr.json" || committed) return;
    committed = true;  // while the shard is being published
    EXPECT_TRUE(Commit("a/0", "y"));
    EXPECT_TRUE(Commit("a/1", "z"));
  });
  ASSERT_TRUE(Publish("a/0"));
  store_->OnStat(nullptr);
  ASSERT_TRUE(committed);
  EXPECT_EQ(Stored("a/0") + Stored("a/1"), "xb");
  const std::uint64_t read = replacer_->base_bytes();
  ASSERT_TRUE(Publish("a/0"));
  EXPECT_EQ(replacer_->base_bytes() - read, kIndexBytes);
  EXPECT_EQ(Stored("a/0") + Stored("a/1"), "yz");
  EXPECT_EQ(publishing().counters().conflicts, 0u);
}

TEST_F(ShardPublishingTest, WhereAnotherProcessCameBetweenTheBytesAreCompared) {
  ASSERT_TRUE(Commit("a/0", "x"));
  ASSERT_TRUE(Commit("a/1", "y"));
  PutShard({{0, "a"}, {1, "o"}});
  const std::uint64_t read = replacer_->base_bytes();
  ASSERT_TRUE(Publish("a/0"));
  EXPECT_EQ(replacer_->base_bytes() - read, kIndexBytes + 2);
  EXPECT_EQ(publishing().counters().conflicts, 1u) << "one of the two was changed";
}

TEST_F(ShardPublishingTest, StrictModeQuarantinesWhatAnotherProcessHasChanged) {
  strict_ = true;
  Restart();
  ASSERT_TRUE(Commit("a/0", "x"));
  ASSERT_TRUE(Commit("a/2", "y"));
  PutShard({{0, "o"}, {1, "b"}});
  EXPECT_EQ(CodeOfPublish("a/0"), ErrorCode::kConflict);
  EXPECT_EQ(Stored("a/0") + Stored("a/1") + Stored("a/2"), "oby") << "the others are published";
  EXPECT_EQ(Current("a/0"), "o");
  EXPECT_EQ(Quarantined(), "a/0");
  EXPECT_EQ(Spooled(), "");
  EXPECT_EQ(parts_->versions.quarantined(), 1u);
  EXPECT_EQ(parts_->renewed.size(), 1u) << "readers of a/0 have seen the other version";
  EXPECT_FALSE(Publish("a/0")->rewritten);
}

TEST_F(ShardPublishingTest, AVersionWhoseFileIsGoneIsGivenUpAndTheOthersGoOn) {
  ASSERT_TRUE(Commit("a/0", "x"));
  ASSERT_TRUE(Commit("a/2", "y"));
  RemoveFromSpool("a/0");
  EXPECT_EQ(CodeOfPublish("a/0"), ErrorCode::kDataLoss);
  EXPECT_EQ(publishing().counters().lost, 1u);
  EXPECT_EQ(Current("a/0") + Current("a/2"), "ay");
  const auto done = Publish("a/0");
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(Stored("a/0") + Stored("a/2"), "ay");
}

TEST_F(ShardPublishingTest, HoweverManyAttemptsFailedTheStoreIsAskedOnceWhatBecameOfThem) {
  ASSERT_TRUE(Commit("a/0", "x"));
  for (int i = 0; i < 5; ++i) {
    replacer_->LoseNext(MemoryReplacer::Lost::kRequest);
    EXPECT_EQ(CodeOfPublish("a/0"), ErrorCode::kUnavailable);
  }
  const std::uint64_t looks = replacer_->looks();
  ASSERT_TRUE(Publish("a/0"));
  EXPECT_EQ(replacer_->looks() - looks, 2u) << "at the beginning, and right before the put";
}

TEST_F(ShardPublishingTest, WhereTheOutcomeIsUnknownTheSpoolKeepsAll) {
  for (const auto lost : {MemoryReplacer::Lost::kRequest, MemoryReplacer::Lost::kAnswer}) {
    ASSERT_TRUE(Commit("a/0", lost == MemoryReplacer::Lost::kRequest ? "x" : "y"));
    replacer_->LoseNext(lost);
    EXPECT_EQ(CodeOfPublish("a/0"), ErrorCode::kUnavailable);
    EXPECT_EQ(Spooled(), "a/0");
    const auto done = Publish("a/0");
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_EQ(Spooled(), "");
    EXPECT_EQ(Stored("a/0"), lost == MemoryReplacer::Lost::kRequest ? "x" : "y");
  }
  EXPECT_EQ(publishing().counters().conflicts, 0u) << "our own bytes are no conflict";
}

// The answer to the put was lost, and another host has replaced the chunk since: what it wrote is
// the later.
TEST_F(ShardPublishingTest, WhatWasPutIsNotPutOnceMoreOverALaterVersion) {
  ASSERT_TRUE(Commit("a/0", "x"));
  ASSERT_TRUE(Commit("a/2", "y"));
  replacer_->LoseNext(MemoryReplacer::Lost::kAnswer);
  EXPECT_EQ(CodeOfPublish("a/0"), ErrorCode::kUnavailable);
  EXPECT_TRUE(parts_->attempts->Knows("a/0"));
  PutShard({{0, "B"}, {1, "b"}, {2, "y"}});
  ASSERT_TRUE(Commit("a/1", "z"));
  const auto done = Publish("a/0");
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(done->chunks, 3u);
  EXPECT_EQ(Stored("a/0") + Stored("a/1") + Stored("a/2"), "Bzy");
  EXPECT_EQ(Current("a/0"), "B");
  EXPECT_EQ(Spooled(), "");
  EXPECT_EQ(publishing().counters().conflicts, 0u);
  EXPECT_FALSE(parts_->attempts->Knows("a/0"));
}

TEST_F(ShardPublishingTest, AnAttemptWhoseRequestWasLostIsRepeated) {
  ASSERT_TRUE(Commit("a/0", "x"));
  replacer_->LoseNext(MemoryReplacer::Lost::kRequest);
  EXPECT_EQ(CodeOfPublish("a/0"), ErrorCode::kUnavailable);
  ASSERT_TRUE(Publish("a/0"));
  EXPECT_EQ(Stored("a/0"), "x");
  EXPECT_FALSE(parts_->attempts->Knows("a/0"));
}

TEST_F(ShardPublishingTest, VersionsOfAnArrayThatWasRemovedAreQuarantined) {
  ASSERT_TRUE(Commit("a/0", "x"));
  const DirtyShard shard = ShardOf("a/0");
  memory_->Remove("a/zarr.json");
  const auto done = publishing().Publish(shard);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, ErrorCode::kConflict);
  EXPECT_EQ(Quarantined(), "a/0");
  EXPECT_EQ(std::count(parts_->renewed.begin(), parts_->renewed.end(), "a/zarr.json"), 1);
}

TEST_F(ShardPublishingTest, VersionsOfAnArrayOfAnotherShapeWaitInItsNewTree) {
  ASSERT_TRUE(Commit("a/0", "x"));
  const DirtyShard shard = ShardOf("a/0");
  PutMetadata("\"shape\":[8]", "\"shape\":[12]");
  const auto left = publishing().Publish(shard);
  ASSERT_TRUE(left) << left.error().message;
  EXPECT_FALSE(left->rewritten);
  EXPECT_NE(ShardOf("a/0"), shard);
  EXPECT_EQ(parts_->dirty.back().shard, ShardOf("a/0"));
  EXPECT_EQ(Current("a/0"), "x");
  EXPECT_EQ(Spooled(), "a/0");
  EXPECT_EQ(std::count(parts_->renewed.begin(), parts_->renewed.end(), "a/zarr.json"), 1);
  ASSERT_TRUE(Publish("a/0"));
  EXPECT_EQ(Stored("a/0"), "x");
}

TEST_F(ShardPublishingTest, MetadataThatAreReplacedWhileAShardIsPutTogetherAreSeen) {
  ASSERT_TRUE(Commit("a/0", "x"));
  const DirtyShard shard = ShardOf("a/0");
  bool replaced = false;
  store_->OnStat([&](std::string_view key) {
    if (key != "a/zarr.json" || replaced) return;
    replaced = true;  // the first question has been answered
    PutMetadata("\"data_type\":\"uint8\"", "\"data_type\":\"int8\"");
  });
  const auto done = publishing().Publish(shard);
  store_->OnStat(nullptr);
  ASSERT_TRUE(replaced);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, ErrorCode::kConflict);
  EXPECT_EQ(Quarantined(), "a/0");
  EXPECT_EQ(Stored("a/0"), "a") << "the shard stays as it was";
}

TEST_F(ShardPublishingTest, WhereTheMetadataCannotBeReadVersionsWait) {
  ASSERT_TRUE(Commit("a/0", "x"));
  const DirtyShard shard = ShardOf("a/0");
  PutMetadata("\"zarr_format\":3", "\"zarr_format\":\"broken\"");
  ASSERT_FALSE(publishing().Publish(shard));
  EXPECT_EQ(Spooled(), "a/0");
  EXPECT_EQ(Quarantined(), "");
  PutMetadata("\"zarr_format\":\"broken\"", "\"zarr_format\":3");
  const auto done = publishing().Publish(shard);
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(Stored("a/0"), "x");
}

}  // namespace
}  // namespace unshard
