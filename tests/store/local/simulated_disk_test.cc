// The simulated disk's own promises: what it may lose, and what it may not.
#include "tests/support/simulated_disk.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <set>

namespace unshard {
namespace {

constexpr OpenFlags kCreateFile{.write = true, .create = true};
constexpr int kDiskSeeds = 300;

std::shared_ptr<File> Written(SimulatedDisk& disk, const std::string& path, std::string_view text) {
  const auto file = disk.Open(path, kCreateFile);
  EXPECT_TRUE(file);
  EXPECT_TRUE((*file)->Write(0, AsBytes(text)));
  return *file;
}

// All that may stand under `path` after a power loss.
std::set<std::string> Outcomes(const SimulatedDisk& disk, const std::string& path) {
  std::set<std::string> outcomes;
  for (int seed = 0; seed < kDiskSeeds; ++seed) {
    const auto after = disk.AfterPowerLoss(Survival::kRandom, static_cast<std::uint64_t>(seed));
    outcomes.insert(after->Text(path).value_or("(missing)"));
  }
  return outcomes;
}

TEST(SimulatedDisk, WhatIsSyncedStays) {
  SimulatedDisk disk;
  ASSERT_TRUE(Written(disk, "file", "text")->Sync());
  ASSERT_TRUE(disk.SyncDirectory(""));
  EXPECT_EQ(Outcomes(disk, "file"), std::set<std::string>{"text"});
  EXPECT_EQ(disk.AfterPowerLoss(Survival::kNothing, 1)->Text("file"), "text");
}

TEST(SimulatedDisk, ANameWithoutSyncOfItsDirectoryMayBeLost) {
  SimulatedDisk disk;
  ASSERT_TRUE(Written(disk, "file", "text")->Sync());
  EXPECT_EQ(Outcomes(disk, "file"), (std::set<std::string>{"(missing)", "text"}));
  EXPECT_EQ(disk.AfterPowerLoss(Survival::kNothing, 1)->Text("file"), std::nullopt);
  EXPECT_EQ(disk.AfterPowerLoss(Survival::kEverything, 1)->Text("file"), "text");
}

TEST(SimulatedDisk, BytesWithoutSyncMayBeLostOrTorn) {
  SimulatedDisk disk;
  const std::string old(2048, 'o');
  const std::string fresh(2048, 'n');
  disk.Put("file", old);
  Written(disk, "file", fresh);
  const auto outcomes = Outcomes(disk, "file");
  EXPECT_TRUE(outcomes.contains(old));
  EXPECT_TRUE(outcomes.contains(fresh));
  EXPECT_TRUE(outcomes.contains(std::string(512, 'o') + std::string(1536, 'n')));
  for (const std::string& text : outcomes) {
    ASSERT_EQ(text.size(), 2048U);
    for (std::size_t at = 0; at < 2048; at += 512) {
      EXPECT_EQ(text.substr(at, 512), std::string(512, text[at])) << "sectors are never torn";
    }
  }
}

TEST(SimulatedDisk, TheLengthMayReachTheDiskWithoutTheBytes) {
  SimulatedDisk disk;
  disk.Put("file", "");
  Written(disk, "file", "text");
  EXPECT_EQ(Outcomes(disk, "file"), (std::set<std::string>{"", "text", std::string(4, '\0')}));
}

TEST(SimulatedDisk, ARenameIsWholeOrNotAtAll) {
  SimulatedDisk disk;
  disk.Put("a/from", "new");
  disk.Put("b/to", "old");
  ASSERT_TRUE(disk.Rename("a/from", "b/to"));
  for (int seed = 0; seed < kDiskSeeds; ++seed) {
    const auto after = disk.AfterPowerLoss(Survival::kRandom, static_cast<std::uint64_t>(seed));
    const bool renamed = after->Text("b/to") == "new";
    EXPECT_EQ(after->Text("b/to"), renamed ? "new" : "old");
    EXPECT_EQ(after->Text("a/from"), renamed ? std::nullopt : std::optional<std::string>("new"));
  }
  ASSERT_TRUE(disk.SyncDirectory("b"));
  EXPECT_EQ(Outcomes(disk, "b/to"), std::set<std::string>{"new"});
  EXPECT_EQ(Outcomes(disk, "a/from"), std::set<std::string>{"(missing)"});
}

TEST(SimulatedDisk, ChangesOfDifferentNamesHaveNoOrder) {
  SimulatedDisk disk;
  disk.Put("one", "1");
  ASSERT_TRUE(disk.Link("one", "two"));
  ASSERT_TRUE(disk.Remove("one"));
  bool lost = false;
  for (int seed = 0; seed < kDiskSeeds; ++seed) {
    const auto after = disk.AfterPowerLoss(Survival::kRandom, static_cast<std::uint64_t>(seed));
    lost |= !after->Text("one") && !after->Text("two");
  }
  EXPECT_TRUE(lost) << "a removal may reach the disk before the link that it relied on";
}

TEST(SimulatedDisk, AFailedSyncMayLoseBytesForGoodWhateverLaterOnesSay) {
  std::set<std::string> outcomes;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    SimulatedDisk disk({.seed = seed});
    disk.Put("file", "");
    const auto file = Written(disk, "file", "text");
    disk.FailAt(disk.operations() + 1, EIO, false);
    const auto failed = file->Sync();
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().system_errno, EIO);
    EXPECT_EQ(disk.Text("file"), "text") << "who reads it is told nothing";
    ASSERT_TRUE(file->Sync());
    outcomes.insert(disk.AfterPowerLoss(Survival::kEverything, 1)->Text("file").value_or("gone"));
  }
  EXPECT_EQ(outcomes, (std::set<std::string>{"text", std::string(4, '\0')}));
}

