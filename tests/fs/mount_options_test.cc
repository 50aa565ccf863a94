#include "fs/mount_options.h"

#include <gtest/gtest.h>

#include "codec/json.h"

namespace unshard {
namespace {

MountOptions Applied(std::string_view list) {
  MountOptions options;
  const Status status = ApplyOptionList(list, options);
  EXPECT_TRUE(status) << (status ? "" : status.error().message);
  return options;
}

void ExpectRefusal(std::string_view list, std::string_view named) {
  MountOptions options;
  const Status status = ApplyOptionList(list, options);
  ASSERT_FALSE(status) << list;
  EXPECT_EQ(status.error().code, ErrorCode::kInvalidArgument) << list;
  EXPECT_NE(status.error().message.find(named), std::string::npos) << status.error().message;
}

TEST(MountOptionsTest, EveryOptionIsTakenOver) {
  EXPECT_EQ(Applied("list=grid").list, ListMode::kGrid);
  EXPECT_EQ(Applied("list=none").list, ListMode::kNone);
  EXPECT_EQ(Applied("list=none,list=present").list, ListMode::kPresent) << "the last one wins";
  EXPECT_EQ(Applied("morton=standard").morton, MortonChoice::kStandard);
  EXPECT_EQ(Applied("morton=legacy").morton, MortonChoice::kLegacy);
  EXPECT_EQ(Applied("morton=legacy,morton=detect").morton, MortonChoice::kDetect);
  EXPECT_EQ(Applied("watch=off").watch, WatchMode::kOff);
  EXPECT_EQ(Applied("watch=off,watch=on").watch, WatchMode::kAutomatic);
  EXPECT_EQ(Applied("ttl=2.5").ttl_milliseconds, 2500u);
  EXPECT_EQ(Applied("ttl=0").ttl_milliseconds, 0u);
  EXPECT_EQ(Applied("memory=64M").memory_bytes, std::uint64_t{64} << 20);
  EXPECT_EQ(Applied("memory=2G").memory_bytes, std::uint64_t{2} << 30);
  EXPECT_EQ(Applied("uid=1000").user, 1000u);
  EXPECT_EQ(Applied("gid=0").group, 0u);
  EXPECT_EQ(Applied("umask=027").umask, 027u);
  EXPECT_EQ(Applied("umask=777").umask, 0777u);
  EXPECT_TRUE(Applied("immutable").immutable);
  EXPECT_TRUE(Applied("allow_other").allow_other);
  const MountOptions all = Applied("list=grid,ttl=3,immutable,uid=7,gid=8");
  EXPECT_EQ(all.list, ListMode::kGrid);
  EXPECT_EQ(all.ttl_milliseconds, 3000u);
  EXPECT_TRUE(all.immutable);
  EXPECT_EQ(all.user, 7u);
  EXPECT_EQ(all.group, 8u);
}

TEST(MountOptionsTest, WordsOfFstabAndSystemdChangeNothing) {
  const MountOptions options = Applied(
      "defaults,,auto,noauto,user,nouser,users,owner,group,_netdev,nofail,ro,rw,async,noatime,"
      "relatime,x-systemd.automount,x-systemd.requires=network.target,X-mount.mkdir,comment=x");
  EXPECT_EQ(DescribeOptions(options), DescribeOptions(MountOptions()));
  EXPECT_TRUE(options.kernel_options.empty());
  EXPECT_EQ(DescribeOptions(Applied("")), DescribeOptions(MountOptions()));
}

TEST(MountOptionsTest, OptionsOfTheKernelArePassedOn) {
  EXPECT_EQ(Applied("nosuid,nodev,noexec").kernel_options,
            (std::vector<std::string>{"nosuid", "nodev", "noexec"}));
}

TEST(MountOptionsTest, ABadValueIsNamedWithWhatWasExpected) {
  ExpectRefusal("list=all", "list=all: expected present, grid or none");
  ExpectRefusal("morton=new", "morton=new: expected");
  ExpectRefusal("watch=maybe", "watch=maybe: expected on or off");
  for (const char* ttl : {"ttl=", "ttl=-1", "ttl=1s", "ttl=nan", "ttl=inf", "ttl=1e9"}) {
    ExpectRefusal(ttl, std::string(ttl) + ": expected a number of seconds");
  }
  for (const char* memory : {"memory=", "memory=1M", "memory=-1", "memory=64MB", "memory=M",
                             "memory=99999999999999999999", "memory=99999999999999G"}) {
    ExpectRefusal(memory, std::string(memory) + ": expected a number of bytes");
  }
  for (const char* id : {"uid=", "uid=root", "gid=-1", "gid=4294967296", "uid=1 "}) {
    ExpectRefusal(id, std::string(id) + ": expected a decimal number");
  }
  for (const char* mask : {"umask=8", "umask=1000", "umask=", "umask=-1"}) {
    ExpectRefusal(mask, std::string(mask) + ": expected an octal mask");
  }
}

TEST(MountOptionsTest, AnUnknownOptionIsNamed) {
  ExpectRefusal("nosuid,bogus", "unknown option bogus");
  ExpectRefusal("bogus=1,list=grid", "unknown option bogus");
  ExpectRefusal("immutable=1", "unknown option immutable");
  ExpectRefusal("list", "unknown option list");
}

TEST(MountOptionsTest, ByteCountsHaveBinarySuffixes) {
  EXPECT_EQ(ParseByteCount("65536"), 65536u);
  EXPECT_EQ(ParseByteCount("1k"), 1024u);
  EXPECT_EQ(ParseByteCount("3K"), 3072u);
  EXPECT_EQ(ParseByteCount("1m"), 1048576u);
  EXPECT_EQ(ParseByteCount("1g"), 1073741824u);
  EXPECT_EQ(ParseByteCount("18446744073709551615"), ~std::uint64_t{0});
  for (const char* text :
       {"", "K", "1T", "-1", "1.5M", " 1", "0x10", "18446744073709551616", "17179869184G"}) {
    EXPECT_FALSE(ParseByteCount(text)) << text;
  }
}

TEST(MountOptionsTest, TheDescriptionIsJsonOfWhatIsInForce) {
  const auto json = ParseJson(DescribeOptions(Applied("list=none,watch=off,ttl=7,umask=22")));
  ASSERT_TRUE(json);
  EXPECT_EQ(json->Find("list")->text(), "none");
  EXPECT_EQ(json->Find("watch")->text(), "off");
  EXPECT_EQ(json->Find("ttl_milliseconds")->text(), "7000");
  EXPECT_TRUE(json->Find("read_only")->boolean());
}

}  // namespace
}  // namespace unshard
