#include "store/cache/cache_files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "store/local/posix_file_system.h"
#include "store/object/time_now.h"
#include "tests/support/temporary_directory.h"

namespace unshard {
namespace {

class CacheFilesTest : public testing::Test {
 protected:
  static CacheDigest Digest(int number) { return DigestOf({"test", std::to_string(number)}); }
  // Takes two blocks on the disk.
  void Put(int number) {
    CacheEntry entry;
    entry.bytes = Bytes(ByteVector(5000, static_cast<std::uint8_t>(number)));
    const auto written = files_.Write(Digest(number), entry);
    ASSERT_TRUE(written) << written.error().message;
    EXPECT_EQ(*written, 8192u);
  }
  void Age(int number, int seconds) {
    std::filesystem::last_write_time(
        directory_.At(CacheName(Digest(number))),
        std::filesystem::file_time_type::clock::now() - std::chrono::seconds(seconds));
  }
  std::vector<int> Kept(int count) {
    std::vector<int> kept;
    for (int i = 0; i < count; ++i) {
      if (files_.Has(Digest(i))) kept.push_back(i);
    }
    return kept;
  }

  TemporaryDirectory directory_;
  CacheFiles files_{*OpenPosixFileSystem(directory_.path(), NewFiles::kPrivate), TimeNow};
};

TEST_F(CacheFilesTest, WhatIsWrittenIsRead) {
  EXPECT_FALSE(files_.Read(Digest(1)).entry);
  Put(1);
  const auto found = files_.Read(Digest(1));
  ASSERT_TRUE(found.entry);
  EXPECT_EQ(found.entry->bytes.size(), 5000u);
  EXPECT_EQ(found.entry->bytes.span()[4999], 1);
  files_.Remove(Digest(1));
  EXPECT_FALSE(files_.Has(Digest(1)));
}

TEST_F(CacheFilesTest, NobodyElseCanReadIt) {
  Put(1);
  struct stat status {};
  const std::string path = directory_.At(CacheName(Digest(1)));
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0600u);
  ASSERT_EQ(::stat(std::filesystem::path(path).parent_path().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0700u);
}

TEST_F(CacheFilesTest, ADamagedEntryIsRemoved) {
  Put(1);
  directory_.Write(CacheName(Digest(1)), "something else");
  const auto found = files_.Read(Digest(1));
  EXPECT_FALSE(found.entry);
  EXPECT_TRUE(found.damaged);
  EXPECT_FALSE(files_.Has(Digest(1)));
  // What stands in its place and is no file is a miss as well, and stays.
  std::filesystem::create_directories(directory_.At(CacheName(Digest(2))));
  EXPECT_FALSE(files_.Read(Digest(2)).entry);
}

TEST_F(CacheFilesTest, ShrinkRemovesTheOldestOfAll) {
  for (int i = 0; i < 10; ++i) {
    Put(i);
    Age(i, 100 * (10 - i));  // 0 is the oldest
  }
  auto contents = files_.Shrink(10 * 8192, 0);
  EXPECT_EQ(contents.bytes, 10 * 8192u);
  EXPECT_EQ(contents.entries, 10u);
  EXPECT_EQ(contents.removed, 0u) << "there is room";
  EXPECT_TRUE(files_.Read(Digest(0)).entry);  // becomes the youngest
  contents = files_.Shrink(9 * 8192, 4 * 8192);
  EXPECT_EQ(contents.removed, 6u);
  EXPECT_EQ(contents.bytes, 4 * 8192u);
  EXPECT_EQ(Kept(10), (std::vector<int>{0, 7, 8, 9}));
}

TEST_F(CacheFilesTest, ShrinkRemovesAsManyAsItTakesOfEqualAges) {
  for (int i = 0; i < 20; ++i) {
    Put(i);
    Age(i, i < 10 ? 1 : 1000000000);  // years: all in one class
  }
  const auto contents = files_.Shrink(0, 15 * 8192);
  EXPECT_EQ(contents.entries, 15u);
  EXPECT_EQ(Kept(10).size(), 10u) << "the young ones stay";
}

TEST_F(CacheFilesTest, ShrinkRemovesWhatKilledWritersLeftAndNothingElse) {
  Put(1);
  const std::string abandoned = CacheName(Digest(1)).substr(0, 3) + "t0123456789abcdef";
  const std::string foreign = CacheName(Digest(1)).substr(0, 3) + "notes.txt";
  const std::string present = CacheName(Digest(1)).substr(0, 3) + "tfedcba9876543210";
  for (const std::string& name : {abandoned, foreign, present}) directory_.Write(name, "text");
  for (const std::string& name : {abandoned, foreign}) directory_.Age(name);
  directory_.Write("other/file", "text");
  files_.Shrink(0, 0);
  EXPECT_FALSE(files_.Has(Digest(1)));
  EXPECT_FALSE(std::filesystem::exists(directory_.At(abandoned)));
  EXPECT_TRUE(std::filesystem::exists(directory_.At(foreign)));
  EXPECT_TRUE(std::filesystem::exists(directory_.At(present))) << "it may still be written";
  EXPECT_TRUE(std::filesystem::exists(directory_.At("other/file")));
}

}  // namespace
}  // namespace unshard
