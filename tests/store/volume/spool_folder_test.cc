// The folder of spools, while another process swaps what has its path.
#include "store/volume/spool_folder.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdio.h>

#include <filesystem>
#include <stop_token>
#include <thread>

#include "tests/support/temporary_directory.h"

namespace unshard {
namespace {

class SpoolFolderTest : public testing::Test {
 protected:
  SpoolFolderTest() {
    for (const char* name : {"source", "spool", "theirs"}) {
      std::filesystem::create_directory(directory_.At(name));
    }
    std::filesystem::permissions(directory_.At("spool"), std::filesystem::perms::owner_all);
    std::filesystem::permissions(directory_.At("theirs"), std::filesystem::perms(0755));
    options_.source = directory_.At("source");
    options_.spool = directory_.At("spool");
  }

  TemporaryDirectory directory_;
  VolumeOptions options_;
};

// As in a directory that others may write.
TEST_F(SpoolFolderTest, WhatHasBeenCheckedIsWhatIsUsed) {
  std::filesystem::create_symlink("theirs", directory_.At("link"));
  const std::jthread swaps([&](const std::stop_token& stop) {
    const std::string spool = directory_.At("spool"), link = directory_.At("link");
    while (!stop.stop_requested()) {
      ::renameat2(AT_FDCWD, spool.c_str(), AT_FDCWD, link.c_str(), RENAME_EXCHANGE);
    }
  });
  constexpr int kOpens = 100;
  for (int opens = 0; opens < kOpens;) {
    const auto opened = OpenSpools(options_);
    if (opened) ++opens;
    if (opened) RemoveEmptySpools(*opened);
    ASSERT_TRUE(std::filesystem::is_empty(directory_.At("theirs"))) << opens;
  }
}

TEST_F(SpoolFolderTest, WhatIsRemovedIsTheSpoolThatWasOpened) {
  const auto opened = OpenSpools(options_);
  ASSERT_TRUE(opened) << opened.error().message;
  const std::string name = std::filesystem::path(opened->paths.front()).filename();
  std::filesystem::rename(directory_.At("spool"), directory_.At("ours"));
  directory_.Write("theirs/" + name, "not a spool");
  std::filesystem::create_symlink("theirs", directory_.At("spool"));
  RemoveEmptySpools(*opened);
  EXPECT_TRUE(std::filesystem::exists(directory_.At("theirs/" + name)));
  EXPECT_FALSE(std::filesystem::exists(directory_.At("ours/" + name)));
}

}  // namespace
}  // namespace unshard