TEST(SimulatedDisk, FaultsComeWhenAskedFor) {
  SimulatedDisk disk({.capacity = 6});
  const auto file = Written(disk, "file", "text");
  EXPECT_EQ(disk.operations(), 2U);
  EXPECT_EQ(file->Write(4, AsBytes("more")).error().system_errno, ENOSPC);
  EXPECT_EQ(disk.FreeBytes().value_or(0), 2U);
  disk.FailAt(disk.operations() + 2, EDQUOT, true);
  EXPECT_TRUE(disk.Link("file", "two"));
  EXPECT_EQ(disk.Remove("two").error().system_errno, EDQUOT);
  EXPECT_EQ(disk.Remove("two").error().system_errno, EDQUOT);
  disk.ClearFaults();
  disk.FailEvery(DiskOperation::kRename, EROFS);
  EXPECT_EQ(disk.Rename("two", "three").error().system_errno, EROFS);
  EXPECT_TRUE(disk.Remove("two"));
}

TEST(SimulatedDisk, NothingHappensAfterACrashAndAKillLosesNothing) {
  SimulatedDisk disk;
  const auto file = Written(disk, "file", "text");
  ASSERT_TRUE(file->Lock(false).value_or(false));
  disk.CrashAt(disk.operations() + 1);
  EXPECT_FALSE(disk.Rename("file", "other"));
  EXPECT_TRUE(disk.crashed());
  EXPECT_FALSE(file->Write(0, AsBytes("TEXT")));
  EXPECT_FALSE(file->Sync());
  EXPECT_FALSE(disk.Open("file", {}));
  const auto next = disk.AfterKill();
  EXPECT_EQ(next->Paths(), std::vector<std::string>{"file"});
  EXPECT_EQ(next->Text("file"), "text");
  const auto again = next->Open("file", kCreateFile);
  ASSERT_TRUE(again);
  EXPECT_TRUE((*again)->Lock(false).value_or(false)) << "locks end with their process";
  EXPECT_EQ(Outcomes(*next, "file").count("(missing)"), 1U) << "still not synced";
}

TEST(SimulatedDisk, ClonesWhereToldTo) {
  SimulatedDisk disk({.clones = true});
  const auto source = Written(disk, "source", "text");
  const auto clone = Written(disk, "clone", "longer than that");
  EXPECT_TRUE(clone->CloneFrom(*source).value_or(false));
  EXPECT_EQ(disk.Text("clone"), "text");
}

}  // namespace
}  // namespace unshard
