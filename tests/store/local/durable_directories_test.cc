#include "store/local/durable_directories.h"

#include <gtest/gtest.h>

#include <utility>

#include "store/local/posix_file_system.h"
#include "tests/support/simulated_disk.h"
#include "tests/support/temporary_directory.h"

namespace unshard {
namespace {

// A file, durable in its directory, and whether a power loss leaves it.
bool Survives(SimulatedDisk& disk, const std::string& path) {
  const auto file = disk.Open(path, {.write = true, .create = true});
  EXPECT_TRUE(file && (*file)->Sync());
  EXPECT_TRUE(disk.SyncDirectory(path.substr(0, path.rfind('/'))));
  return disk.AfterPowerLoss(Survival::kNothing, 1)->Text(path).has_value();
}

std::uint64_t OperationsOf(SimulatedDisk& disk, DurableDirectories& directories,
                           const std::string& path) {
  disk.ResetCount();
  EXPECT_TRUE(directories.Make(disk, path));
  return disk.operations();
}

TEST(DurableDirectoriesTest, WhatIsKnownToBeDurableIsNotSyncedAgain) {
  SimulatedDisk disk;
  DurableDirectories directories;
  EXPECT_EQ(OperationsOf(disk, directories, "c/0/0"), 6u) << "each is made, and its parent synced";
  EXPECT_TRUE(Survives(disk, "c/0/0/0"));
  EXPECT_EQ(OperationsOf(disk, directories, "c/0/0"), 0u);
  EXPECT_EQ(OperationsOf(disk, directories, "c/0"), 0u);
  EXPECT_EQ(OperationsOf(disk, directories, "c/0/1"), 2u) << "one is made, and its parent synced";
  EXPECT_TRUE(Survives(disk, "c/0/1/0"));
  EXPECT_EQ(OperationsOf(disk, directories, ""), 0u);
}

TEST(DurableDirectoriesTest, WhatAnotherProcessHasMadeIsSynced) {
  SimulatedDisk disk;
  DurableDirectories directories;
  ASSERT_TRUE(disk.MakeDirectory("c"));
  EXPECT_FALSE(Survives(disk, "c/0"));
  ASSERT_TRUE(directories.Make(disk, "c"));
  EXPECT_TRUE(Survives(disk, "c/0"));
}

TEST(DurableDirectoriesTest, ADirectoryThatTookThePlaceOfAnotherIsSynced) {
  SimulatedDisk disk;
  DurableDirectories directories;
  ASSERT_TRUE(directories.Make(disk, "c/0"));
  ASSERT_TRUE(disk.Remove("c/0"));
  ASSERT_TRUE(disk.SyncDirectory("c"));
  ASSERT_TRUE(disk.MakeDirectory("c/0"));
  EXPECT_FALSE(Survives(disk, "c/0/0"));
  ASSERT_TRUE(directories.Make(disk, "c/0"));
  EXPECT_TRUE(Survives(disk, "c/0/0"));
}

TEST(DurableDirectoriesTest, ADirectoryAboveThatTookThePlaceOfAnotherIsSynced) {
  SimulatedDisk disk;
  DurableDirectories directories;
  ASSERT_TRUE(directories.Make(disk, "c/0"));
  ASSERT_TRUE(disk.Rename("c", "old"));
  ASSERT_TRUE(disk.SyncDirectory(""));
  ASSERT_TRUE(disk.MakeDirectory("c"));
  ASSERT_TRUE(disk.Rename("old/0", "c/0"));
  EXPECT_FALSE(Survives(disk, "c/0/0"));
  ASSERT_TRUE(directories.Make(disk, "c/0"));
  EXPECT_TRUE(Survives(disk, "c/0/0"));
}

TEST(DurableDirectoriesTest, ADirectoryThatLeftAndCameBackIsSynced) {
  SimulatedDisk disk;
  DurableDirectories directories;
  ASSERT_TRUE(directories.Make(disk, "c/0"));
  ASSERT_TRUE(disk.Rename("c/0", "c/1"));
  ASSERT_TRUE(disk.SyncDirectory("c"));
  ASSERT_TRUE(disk.Rename("c/1", "c/0"));
  ASSERT_TRUE(directories.Make(disk, "c/0"));
  EXPECT_TRUE(Survives(disk, "c/0/0"));
}

TEST(DurableDirectoriesTest, WithinOneTickOfTheClockNothingIsKnown) {
  SimulatedDisk disk({.clock_stands = true});
  timespec now{};
  DurableDirectories directories([&] { return now; });
  ASSERT_TRUE(directories.Make(disk, "c/0"));
  ASSERT_TRUE(disk.Remove("c/0"));
  ASSERT_TRUE(disk.SyncDirectory("c"));
  ASSERT_TRUE(disk.MakeDirectory("c/0"));
  EXPECT_EQ(OperationsOf(disk, directories, "c/0"), 2u) << "both directories above it are synced";
  EXPECT_TRUE(Survives(disk, "c/0/0"));
  now.tv_sec = 60;
  EXPECT_EQ(OperationsOf(disk, directories, "c/0"), 2u);
  EXPECT_EQ(OperationsOf(disk, directories, "c/0"), 0u) << "later changes have another time";
}

TEST(DurableDirectoriesTest, AFailedSyncIsRepeated) {
  SimulatedDisk disk;
  DurableDirectories directories;
  disk.FailEvery(DiskOperation::kSyncDirectory, EIO);
  EXPECT_FALSE(directories.Make(disk, "c"));
  disk.ClearFaults();
  ASSERT_TRUE(directories.Make(disk, "c"));
  EXPECT_TRUE(Survives(disk, "c/0"));
}

TEST(DurableDirectoriesTest, AFileInTheWayIsAFailure) {
  SimulatedDisk disk;
  disk.Put("c", "a file");
  EXPECT_FALSE(DurableDirectories().Make(disk, "c/0"));
  EXPECT_FALSE(DurableDirectories().Make(disk, "../c"));
}

// A file system that keeps its times as Linux does.
TEST(DurableDirectoriesTest, ADirectoryOfThisMachineIsKnownOnceItsTimeIsPast) {
  const TemporaryDirectory directory;
  const auto files = OpenPosixFileSystem(directory.path());
  ASSERT_TRUE(files);
  DurableDirectories directories([] {
    timespec later = TimeNow();
    later.tv_sec += 60;
    return later;
  });
  const auto changed_time = [&] { return (*(*files)->Stat("c"))->changed; };
  ASSERT_TRUE(directories.Make(**files, "c/0"));
  const timespec before = changed_time();
  directory.Write("c/0/0", "a shard");
  const timespec same = changed_time();
  EXPECT_EQ(std::pair(same.tv_sec, same.tv_nsec), std::pair(before.tv_sec, before.tv_nsec));
  ASSERT_TRUE(directories.Make(**files, "c/1"));
  const timespec after = changed_time();
  EXPECT_NE(std::pair(after.tv_sec, after.tv_nsec), std::pair(before.tv_sec, before.tv_nsec));
}

}  // namespace
}  // namespace unshard
