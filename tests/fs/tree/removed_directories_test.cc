#include "fs/tree/removed_directories.h"

#include <gtest/gtest.h>

namespace unshard {
namespace {

TEST(RemovedDirectoriesTest, EachRemovalGivesAnotherGeneration) {
  RemovedDirectories removed;
  EXPECT_EQ(removed.GenerationOf("c/3"), 0u);
  removed.Add("c/3", 0);
  const std::uint64_t first = removed.GenerationOf("c/3");
  EXPECT_NE(first, 0u);
  EXPECT_EQ(removed.GenerationOf("c/4"), 0u);
  removed.Add("c/3", 0);
  EXPECT_NE(removed.GenerationOf("c/3"), first);
}

TEST(RemovedDirectoriesTest, TheLatestOnesAreRemembered) {
  RemovedDirectories removed;
  removed.Add("first", 0);
  removed.Add("second", 0);
  for (std::size_t i = 0; i + 2 < RemovedDirectories::kRemembered; ++i) {
    removed.Add("c/" + std::to_string(i), 0);
  }
  EXPECT_NE(removed.GenerationOf("first"), 0u);
  removed.Add("first", 0);
  EXPECT_NE(removed.GenerationOf("first"), 0u) << "its earlier removal is forgotten, not this one";
  removed.Add("one more", 0);
  EXPECT_EQ(removed.GenerationOf("second"), 0u);
  EXPECT_NE(removed.GenerationOf("first"), 0u);
}

TEST(RemovedDirectoriesTest, WhoHasRemovedOneDoesNotFindItUntilItIsMade) {
  RemovedDirectories removed;
  removed.Add("c/3", 7);
  removed.Add("c/4", 0);
  EXPECT_EQ(removed.MissingFor("c/3"), 7);
  EXPECT_EQ(removed.MissingFor("c/4"), 0) << "threads of other pid namespaces all have 0";
  EXPECT_TRUE(removed.Made("c/3"));
  EXPECT_FALSE(removed.Made("c/3"));
  EXPECT_FALSE(removed.Made("c/4"));
  EXPECT_EQ(removed.MissingFor("c/3"), 0);
  EXPECT_NE(removed.GenerationOf("c/3"), 0u);
}

}  // namespace
}  // namespace unshard
