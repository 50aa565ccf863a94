#include "store/local/mount_table.h"

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

MountEntry ParseOne(const std::string& line) {
  const auto table = ParseMountTable(line);
  EXPECT_EQ(table.size(), 1U) << line;
  return table.empty() ? MountEntry() : table.front();
}

TEST(MountTableTest, LinesAreParsedAndEscapesUndone) {
  const auto table = ParseMountTable(kTable);
  ASSERT_EQ(table.size(), 4U);
  EXPECT_EQ(table[1].id, 30U);
  EXPECT_EQ(table[0].major, 8U);
  EXPECT_EQ(table[1].minor, 40U);
  EXPECT_EQ(table[1].mount_point, "/mnt/a b");
  EXPECT_EQ(table[1].type, "fuse.unshard");
  EXPECT_EQ(table[1].source, "/data/x\\y");
  EXPECT_EQ(table[1].file_system_options, (std::vector<std::string>{"ro", "user_id=0"}));
  EXPECT_TRUE(table[1].read_only) << "by the options of the file system";
  EXPECT_TRUE(table[2].read_only) << "by those of the mount";
  EXPECT_FALSE(table[0].read_only);
  EXPECT_TRUE(table[0].shared);
  EXPECT_FALSE(table[1].shared);
  EXPECT_TRUE(table[2].shared) << "whatever other fields are before the dash";
  EXPECT_EQ(table[3].root, "/srv/data");
  EXPECT_TRUE(table[3].is_on_device_of(table[0]));
  EXPECT_FALSE(table[1].is_on_device_of(table[2]));
}

TEST(MountTableTest, EveryEscapeOfTheKernelIsUndoneAndNothingElse) {
  EXPECT_EQ(ParseOne("1 1 0:1 /\\011a /\\012\\043\\134040 rw - ext4 d\\040 rw").mount_point,
            "/\n#\\040");
  EXPECT_EQ(ParseOne("1 1 0:1 /\\011a /m rw - ext4 d rw").root, "/\ta");
  for (const std::string plain : {"/x\\", "/x\\04", "/x\\09a", "/x\\777", "/x\\+40"}) {
    EXPECT_EQ(ParseOne("1 1 0:1 / " + plain + " rw - ext4 d rw").mount_point, plain);
  }
}

TEST(MountTableTest, ASourceMayBeEmptyOrADash) {
  const MountEntry empty = ParseOne("1 1 0:1 / /m rw - tmpfs  ro,size=4k");
  EXPECT_EQ(empty.source, "");
  EXPECT_TRUE(empty.read_only);
  const MountEntry dash = ParseOne("1 1 0:1 / /m rw shared:3 - tmpfs - rw");
  EXPECT_EQ(dash.source, "-");
  EXPECT_TRUE(dash.shared);
}

TEST(MountTableTest, LinesOfAnotherFormAreLeftOut) {
  for (const char* line :
       {"", " ", "1 1 0:1 / /m rw", "1 1 0:1 / /m rw -", "1 1 0:1 / /m rw - ext4",
        "1 1 0:1 / /m rw - ext4 d", "1 1 0:1 / /m - ext4 d rw", "x 1 0:1 / /m rw - ext4 d rw",
        "-1 1 0:1 / /m rw - ext4 d rw", "1 1 0 / /m rw - ext4 d rw", "1 1 0:x / /m rw - ext4 d rw",
        "1 1 0:1:2 / /m rw - ext4 d rw", "1 1 0:4294967296 / /m rw - ext4 d rw",
        "18446744073709551616 1 0:1 / /m rw - ext4 d rw"}) {
    EXPECT_TRUE(ParseMountTable(line).empty()) << line;
  }
  EXPECT_EQ(ParseMountTable(std::string("\n") + kTable + "\nrest").size(), 4U);
}

TEST(MountTableTest, TheTableOfThisProcessHasARootAndOthersAreNamed) {
  const auto table = ReadMountTable();
  ASSERT_TRUE(table) << table.error().message;
  EXPECT_TRUE(MountHolding(*table, "/proc/self"));
  const auto missing = ReadMountTable("/proc/none");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(missing.error().message, "/proc/none/mountinfo: cannot be read; mount /proc first");
}

TEST(MountTableTest, TheMountOnTopIsTheLast) {
  const auto table = ParseMountTable(kTable);
  const auto top = TopMountAt(table, "/mnt/a b");
  ASSERT_TRUE(top);
  EXPECT_EQ(top->id, 31U);
  EXPECT_FALSE(TopMountAt(table, "/mnt"));
}

TEST(MountTableTest, APathIsHeldByTheInnermostMountAboveIt) {
  const auto table = ParseMountTable(kTable);
  EXPECT_EQ(MountHolding(table, "/bound/deep/er")->id, 32U);
  EXPECT_EQ(MountHolding(table, "/bound")->id, 32U);
  EXPECT_EQ(MountHolding(table, "/boundless")->id, 21U);
  EXPECT_EQ(MountHolding(table, "/")->id, 21U);
  EXPECT_FALSE(MountHolding({}, "/a"));
}

TEST(MountTableTest, APathIsInsideADirectoryByAnyOfItsPaths) {
  const auto table = ParseMountTable(kTable);
  EXPECT_TRUE(IsInside(table, "/a/b", "/a"));
  EXPECT_TRUE(IsInside(table, "/a", "/a"));
  EXPECT_FALSE(IsInside(table, "/ab", "/a"));
  EXPECT_TRUE(IsInside(table, "/bound/x", "/srv/data")) << "a bind mount";
  EXPECT_TRUE(IsInside(table, "/srv/data/x", "/bound"));
  EXPECT_FALSE(IsInside(table, "/srv/other", "/bound"));
  EXPECT_FALSE(IsInside(table, "/mnt/a b/x", "/bound")) << "another file system";
}

TEST(MountTableTest, EveryPathIsInsideTheRoot) {
  const auto table = ParseMountTable(kTable);
  EXPECT_TRUE(IsInside(table, "/srv", "/"));
  EXPECT_TRUE(IsInside(table, "/mnt/a b/x", "/"));
  EXPECT_TRUE(IsInside(table, "/", "/"));
  EXPECT_FALSE(IsInside(table, "/", "/srv"));
  EXPECT_TRUE(IsInside({}, "/srv", "/"));
}

}  // namespace
}  // namespace unshard
