#include "store/local/cross_host_locks.h"

#include <gtest/gtest.h>
#include <sys/sysmacros.h>

namespace unshard {
namespace {

constexpr std::string_view kMounts =
    "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw,errors=remount-ro\n"
    "40 22 0:40 / /a rw,nosuid - nfs server:/a rw,vers=3,nolock,proto=tcp,local_lock=all\n"
    "41 22 0:41 / /b rw - nfs4 server:/b rw,vers=4.2,proto=tcp,local_lock=none\n"
    "42 22 0:42 / /c rw - nfs4 server:/c rw,vers=4.0,local_lock=posix\n"
    "43 22 0:43 / /with\\040-\\040dash rw master:3 propagate_from:2 - fuse.sshfs me@host: "
    "rw,user_id=0\n"
    "44 22 0:44 / /e rw - fuse.bindfs /x rw\n"
    "45 22 0:45 / /f rw - cifs //server/f rw,nobrl,vers=3.1.1\n"
    "46 22 0:46 / /g rw - nfs server:/g rw,vers=3,local_lock=flock\n"
    "47 22 0:47 / cut off\n";

std::optional<std::string> WhyLocal(unsigned major, unsigned minor) {
  return WhyLocksAreLocal(ParseMountTable(kMounts), makedev(major, minor));
}

TEST(CrossHostLocksTest, FileSystemsThatKeepLocksToThemselvesAreNamedWithTheOption) {
  const auto nfs = WhyLocal(0, 40);
  ASSERT_TRUE(nfs);
  EXPECT_EQ(*nfs, "nfs, mounted with nolock, has no locks between hosts");
  EXPECT_EQ(WhyLocal(0, 42), "nfs4, mounted with local_lock=posix, has no locks between hosts");
  EXPECT_EQ(WhyLocal(0, 43), "fuse.sshfs has no locks between hosts");
  EXPECT_EQ(WhyLocal(0, 45), "cifs, mounted with nobrl, has no locks between hosts");
}

TEST(CrossHostLocksTest, LocalFileSystemsAndThoseThatLockOnTheServerAreNot) {
  EXPECT_FALSE(WhyLocal(8, 1));
  for (const unsigned minor : {41U, 44U, 46U, 47U, 99U}) {
    EXPECT_FALSE(WhyLocal(0, minor)) << minor;
  }
  EXPECT_FALSE(WhyLocksAreLocal(std::string("/proc")));
  EXPECT_FALSE(WhyLocksAreLocal(std::string("/does/not/exist")));
}

}  // namespace
}  // namespace unshard
