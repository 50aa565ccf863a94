// Who is a writer of which chunk, and which thread's look-up is answered with a staged node.
#include "fs/write/open_writers.h"

#include <gtest/gtest.h>

#include <thread>

#include "tests/support/simulated_disk.h"

namespace unshard {
namespace {

class OpenWritersTest : public testing::Test {
 protected:
  OpenWriters::StagedPtr Staged() {
    return std::make_shared<StagedInode>(spool_, StagedInode::Scratch{}, nullptr, 1);
  }

  const std::shared_ptr<Spool> spool_ =
      *Spool::Open(std::make_shared<SimulatedDisk>(), {.source = "source"});
  OpenWriters writers_;
  const ChunkId chunk_{1, {2, 3, 4}, ChunkPart::kPlain};
  const ChunkId other_{1, {2, 3, 5}, ChunkPart::kPlain};
};

TEST_F(OpenWritersTest, AWriterIsOneUntilItsLastFileIsClosed) {
  const auto staged = Staged();
  writers_.Enter(chunk_, staged);
  writers_.Enter(chunk_, staged);
  EXPECT_TRUE(writers_.HasWriter(chunk_));
  EXPECT_FALSE(writers_.HasWriter(other_));
  EXPECT_FALSE(writers_.Leave(chunk_, staged));
  EXPECT_TRUE(writers_.HasWriter(chunk_));
  EXPECT_TRUE(writers_.Leave(chunk_, staged));
  EXPECT_FALSE(writers_.HasWriter(chunk_));
}

TEST_F(OpenWritersTest, TheLatestStagedInodeIsTheOneToJoin) {
  const auto first = Staged();
  const auto second = Staged();
  writers_.Enter(chunk_, first);
  writers_.Enter(chunk_, second);
  EXPECT_EQ(writers_.Latest(chunk_), second);
  EXPECT_TRUE(writers_.Leave(chunk_, second));
  EXPECT_EQ(writers_.Latest(chunk_), first);
}

TEST_F(OpenWritersTest, OnlyTheThreadThatWasSentAwayIsSentToTheStagedNode) {
  const auto staged = Staged();
  ASSERT_TRUE(staged->Hold());
  static_cast<void>(writers_.Redirect({.write = true, .thread = 10}, chunk_, staged));
  EXPECT_EQ(writers_.Redirected(10, chunk_), staged);
  EXPECT_EQ(writers_.Redirected(11, chunk_), nullptr);
  EXPECT_EQ(writers_.Redirected(10, other_), nullptr);
  EXPECT_TRUE(writers_.HasWriter(chunk_));
  // The kernel may look up more than once before it opens.
  EXPECT_EQ(writers_.Redirected(10, chunk_), staged);
  writers_.Enter(chunk_, staged);
  static_cast<void>(writers_.TakeRedirect(10, staged));
  EXPECT_EQ(writers_.Redirected(10, chunk_), nullptr);
  EXPECT_TRUE(writers_.HasWriter(chunk_));
  EXPECT_TRUE(writers_.Leave(chunk_, staged));
}

TEST_F(OpenWritersTest, ASecondOpenOfTheSameThreadTakesThePlaceOfTheFirst) {
  const auto first = Staged();
  const auto second = Staged();
  ASSERT_TRUE(first->Hold() && second->Hold());
  static_cast<void>(writers_.Redirect({.write = true, .thread = 10}, chunk_, first));
  static_cast<void>(writers_.Redirect({.write = true, .thread = 10}, chunk_, second));
  EXPECT_EQ(writers_.Redirected(10, chunk_), second);
  EXPECT_TRUE(first->End());
  EXPECT_FALSE(second->End()) << "a thread is on its way to it";
  static_cast<void>(writers_.TakeRedirect(10, second));
  EXPECT_TRUE(second->End());
  EXPECT_FALSE(writers_.HasWriter(chunk_));
}

// Of a thread that was killed before its second open.
TEST_F(OpenWritersTest, WhereARedirectThatHasExpiredLedToIsEnded) {
  OpenWriters writers(std::chrono::milliseconds(0));
  const auto first = Staged(), second = Staged();
  ASSERT_TRUE(first->Hold() && second->Hold());
  EXPECT_TRUE(writers.Redirect({.write = true, .thread = 10}, chunk_, first).empty());
  const auto ended = writers.Redirect({.write = true, .thread = 11}, other_, second);
  EXPECT_EQ(ended, std::vector{first});
  EXPECT_FALSE(writers.HasWriter(chunk_));
  EXPECT_TRUE(first->End());
  EXPECT_EQ(writers.TakeRedirect(11, second), std::vector{second});
  EXPECT_TRUE(writers.TakeRedirect(11, second).empty());
}

TEST_F(OpenWritersTest, OfTooManyEmptiedChunksTheOldestIsForgotten) {
  const auto chunk = [](std::uint64_t i) {
    return ChunkId{1, {2, 5, OpenWriters::kMostEmptied + 1 - i}, ChunkPart::kPlain};
  };
  for (std::uint64_t i = 0; i < OpenWriters::kMostEmptied; ++i) writers_.MarkEmptied(chunk(i));
  writers_.MarkEmptied(chunk(0));
  writers_.MarkEmptied(chunk_);
  EXPECT_TRUE(writers_.IsEmptied(chunk(0)) && writers_.IsEmptied(chunk_));
  EXPECT_FALSE(writers_.IsEmptied(chunk(1)));
  EXPECT_TRUE(writers_.IsEmptied(chunk(2)));
  writers_.ForgetEmptied(chunk(2));
  EXPECT_FALSE(writers_.IsEmptied(chunk(2)));
}

TEST_F(OpenWritersTest, NothingIsKeptForAThreadWhoseOpenIsOver) {
  const auto staged = Staged();
  const auto others = Staged();
  ASSERT_TRUE(staged->Hold() && others->Hold());
  static_cast<void>(writers_.Redirect({.write = true, .thread = 10}, chunk_, staged));
  static_cast<void>(writers_.Redirect({.write = true, .thread = 11}, chunk_, others));
  writers_.NoteStale(10, other_, 7);
  EXPECT_EQ(writers_.EndOpen(10), std::vector{staged});
  EXPECT_EQ(writers_.Redirected(10, chunk_), nullptr);
  EXPECT_FALSE(writers_.IsWriter(chunk_, staged));
  EXPECT_FALSE(writers_.WasAnsweredStale(10, other_));
  EXPECT_TRUE(staged->End());
  EXPECT_EQ(writers_.Redirected(11, chunk_), others);
  EXPECT_TRUE(writers_.EndOpen(10).empty());
}

TEST_F(OpenWritersTest, ARedirectIsForAnOpenOfTheSameKind) {
  for (const bool truncate : {false, true}) {
    const auto staged = Staged();
    ASSERT_TRUE(staged->Hold());
    OpenRequest request{.write = true, .truncate = truncate, .thread = 10};
    static_cast<void>(writers_.Redirect(request, chunk_, staged));
    EXPECT_TRUE(writers_.EndOtherRedirects(request).empty());
    EXPECT_TRUE(writers_.EndOtherRedirects({.thread = 11}).empty());
    EXPECT_EQ(writers_.Redirected(10, chunk_), staged);
    request.truncate = !truncate;
    EXPECT_EQ(writers_.EndOtherRedirects(request), std::vector{staged});
    ASSERT_TRUE(staged->Hold());
    request.truncate = truncate;
    static_cast<void>(writers_.Redirect(request, chunk_, staged));
    EXPECT_EQ(writers_.EndOtherRedirects({.thread = 10}), std::vector{staged});
    EXPECT_EQ(writers_.Redirected(10, chunk_), nullptr);
    EXPECT_TRUE(staged->End());
  }
}

TEST_F(OpenWritersTest, WhoWaitsForAWriterIsWokenWhenItEnds) {
  const auto staged = Staged();
  EXPECT_TRUE(writers_.WaitForEnd(chunk_, staged)) << "it is none";
  writers_.Enter(chunk_, staged);
  EXPECT_TRUE(writers_.IsWriter(chunk_, staged));
  std::thread closing([&] { writers_.Leave(chunk_, staged); });
  EXPECT_TRUE(writers_.WaitForEnd(chunk_, staged));
  closing.join();
}

TEST_F(OpenWritersTest, AThreadThatWasSentAwayIsRememberedUntilItArrives) {
  writers_.NoteStale(10, chunk_, 7);
  EXPECT_TRUE(writers_.WasAnsweredStale(10, chunk_));
  EXPECT_TRUE(writers_.WasAnsweredStale(10, chunk_, 7));
  EXPECT_FALSE(writers_.WasAnsweredStale(10, chunk_, 8));
  EXPECT_FALSE(writers_.WasAnsweredStale(11, chunk_));
  writers_.NoteStale(10, chunk_, 8);
  EXPECT_FALSE(writers_.WasAnsweredStale(10, chunk_, 7));
  writers_.EndOpen(10);
  EXPECT_FALSE(writers_.WasAnsweredStale(10, chunk_));
  // All threads of another pid namespace have one number: the arrival of one thread says nothing of
  // the others.
  writers_.NoteStale(0, chunk_, 7);
  writers_.NoteStale(0, chunk_, 8);
  writers_.EndOpen(0);
  EXPECT_TRUE(writers_.WasAnsweredStale(0, chunk_, 7));
  EXPECT_TRUE(writers_.WasAnsweredStale(0, chunk_, 8));
}

}  // namespace
}  // namespace unshard
