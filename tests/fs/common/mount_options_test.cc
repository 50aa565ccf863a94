#include "fs/common/mount_options.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>

#include "codec/json/parser.h"
#include "fs/common/option_table.h"
#include "store/volume/spool_folder.h"

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
  EXPECT_EQ(Applied("").view, "native");
  EXPECT_EQ(Applied("view=native").view, "native");
  EXPECT_EQ(Applied("morton=standard").morton, MortonChoice::kStandard);
  EXPECT_EQ(Applied("morton=legacy").morton, MortonChoice::kLegacy);
  EXPECT_EQ(Applied("morton=legacy,morton=detect").morton, MortonChoice::kDetect);
  EXPECT_EQ(Applied("watch=off").watch, WatchMode::kOff);
  EXPECT_EQ(Applied("watch=off,watch=on").watch, WatchMode::kAutomatic);
  EXPECT_EQ(Applied("ttl=2.5").ttl_milliseconds, 2500u);
  EXPECT_EQ(Applied("ttl=0").ttl_milliseconds, 0u);
  EXPECT_EQ(Applied("cache=/var/cache/seg").cache, "/var/cache/seg");
  EXPECT_EQ(Applied("").cache, "");
  EXPECT_EQ(Applied("cache_size=16M").cache_bytes, std::uint64_t{16} << 20);
  EXPECT_EQ(Applied("memory=64M").memory_bytes, std::uint64_t{64} << 20);
  EXPECT_EQ(Applied("memory=2G").memory_bytes, std::uint64_t{2} << 30);
  EXPECT_EQ(Applied("uid=1000").user, 1000u);
  EXPECT_EQ(Applied("gid=0").group, 0u);
  EXPECT_EQ(Applied("umask=027").umask, 027u);
  EXPECT_EQ(Applied("umask=777").umask, 0777u);
  EXPECT_EQ(Applied("fmask=133").file_mask, 0133u);
  EXPECT_EQ(Applied("dmask=022").directory_mask, 022u);
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
      "defaults,,auto,noauto,user,nouser,users,owner,group,_netdev,nofail,async,noatime,"
      "relatime,x-systemd.automount,x-systemd.requires=network.target,X-mount.mkdir,comment=x");
  EXPECT_EQ(DescribeOptions(options), DescribeOptions(MountOptions()));
  EXPECT_TRUE(options.kernel_options.empty());
  EXPECT_EQ(DescribeOptions(Applied("")), DescribeOptions(MountOptions()));
}

TEST(MountOptionsTest, AMountIsWritableUnlessForbidden) {
  EXPECT_FALSE(Applied("").read_only);
  EXPECT_FALSE(Applied("rw").read_only);
  EXPECT_TRUE(Applied("ro").read_only);
  EXPECT_FALSE(Applied("ro,rw").read_only) << "the last one wins";
  EXPECT_TRUE(Applied("rw,ro").read_only);
  // What never changes is not written to, in whichever order mount(8) says so.
  EXPECT_TRUE(Applied("rw,immutable").read_only);
  EXPECT_TRUE(Applied("immutable,rw").read_only);
}

TEST(MountOptionsTest, OptionsOfWritingAreTakenOver) {
  const MountOptions by_default = Applied("");
  EXPECT_EQ(by_default.spool, "");
  EXPECT_EQ(by_default.spool_bytes, std::uint64_t{4} << 30);
  EXPECT_EQ(by_default.spool_files, 131072u);
  EXPECT_EQ(by_default.publish_after_milliseconds, 5000u);
  EXPECT_EQ(by_default.publish_threads, 2u);
  EXPECT_EQ(by_default.sync, SyncMode::kSpool);
  EXPECT_FALSE(by_default.strict);
  EXPECT_FALSE(by_default.single_writer);
  EXPECT_TRUE(Applied("single_writer").single_writer);
  EXPECT_TRUE(Applied("lossy=yes").lossy);
  EXPECT_FALSE(Applied("lossy=yes,lossy=no").lossy);
  EXPECT_FALSE(by_default.anonymous);
  EXPECT_TRUE(Applied("anonymous").anonymous);
  EXPECT_FALSE(by_default.allow_http);
  EXPECT_TRUE(Applied("allow_http").allow_http);
  EXPECT_EQ(by_default.endpoint + by_default.region + by_default.profile, "");
  const MountOptions bucket = Applied("endpoint=https://host:1/a=b,region=eu-1,profile=lab");
  EXPECT_EQ(bucket.endpoint, "https://host:1/a=b");
  EXPECT_EQ(bucket.region, "eu-1");
  EXPECT_EQ(bucket.profile, "lab");
  EXPECT_FALSE(by_default.no_io_uring);
  EXPECT_TRUE(Applied("no_io_uring").no_io_uring);
  const MountOptions all = Applied(
      "spool=/var/spool/a=b,spool_size=1M,spool_files=1,publish_after=0.25,"
      "publish_threads=64,sync=store,strict");
  EXPECT_EQ(all.spool, "/var/spool/a=b");
  EXPECT_EQ(all.spool_bytes, std::uint64_t{1} << 20);
  EXPECT_EQ(all.spool_files, 1u);
  EXPECT_EQ(all.publish_after_milliseconds, 250u);
  EXPECT_EQ(all.publish_threads, 64u);
  EXPECT_EQ(all.sync, SyncMode::kStore);
  EXPECT_TRUE(all.strict);
  EXPECT_EQ(Applied("sync=store,sync=spool").sync, SyncMode::kSpool);
  EXPECT_EQ(Applied("publish_after=0").publish_after_milliseconds, 0u);
  EXPECT_EQ(Applied("sync").sync, SyncMode::kSpool) << "the word alone is the kernel's";
  EXPECT_EQ(Applied("sync").kernel_options, std::vector<std::string>{"sync"});
}

