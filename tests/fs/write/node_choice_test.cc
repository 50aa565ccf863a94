// Which node look-ups of a chunk lead to, by what was done to the chunk and to its array.
#include "fs/write/node_choice.h"

#include <gtest/gtest.h>

namespace unshard {
namespace {

const ChunkId kChunk{1, {2, 3, 4}, ChunkPart::kPlain};
const ChunkId kSibling{1, {2, 3, 5}, ChunkPart::kPlain};
const ChunkId kElsewhere{2, {2, 3, 4}, ChunkPart::kPlain};

TEST(NodeChoiceTest, NamesOfArraysThatAreOnlyReadAreRemembered) {
  EXPECT_EQ(NodeChoice().UseFor(kChunk), NodeUse::kCached);
}

TEST(NodeChoiceTest, NamesOfAnArrayThatIsWrittenToAreLookedUpEachTime) {
  NodeChoice choice;
  choice.Wrote(kChunk);
  EXPECT_EQ(choice.UseFor(kChunk), NodeUse::kRevalidated);
  EXPECT_EQ(choice.UseFor(kSibling), NodeUse::kRevalidated);
  EXPECT_EQ(choice.UseFor(kElsewhere), NodeUse::kCached);
}

TEST(NodeChoiceTest, WhoeverIsSentAwayIsLedToANodeOfHisOwn) {
  NodeChoice choice;
  choice.NoteStale(kChunk);
  EXPECT_TRUE(choice.IsContended(kChunk));
  EXPECT_EQ(choice.UseFor(kChunk), NodeUse::kOwn);
  EXPECT_EQ(choice.UseFor(kSibling), NodeUse::kCached);
}

TEST(NodeChoiceTest, BothEnd) {
  NodeChoice choice(std::chrono::milliseconds(0), std::chrono::milliseconds(0));
  choice.Wrote(kChunk);
  choice.NoteStale(kChunk);
  EXPECT_FALSE(choice.IsContended(kChunk));
  EXPECT_EQ(choice.UseFor(kChunk), NodeUse::kCached);
}

TEST(NodeChoiceTest, WhatIsRememberedIsBounded) {
  NodeChoice choice(std::chrono::hours(1));
  constexpr std::uint32_t kMany = 2 * NodeChoice::kMostChunks;
  for (std::uint32_t i = 0; i < kMany; ++i) choice.NoteStale({i, {0, 0, i}, ChunkPart::kPlain});
  std::size_t contended = 0;
  for (std::uint32_t i = 0; i < kMany; ++i) {
    if (choice.IsContended({i, {0, 0, i}, ChunkPart::kPlain})) ++contended;
  }
  EXPECT_EQ(contended, NodeChoice::kMostChunks);
}

}  // namespace
}  // namespace unshard
