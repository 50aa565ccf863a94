#include "store/publish/dirty_shards.h"

#include <gtest/gtest.h>

namespace unshard {
namespace {

using std::chrono::milliseconds;
using Time = DirtyShards::Time;

constexpr DirtyShard kShard{3, 7};

Time At(int moment) { return Time(milliseconds(moment)); }

TEST(DirtyShardsTest, AFlushThatARunningAttemptSatisfiesForcesNoOther) {
  DirtyShards dirty(milliseconds(1000));
  dirty.Add(kShard, 1, 10, false, At(0));
  dirty.Begin(kShard);
  dirty.Force(kShard);
  dirty.Add(kShard, 1, 10, false, At(5));
  dirty.MarkPublished(kShard, {1, 10});
  EXPECT_EQ(dirty.NextDue(), At(1005)) << "what came after the flush waits as ever";
}

TEST(DirtyShardsTest, AFlushThatARunningAttemptDoesNotSatisfyIsNext) {
  DirtyShards dirty(milliseconds(1000));
  dirty.Add(kShard, 1, 10, false, At(0));
  dirty.Begin(kShard);
  dirty.Add(kShard, 1, 10, false, At(5));
  dirty.Force(kShard);
  EXPECT_FALSE(dirty.Due(At(100000))) << "it runs";
  dirty.MarkPublished(kShard, {1, 10});
  EXPECT_EQ(dirty.Due(At(5)), kShard);
  dirty.Begin(kShard);
  dirty.Force(kShard);
  dirty.FailUntil(kShard, Error{ErrorCode::kUnavailable, "no", 0}, milliseconds(500), At(510));
  EXPECT_EQ(dirty.Due(At(6)), kShard) << "a failure does not satisfy anybody who came after";
}

TEST(DirtyShardsTest, AShardThatIsWrittenAllTheTimeIsDueAfterTenTimesTheIdleTime) {
  DirtyShards dirty(milliseconds(1000));
  for (int moment = 0; moment <= 9500; moment += 500) {
    dirty.Add(kShard, 1, 10, false, At(moment));
    EXPECT_FALSE(dirty.Due(At(moment))) << moment;
  }
  EXPECT_EQ(dirty.NextDue(), At(10000));
  dirty.Begin(kShard);
  dirty.Add(kShard, 1, 10, false, At(10500));
  dirty.MarkPublished(kShard, {20, 200});
  EXPECT_EQ(dirty.NextDue(), At(11500)) << "the bound counts from what is not published yet";
}

TEST(DirtyShardsTest, AShardThatWasCleanInBetweenIsAnotherOne) {
  DirtyShards dirty(milliseconds(1000));
  dirty.Add(kShard, 1, 10, false, At(0));
  const std::uint64_t first = dirty.Find(kShard)->added;
  dirty.Begin(kShard);
  dirty.MarkPublished(kShard, {1, 10});
  EXPECT_EQ(dirty.Find(kShard), nullptr);
  dirty.Add(kShard, 1, 10, false, At(1));
  EXPECT_GE(dirty.Find(kShard)->published, first) << "whoever waits for the first has it";
  EXPECT_LT(dirty.Find(kShard)->published, dirty.Find(kShard)->added);
}

TEST(DirtyShardsTest, WhatAnAttemptTookEarlyIsNotForgottenNorCountedTwice) {
  DirtyShards dirty(milliseconds(1000));
  dirty.Add(kShard, 1, 10, false, At(0));
  dirty.Begin(kShard);
  dirty.Add(kShard, 1, 20, false, At(1));
  dirty.MarkPublished(kShard, {2, 30});  // it has taken the late one as well
  EXPECT_EQ(dirty.chunks(), 0);
  ASSERT_NE(dirty.Find(kShard), nullptr) << "nobody has said so: one more look";
  dirty.Begin(kShard);
  dirty.MarkPublished(kShard, {0, 0, false});
  EXPECT_EQ(dirty.Find(kShard), nullptr);
  EXPECT_EQ(dirty.chunks(), 0);
  EXPECT_EQ(dirty.bytes(), 0);
  EXPECT_EQ(dirty.waiting_bytes(), 0);
}

TEST(DirtyShardsTest, ASmallerVersionMakesTheShardSmaller) {
  DirtyShards dirty(milliseconds(1000));
  dirty.Add({0, 1}, 1, 100, false, At(0));
  dirty.Add({0, 2}, 1, 90, false, At(1));
  EXPECT_EQ(dirty.Largest(), (DirtyShard{0, 1}));
  dirty.Add({0, 1}, 0, -20, false, At(2));
  EXPECT_EQ(dirty.Largest(), (DirtyShard{0, 2}));
  EXPECT_EQ(dirty.bytes(), 170);
  EXPECT_EQ(dirty.chunks(), 2);
}

}  // namespace
}  // namespace unshard