TEST(MountOptionsTest, BadValuesOfWritingAreNamed) {
  ExpectRefusal("spool=", "spool=: expected a directory");
  for (const char* size : {"spool_size=", "spool_size=1023K", "spool_size=4T", "spool_size=-1"}) {
    ExpectRefusal(size, std::string(size) + ": expected a number of bytes of at least 1M");
  }
  for (const char* files : {"spool_files=0", "spool_files=", "spool_files=1k",
                            "spool_files=4294967297", "spool_files=-1"}) {
    ExpectRefusal(files, std::string(files) + ": expected a number from 1 to 4294967296");
  }
  for (const char* threads : {"publish_threads=0", "publish_threads=65", "publish_threads=two"}) {
    ExpectRefusal(threads, std::string(threads) + ": expected a number from 1 to 64");
  }
  for (const char* after : {"publish_after=", "publish_after=-1", "publish_after=5s"}) {
    ExpectRefusal(after, std::string(after) + ": expected a number of seconds");
  }
  ExpectRefusal("sync=disk", "sync=disk: expected spool or store");
  ExpectRefusal("strict=1", "option strict=1: expected strict without a value");
}

TEST(MountOptionsTest, SpoolsAreInTheUsersStateFolder) {
  const auto set = [](const char* name, const char* value) {
    value == nullptr ? unsetenv(name) : setenv(name, value, 1);
  };
  const char* home = getenv("HOME");
  const std::string home_before = home == nullptr ? "" : home;
  set("XDG_STATE_HOME", "/state");
  set("HOME", "/users/somebody");
  EXPECT_EQ(DefaultSpoolFolder(), "/state/unshard/spool");
  set("XDG_STATE_HOME", "relative");
  EXPECT_EQ(DefaultSpoolFolder(), "/users/somebody/.local/state/unshard/spool");
  set("XDG_STATE_HOME", nullptr);
  EXPECT_EQ(DefaultSpoolFolder(), "/users/somebody/.local/state/unshard/spool");
  set("HOME", nullptr);
  EXPECT_EQ(DefaultSpoolFolder(), "/var/lib/unshard/spool");
  set("HOME", "");
  EXPECT_EQ(DefaultSpoolFolder(), "/var/lib/unshard/spool");
  set("HOME", home == nullptr ? nullptr : home_before.c_str());
}

TEST(MountOptionsTest, OptionsOfTheKernelArePassedOn) {
  EXPECT_EQ(Applied("nosuid,nodev,noexec").kernel_options,
            (std::vector<std::string>{"nosuid", "nodev", "noexec"}));
}

