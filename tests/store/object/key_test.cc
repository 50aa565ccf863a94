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

TEST(KeyTest, RelativeDirectoriesAreResolvedInsideTheRoot) {
  EXPECT_EQ(ResolvePath("vol", "8_8_8"), "vol/8_8_8");
  EXPECT_EQ(ResolvePath("vol", "."), "vol");
  EXPECT_EQ(ResolvePath("vol", ""), "vol");
  EXPECT_EQ(ResolvePath("vol", "../other//8_8_8/"), "other/8_8_8");
  EXPECT_EQ(ResolvePath("a/b", "../../c"), "c");
  EXPECT_EQ(ResolvePath("a", ".."), "");
}

TEST(KeyTest, ADirectoryOutsideTheRootIsNone) {
  EXPECT_EQ(ResolvePath("", ".."), std::nullopt);
  EXPECT_EQ(ResolvePath("a", "../../b"), std::nullopt);
  EXPECT_EQ(ResolvePath("a", "b/../../../a/b"), std::nullopt);
}

}  // namespace
}  // namespace unshard
