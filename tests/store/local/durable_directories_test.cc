#include "store/local/durable_directories.h"

#include <gtest/gtest.h>

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

// Directories of the disk that the tests run on have a time of birth, or are synced each time.
TEST(DurableDirectoriesTest, OnlyDirectoriesHaveATimeOfBirth) {
  const TemporaryDirectory directory;
  const auto files = OpenPosixFileSystem(directory.path());
  ASSERT_TRUE(files);
  ASSERT_TRUE((*files)->MakeDirectory("c"));
  const auto first = (*files)->Stat("c");
  ASSERT_TRUE(first && *first);
  ASSERT_TRUE((*files)->MakeDirectory("c/0"));
  const auto later = (*files)->Stat("c");
  ASSERT_TRUE(later && *later);
  EXPECT_EQ((*first)->born.tv_sec, (*later)->born.tv_sec);
  EXPECT_EQ((*first)->born.tv_nsec, (*later)->born.tv_nsec)
      << "although its change time is another";
  directory.Write("file", "text");
  const auto file = (*files)->Stat("file");
  ASSERT_TRUE(file && *file);
  EXPECT_EQ((*file)->born.tv_sec, 0);
}

}  // namespace
}  // namespace unshard
