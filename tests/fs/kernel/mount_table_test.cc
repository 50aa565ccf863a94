#include "fs/kernel/mount_table.h"

#include <gtest/gtest.h>

#include <string>

namespace unshard {
namespace {

constexpr const char* kTable =
    "21 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
    "30 21 0:40 / /mnt/a\\040b rw,nosuid - fuse.unshard /data/x\\134y ro,user_id=0\n"
    "31 30 0:41 / /mnt/a\\040b ro,nosuid master:2 shared:7 - fuse.unshard /data/z rw\n"
    "no line of a table\n"
    "32 21 8:1 /srv/data /bound rw - ext4 /dev/sda1 rw\n";

TEST(MountTable, LinesAreParsedAndEscapesUndone) {
  const auto table = ParseMountTable(kTable);
  ASSERT_EQ(table.size(), 4U);
  EXPECT_EQ(table[1].id, 30U);
  EXPECT_EQ(table[1].minor, 40U);
  EXPECT_EQ(table[1].mount_point, "/mnt/a b");
  EXPECT_EQ(table[1].source, "/data/x\\y");
  EXPECT_TRUE(table[1].read_only) << "by the options of the file system";
  EXPECT_TRUE(table[2].read_only) << "by those of the mount";
  EXPECT_TRUE(table[2].shared);
  EXPECT_TRUE(table[2].is_ours());
  EXPECT_FALSE(table[0].is_ours());
  EXPECT_EQ(table[3].root, "/srv/data");
}

TEST(MountTable, TheMountOnTopIsTheLast) {
  const auto table = ParseMountTable(kTable);
  const auto top = TopMountAt(table, "/mnt/a b");
  ASSERT_TRUE(top);
  EXPECT_EQ(top->id, 31U);
  EXPECT_FALSE(TopMountAt(table, "/mnt"));
}

TEST(MountTable, APathIsHeldByTheInnermostMountAboveIt) {
  const auto table = ParseMountTable(kTable);
  EXPECT_EQ(MountHolding(table, "/bound/deep/er")->id, 32U);
  EXPECT_EQ(MountHolding(table, "/bound")->id, 32U);
  EXPECT_EQ(MountHolding(table, "/boundless")->id, 21U);
  EXPECT_EQ(MountHolding(table, "/")->id, 21U);
  EXPECT_FALSE(MountHolding({}, "/a"));
}

}  // namespace
}  // namespace unshard
