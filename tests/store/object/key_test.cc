#include "store/object/key.h"

#include <gtest/gtest.h>

namespace unshard {
namespace {

TEST(KeyTest, JoinAndSplitAreInverse) {
  EXPECT_EQ(JoinPath("a/b", "c"), "a/b/c");
  EXPECT_EQ(JoinPath("", "c"), "c");
  EXPECT_EQ(JoinPath("a", ""), "a");
  EXPECT_EQ(JoinPath("", ""), "");
  for (const std::string path : {"a", "a/b", "a/b/c"}) {
    EXPECT_EQ(JoinPath(ParentPath(path), BaseName(path)), path);
  }
  EXPECT_EQ(ParentPath("a"), "");
  EXPECT_EQ(ParentPath(""), "");
  EXPECT_EQ(BaseName("a"), "a");
  EXPECT_EQ(BaseName(""), "");
}

TEST(KeyTest, BelowIsAMatterOfWholeComponents) {
  EXPECT_TRUE(IsAtOrBelow("a/b", "a"));
  EXPECT_TRUE(IsAtOrBelow("a/b", "a/b"));
  EXPECT_TRUE(IsAtOrBelow("a", ""));
  EXPECT_TRUE(IsAtOrBelow("", ""));
  EXPECT_FALSE(IsAtOrBelow("ab", "a"));
  EXPECT_FALSE(IsAtOrBelow("a", "a/b"));
  EXPECT_FALSE(IsAtOrBelow("", "a"));
}

}  // namespace
}  // namespace unshard
