// What only a store of files does when it replaces one (all else:
// object_replacement_contract_test).
#include "store/local/local_replacer.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "tests/support/temporary_directory.h"

namespace unshard {
namespace {

TEST(LocalReplacerTest, WhetherFilesCanBeMadeIsDecidedByTheNearestDirectoryThatIsThere) {
  const TemporaryDirectory directory;
  directory.Write("array/zarr.json", "{}");
  const auto files = OpenPosixFileSystem(directory.path());
  ASSERT_TRUE(files);
  const auto replacer = MakeLocalReplacer(*files);
  EXPECT_TRUE(replacer->CanReplace("array/c/0/0"));
  EXPECT_TRUE(replacer->CanReplace("0.shard"));
  if (::geteuid() == 0) return;  // who may write everywhere
  std::filesystem::permissions(directory.At("array"), std::filesystem::perms(0500));
  const Status refused = replacer->CanReplace("array/c/0/0");
  std::filesystem::permissions(directory.At("array"), std::filesystem::perms(0700));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().system_errno, EACCES);
  EXPECT_NE(refused.error().message.find("array"), std::string::npos);
}

}  // namespace
}  // namespace unshard