TEST(MountOptionsTest, ABadValueIsNamedWithWhatWasExpected) {
  ExpectRefusal("list=all", "list=all: expected present, grid or none");
  EXPECT_EQ(Applied("files=npy:raw:npy").files, (std::vector<std::string>{"npy", "raw"}));
  EXPECT_EQ(Applied("files=npy,files=nii").files, std::vector<std::string>{"nii"});
  const std::string formats = "expected some of npy, nii, nrrd and raw, with colons between them";
  ExpectRefusal("files=npy:tiff", "files=npy:tiff: " + formats);
  ExpectRefusal("files=", "files=: " + formats);
  ExpectRefusal("view=tiff", "view=tiff: expected native, raw, precomputed, zarr3, zarr2, n5, all");
  ExpectRefusal("morton=new", "morton=new: expected");
  ExpectRefusal("watch=maybe", "watch=maybe: expected on or off");
  for (const char* ttl : {"ttl=", "ttl=-1", "ttl=1s", "ttl=nan", "ttl=inf", "ttl=1e9"}) {
    ExpectRefusal(ttl, std::string(ttl) + ": expected a number of seconds");
  }
  for (const char* memory : {"memory=", "memory=1M", "memory=-1", "memory=64MB", "memory=M",
                             "memory=99999999999999999999", "memory=99999999999999G"}) {
    ExpectRefusal(memory, std::string(memory) + ": expected a number of bytes");
  }
  for (const char* id :
       {"uid=", "uid=root", "gid=-1", "gid=4294967295", "gid=4294967296", "uid=1 0"}) {
    ExpectRefusal(id, std::string(id) + ": expected a decimal number");
  }
  for (const char* mask : {"umask=8", "umask=1000", "umask=", "umask=-1", "fmask=9", "dmask=x"}) {
    ExpectRefusal(mask, std::string(mask) + ": expected an octal mask");
  }
}

TEST(MountOptionsTest, AnUnknownOptionIsNamed) {
  ExpectRefusal("nosuid,bogus", "option bogus: unknown; ");
  ExpectRefusal("bogus=1,list=grid", "option bogus: unknown; ");
  ExpectRefusal("veiw=zarr2", "option veiw: unknown; did you mean view?; see");
  ExpectRefusal("npy", "option npy: unknown; see");
  ExpectRefusal("immutable=1", "option immutable=1: expected immutable without a value");
  ExpectRefusal("list", "option list: expected list=present|grid|none");
}

TEST(MountOptionsTest, SpacesBesideCommasAreNoPartOfAnOption) {
  const MountOptions options = Applied("ro, view=raw , uid=1 ");
  EXPECT_TRUE(options.read_only);
  EXPECT_EQ(options.view, "raw");
  EXPECT_EQ(options.user, 1u);
}

TEST(MountOptionsTest, EveryValueThatTheTableNamesIsTaken) {
  for (const MountOption& option : MountOptionTable()) {
    EXPECT_EQ(FindMountOption(option.name), &option);
    EXPECT_TRUE(option.text.ends_with(".")) << option.name;
    const std::string name = std::string(option.name) + "=";
    if (!option.fallback.empty()) Applied(name + std::string(option.fallback));
    for (std::string_view rest = option.values; !rest.empty();) {
      const std::size_t bar = std::min(rest.find('|'), rest.size());
      if (std::islower(rest.front()) != 0) Applied(name + std::string(rest.substr(0, bar)));
      rest.remove_prefix(std::min(bar + 1, rest.size()));
    }
  }
}

TEST(MountOptionsTest, TheHelpNamesEveryOption) {
  const std::string help = MountOptionsHelp();
  for (const MountOption& option : MountOptionTable()) {
    EXPECT_NE(help.find("\n  " + std::string(option.name)), std::string::npos) << option.name;
  }
  EXPECT_EQ(MountOptionsJson().items().size(), MountOptionTable().size());
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
  const auto json = ParseJson(DescribeOptions(
      Applied("list=none,watch=off,ttl=7,umask=22,spool=/s,spool_size=2M,spool_files=9,"
              "publish_after=1.5,publish_threads=3,sync=store,strict")));
  ASSERT_TRUE(json);
  EXPECT_EQ(json->Find("list")->text(), "none");
  EXPECT_EQ(json->Find("morton")->text(), "detect");
  EXPECT_EQ(json->Find("watch")->text(), "off");
  EXPECT_EQ(json->Find("ttl_milliseconds")->text(), "7000");
  EXPECT_FALSE(json->Find("read_only")->boolean());
  EXPECT_EQ(json->Find("spool")->text(), "/s");
  EXPECT_EQ(json->Find("spool_bytes")->text(), "2097152");
  EXPECT_EQ(json->Find("spool_files")->text(), "9");
  EXPECT_EQ(json->Find("publish_after_milliseconds")->text(), "1500");
  EXPECT_EQ(json->Find("publish_threads")->text(), "3");
  EXPECT_EQ(json->Find("sync")->text(), "store");
  EXPECT_TRUE(json->Find("strict")->boolean());
  const auto immutable = ParseJson(DescribeOptions(Applied("immutable")));
  ASSERT_TRUE(immutable);
  EXPECT_TRUE(immutable->Find("read_only")->boolean());
}

}  // namespace
}  // namespace unshard
