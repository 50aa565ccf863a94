// Which thread's open is given which bytes after it was sent away.
#include "fs/reader_pins.h"

#include <gtest/gtest.h>

namespace unshard {
namespace {

const ChunkId kChunk{1, {2, 3, 4}, ChunkPart::kPlain};
const ChunkId kOther{1, {2, 3, 5}, ChunkPart::kPlain};

ContentPtr Content() { return MakeBytesContent(Bytes(ByteVector{1, 2, 3})); }

TEST(ReaderPinsTest, TheThreadThatWasSentAwayIsGivenWhatItsLookUpWasAnsweredWith) {
  ReaderPins pins;
  pins.SendAway(10, kChunk);
  EXPECT_TRUE(pins.Awaits(10, kChunk));
  EXPECT_FALSE(pins.Awaits(11, kChunk));
  EXPECT_FALSE(pins.Awaits(10, kOther));
  const ContentPtr content = Content();
  pins.Pin(10, kChunk, 7, content);
  EXPECT_EQ(pins.Take(11, kChunk, 7), nullptr);
  EXPECT_EQ(pins.Take(10, kOther, 7), nullptr);
  EXPECT_EQ(pins.Take(10, kChunk, 7), content);
  EXPECT_EQ(pins.Take(10, kChunk, 7), nullptr) << "once";
  EXPECT_FALSE(pins.Awaits(10, kChunk));
}

TEST(ReaderPinsTest, TheLatestOfTwoLookUpsCounts) {
  ReaderPins pins;
  pins.SendAway(10, kChunk);
  pins.Pin(10, kChunk, 7, Content());
  const ContentPtr later = Content();
  pins.Pin(10, kChunk, 8, later);
  EXPECT_EQ(pins.Take(10, kChunk, 8), later);
}

TEST(ReaderPinsTest, AnOpenOfAnotherNodeEndsTheWait) {
  ReaderPins pins;
  pins.SendAway(10, kChunk);
  pins.Pin(10, kChunk, 7, Content());
  EXPECT_EQ(pins.Take(10, kChunk, 8), nullptr);
  EXPECT_EQ(pins.Take(10, kChunk, 7), nullptr) << "that was another call";
}

TEST(ReaderPinsTest, NothingIsPinnedForThreadsThatWereNotSentAwayOrThatAreNobody) {
  ReaderPins pins;
  pins.Pin(10, kChunk, 7, Content());
  EXPECT_EQ(pins.Take(10, kChunk, 7), nullptr);
  pins.SendAway(0, kChunk);
  EXPECT_FALSE(pins.Awaits(0, kChunk));
}

TEST(ReaderPinsTest, ALookUpThatFindsNothingEndsTheWait) {
  ReaderPins pins;
  pins.SendAway(10, kChunk);
  pins.Pin(10, kChunk, 7, Content());
  pins.GiveUp(10, kChunk);
  EXPECT_FALSE(pins.Awaits(10, kChunk));
  EXPECT_EQ(pins.Take(10, kChunk, 7), nullptr);
}

TEST(ReaderPinsTest, PinsExpire) {
  ReaderPins pins(std::chrono::milliseconds(0));
  pins.SendAway(10, kChunk);
  EXPECT_FALSE(pins.Awaits(10, kChunk));
  EXPECT_EQ(pins.Take(10, kChunk, 7), nullptr);
}

TEST(ReaderPinsTest, TheirNumberIsBoundedAndTheOldestGoFirst) {
  ReaderPins pins;
  const ContentPtr content = Content();
  const auto most = static_cast<pid_t>(ReaderPins::kMostPins);
  for (pid_t thread = 1; thread <= most + 5; ++thread) {
    pins.SendAway(thread, kChunk);
    pins.Pin(thread, kChunk, 7, content);
  }
  EXPECT_EQ(content.use_count(), 1 + most);
  EXPECT_FALSE(pins.Awaits(5, kChunk));
  EXPECT_TRUE(pins.Awaits(6, kChunk));
  // A second round of the same thread takes the place of its first one.
  pins.SendAway(6, kChunk);
  EXPECT_EQ(content.use_count(), most);
  EXPECT_EQ(pins.Take(6, kChunk, 7), nullptr) << "not looked up again yet";
}

}  // namespace
}  // namespace unshard
