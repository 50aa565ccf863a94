#include "fs/common/paths.h"

#include <gtest/gtest.h>

namespace unshard {
namespace {

TEST(PathsTest, RelativeDirectoriesAreResolvedInsideTheRoot) {
  EXPECT_EQ(ResolvePath("vol", "8_8_8"), "vol/8_8_8");
  EXPECT_EQ(ResolvePath("vol", "."), "vol");
  EXPECT_EQ(ResolvePath("vol", ""), "vol");
  EXPECT_EQ(ResolvePath("vol", "../other//8_8_8/"), "other/8_8_8");
  EXPECT_EQ(ResolvePath("a/b", "../../c"), "c");
  EXPECT_EQ(ResolvePath("a", ".."), "");
}

TEST(PathsTest, ADirectoryOutsideTheRootIsNone) {
  EXPECT_EQ(ResolvePath("", ".."), std::nullopt);
  EXPECT_EQ(ResolvePath("a", "../../b"), std::nullopt);
  EXPECT_EQ(ResolvePath("a", "b/../../../a/b"), std::nullopt);
}

}  // namespace
}  // namespace unshard
