// What only a store of files does when it replaces one (all else:
// object_replacement_contract_test).
#include "store/local/local_replacer.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "store/local/posix_file_system.h"
#include "tests/support/simulated_disk.h"
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

TEST(LocalReplacerTest, WhatAnEarlierProcessHasCommittedIsMadeDurable) {
  for (const bool by_directory : {false, true}) {
    const auto disk = std::make_shared<SimulatedDisk>();
    disk->Put("a/0.shard", "base");
    auto replacement = MakeLocalReplacer(disk)->Begin({"a/0.shard", std::nullopt}, {});
    ASSERT_TRUE(replacement);
    ASSERT_TRUE((*replacement)->Write(0, AsBytes("new!")));
    ASSERT_TRUE((*replacement)->Commit([]() -> Status { return {}; }));
    EXPECT_EQ(disk->AfterPowerLoss(Survival::kNothing, 1)->Text("a/0.shard"), "base");
    const auto next = disk->AfterKill();
    const auto replacer = MakeLocalReplacer(next);
    EXPECT_TRUE(by_directory ? replacer->MakeDurable("a")
                             : (*replacer->Begin({"a/0.shard", std::nullopt}, {}))->MakeDurable());
    EXPECT_EQ(next->AfterPowerLoss(Survival::kNothing, 1)->Text("a/0.shard"), "new!");
  }
}

// Another process has made the directory and the file, and died before it had fsynced either.
TEST(LocalReplacerTest, TheDirectoriesAboveAFileThatIsThereAreMadeDurable) {
  for (const bool is_there : {false, true}) {
    const auto disk = std::make_shared<SimulatedDisk>();
    ASSERT_TRUE(disk->MakeDirectory("c") && disk->MakeDirectory("c/0"));
    if (is_there) {
      ASSERT_TRUE(disk->Open("c/0/0", {.write = true, .create = true}));
    }
    auto replacement = MakeLocalReplacer(disk)->Begin({"c/0/0", std::nullopt}, {});
    ASSERT_TRUE(replacement);
    ASSERT_TRUE((*replacement)->Write(0, AsBytes("new!")));
    ASSERT_TRUE((*replacement)->Commit([]() -> Status { return {}; }));
    ASSERT_TRUE((*replacement)->MakeDurable());
    EXPECT_EQ(disk->AfterPowerLoss(Survival::kNothing, 1)->Text("c/0/0"), "new!") << is_there;
  }
}

// Each write is an inotify event for whoever watches the directory.
TEST(LocalReplacerTest, ChunksThatFollowOneAnotherAreWrittenTogether) {
  constexpr std::uint64_t kChunk = std::uint64_t{64} << 10;
  const auto disk = std::make_shared<SimulatedDisk>();
  auto replacement = MakeLocalReplacer(disk)->Begin({"0.shard", std::nullopt}, {});
  ASSERT_TRUE(replacement);
  disk->ResetCount();
  std::string expected;
  const auto put = [&](std::uint64_t at, std::uint64_t size, char byte) {
    const ByteVector bytes(size, static_cast<std::uint8_t>(byte));
    ASSERT_TRUE((*replacement)->Write(at, bytes));
    expected.resize(std::max<std::size_t>(expected.size(), at + size));
    expected.replace(at, size, size, byte);
  };
  for (std::uint64_t i = 0; i < 40; ++i) put(i * kChunk, kChunk, static_cast<char>('a' + i));
  put(2, 3, '1');                                 // before what was written
  put(50 * kChunk, std::uint64_t{3} << 20, '2');  // behind a gap, and larger than what is put off
  put(50 * kChunk + (std::uint64_t{3} << 20), 5, '3');
  EXPECT_EQ((*replacement)->Size().value_or(0), expected.size());
  EXPECT_EQ(disk->operations(), 6U) << "three of up to 1 MiB, and the others each by itself";
  ASSERT_TRUE((*replacement)->Commit([]() -> Status { return {}; }));
  EXPECT_TRUE(disk->Text("0.shard") == expected);
}

// Reading the attributes of what was renamed can fail as well.
TEST(LocalReplacerTest, EveryFailingOperationOfACommitIsToldAsWhatHasHappened) {
  std::uint64_t unknown = 0;
  for (std::uint64_t n = 1;; ++n) {
    SCOPED_TRACE("failures from operation " + std::to_string(n));
    const auto disk = std::make_shared<SimulatedDisk>(SimulatedDiskOptions{.counts_reads = true});
    disk->Put("a/0.shard", "base");
    auto replacement = MakeLocalReplacer(disk)->Begin({"a/0.shard", std::nullopt}, {});
    ASSERT_TRUE(replacement);
    ASSERT_TRUE((*replacement)->Write(0, AsBytes("new!")));
    disk->ResetCount();
    disk->FailAt(n, EIO, /*lasting=*/true);
    const auto committed = (*replacement)->Commit([]() -> Status { return {}; });
    const auto text = disk->Text("a/0.shard");
    if (!committed) {
      EXPECT_EQ(committed.error().system_errno, EIO);
      EXPECT_EQ(text, "base");
      continue;
    }
    EXPECT_EQ(text, "new!");
    if (committed->outcome == Committed::Outcome::kCommitted) break;
    EXPECT_EQ(committed->outcome, Committed::Outcome::kUnknown);
    EXPECT_EQ(committed->reason.system_errno, EIO);
    ++unknown;
  }
  EXPECT_EQ(unknown, 1u);
}

}  // namespace
}  // namespace unshard
