// Who is expected to write the chunk that it looks up.
#include "fs/write_streaks.h"

#include <gtest/gtest.h>

namespace unshard {
namespace {

const ChunkId kChunk{1, {2, 3, 4}, ChunkPart::kPlain};
const ChunkId kOther{1, {2, 3, 5}, ChunkPart::kPlain};
const ChunkId kWritten{1, {2, 3, 6}, ChunkPart::kPlain};

void WriteTwice(WriteStreaks& streaks, pid_t thread) {
  streaks.Wrote(thread, kWritten);
  streaks.Wrote(thread, kWritten);
}

TEST(WriteStreaksTest, TwoChunksMakeAStreak) {
  WriteStreaks streaks;
  EXPECT_FALSE(streaks.Promise(10, kChunk));
  streaks.Wrote(10, kWritten);
  EXPECT_FALSE(streaks.Promise(10, kChunk));
  streaks.Wrote(10, kWritten);
  EXPECT_TRUE(streaks.Promise(10, kChunk));
  EXPECT_FALSE(streaks.Promise(11, kChunk)) << "another thread";
}

TEST(WriteStreaksTest, EachPromiseHasItsOwnNumberUntilItIsTaken) {
  WriteStreaks streaks;
  WriteTwice(streaks, 10);
  const auto first = streaks.Promise(10, kChunk);
  EXPECT_EQ(streaks.Promise(10, kChunk), first);
  streaks.Wrote(10, kChunk);
  EXPECT_NE(streaks.Promise(10, kOther), first);
  WriteTwice(streaks, 11);
  EXPECT_NE(streaks.Promise(11, kOther), streaks.Promise(10, kOther));
}

TEST(WriteStreaksTest, ReadingEndsIt) {
  WriteStreaks streaks;
  WriteTwice(streaks, 10);
  streaks.End(10);
  EXPECT_FALSE(streaks.Promise(10, kChunk));
  streaks.Wrote(10, kWritten);
  EXPECT_FALSE(streaks.Promise(10, kChunk));
}

TEST(WriteStreaksTest, APromiseThatIsNotTakenEndsIt) {
  WriteStreaks streaks;
  WriteTwice(streaks, 10);
  EXPECT_TRUE(streaks.Promise(10, kChunk));
  EXPECT_FALSE(streaks.Promise(10, kOther));
  EXPECT_FALSE(streaks.Promise(10, kChunk));
}

TEST(WriteStreaksTest, WritingAnotherChunkThanThePromisedOneEndsItToo) {
  WriteStreaks streaks;
  WriteTwice(streaks, 10);
  EXPECT_TRUE(streaks.Promise(10, kChunk));
  streaks.Wrote(10, kOther);
  EXPECT_FALSE(streaks.Promise(10, kChunk)) << "the first of the next streak";
  streaks.Wrote(10, kOther);
  EXPECT_TRUE(streaks.Promise(10, kChunk));
}

TEST(WriteStreaksTest, WhatAThreadHasJustWrittenItLooksAtAndDoesNotWriteAgain) {
  WriteStreaks streaks;
  streaks.Wrote(10, kWritten);
  streaks.Wrote(10, kChunk);
  EXPECT_FALSE(streaks.Promise(10, kChunk));
  EXPECT_TRUE(streaks.Promise(10, kOther));
}

TEST(WriteStreaksTest, NobodyHasNoStreak) {
  WriteStreaks streaks;
  WriteTwice(streaks, 0);
  EXPECT_FALSE(streaks.Promise(0, kChunk));
}

TEST(WriteStreaksTest, TheThreadThatWroteLongestAgoIsForgottenFirst) {
  WriteStreaks streaks;
  for (int i = 0; i < 2; ++i) {
    for (pid_t thread = 1; thread <= static_cast<pid_t>(WriteStreaks::kMostThreads); ++thread) {
      streaks.Wrote(thread, kWritten);
    }
  }
  streaks.Wrote(1, kWritten);
  streaks.Wrote(1000, kWritten);
  EXPECT_TRUE(streaks.Promise(1, kChunk));
  EXPECT_FALSE(streaks.Promise(2, kChunk));
  EXPECT_TRUE(streaks.Promise(3, kChunk));
}

}  // namespace
}  // namespace unshard
