#include "store/spool/spool.h"
#include "store/local/posix_file_system.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <atomic>
#include <cerrno>
#include <set>
#include <thread>

#include "codec/core/checksum.h"
#include "tests/support/simulated_disk.h"
#include "tests/support/temporary_directory.h"

namespace unshard {
namespace {

constexpr const char* kSpooledSource = "file:///data/segmentation";

Result<std::unique_ptr<Spool>> OpenSpool(std::shared_ptr<FileSystem> files,
                                         const SpoolOptions& options = {.source = kSpooledSource}) {
  return Spool::Open(std::move(files), options);
}

// On a simulated disk whose faults and counts the tests use.
class SpoolTest : public testing::Test {
 protected:
  void Open(const SpoolOptions& options = {.source = kSpooledSource}) {
    spool_.reset();
    auto opened = OpenSpool(disk_, options);
    ASSERT_TRUE(opened) << opened.error().message;
    spool_ = *std::move(opened);
  }
  void SetUp() override { Open(); }

  std::shared_ptr<StagedFile> Staged(std::string_view text) {
    auto staged = spool_->Stage();
    EXPECT_TRUE(staged) << staged.error().message;
    EXPECT_TRUE((*staged)->Write(0, AsBytes(text)));
    return *staged;
  }
  SpooledChunk Sealed(const std::string& chunk, std::string_view text,
                      const ChunkFingerprint& base = {}) {
    auto sealed = spool_->Seal(Staged(text).get(), "8_8_8", chunk, {base});
    EXPECT_TRUE(sealed) << sealed.error().message;
    return sealed.value_or(SpooledChunk{});
  }
  std::string Text(const SpooledChunk& chunk) {
    const auto file = spool_->Open(chunk);
    if (!file) return "(" + std::string(ErrorCodeName(file.error().code)) + ")";
    ByteVector bytes(chunk.size + 1);
    bytes.resize((*file)->Read(0, bytes).value_or(0));
    return std::string(AsText(bytes));
  }
  std::size_t FilesBelow(const std::string& directory) {
    std::size_t count = 0;
    for (const std::string& path : disk_->Paths()) {
      count += path.starts_with(directory) && !path.ends_with("/.path");
    }
    return count;
  }

  std::shared_ptr<SimulatedDisk> disk_ = std::make_shared<SimulatedDisk>();
  std::unique_ptr<Spool> spool_;
};

TEST_F(SpoolTest, ASealedChunkIsReadBackAndRecovered) {
  const SpooledChunk sealed = Sealed("0-64_0-64_0-64", "voxels", {false, 5, 77});
  EXPECT_EQ(sealed.size, 6U);
  EXPECT_EQ(sealed.checksum, Checksum(AsBytes("voxels")));
  EXPECT_EQ(Text(sealed), "voxels");
  const auto removal = spool_->Seal(nullptr, "", "c/0/1", {});
  ASSERT_TRUE(removal);
  EXPECT_TRUE(removal->removed);
  EXPECT_EQ(FilesBelow("staging/"), 0U);
  Open();
  const auto recovered = spool_->TakeRecovered();
  ASSERT_EQ(recovered.size(), 2U);
  EXPECT_EQ(recovered[0].dataset, "8_8_8");
  EXPECT_EQ(recovered[0].chunk, "0-64_0-64_0-64");
  EXPECT_EQ(recovered[0].sequence, sealed.sequence);
  EXPECT_EQ(recovered[0].terms.base, sealed.terms.base);
  EXPECT_EQ(recovered[0].committed.tv_sec, sealed.committed.tv_sec);
  EXPECT_EQ(Text(recovered[0]), "voxels");
  EXPECT_EQ(recovered[1].dataset, "");
  EXPECT_EQ(recovered[1].chunk, "c/0/1");
  EXPECT_TRUE(recovered[1].removed);
  EXPECT_TRUE(spool_->TakeRecovered().empty());
  EXPECT_EQ(spool_->usage().files, 2U);
  EXPECT_EQ(spool_->usage().bytes, 6U);
}

TEST_F(SpoolTest, AChunkThatIsSealedAnewHasOtherTerms) {
  const SpooledChunk sealed = Sealed("c/0/1", "voxels");
  const ChunkFingerprint base{false, 3, 7}, other{false, 4, 8};
  const auto anew = spool_->Reseal(sealed, {base, other});
  ASSERT_TRUE(anew) << anew.error().message;
  EXPECT_EQ(anew->sequence, sealed.sequence);
  EXPECT_EQ(Text(*anew), "voxels");
  ASSERT_TRUE(spool_->Sync({*anew}));
  Open();
  const auto recovered = spool_->TakeRecovered();
  ASSERT_EQ(recovered.size(), 1U);
  EXPECT_EQ(recovered[0].terms.base, base);
  EXPECT_EQ(recovered[0].terms.other_base, other);
  EXPECT_EQ(Text(recovered[0]), "voxels");
  ASSERT_TRUE(spool_->Discard(recovered[0]));
  EXPECT_EQ(FilesBelow("chunks/"), 0U);
}

TEST_F(SpoolTest, ASealedFileIsReadThroughItsHandleAndNeverChanged) {
  const auto staged = Staged("voxels");
  ASSERT_TRUE(spool_->Seal(staged.get(), "8_8_8", "x", {}));
  ByteVector bytes(6);
  EXPECT_EQ(staged->Read(0, bytes).value_or(0), 6U);
  EXPECT_EQ(staged->Write(0, AsBytes("V")).error().code, ErrorCode::kReadOnly);
  EXPECT_EQ(staged->Truncate(0).error().code, ErrorCode::kReadOnly);
  EXPECT_EQ(staged->CopyFrom(staged->file(), {0, 1}, 3).error().code, ErrorCode::kReadOnly);
  EXPECT_EQ(spool_->Seal(staged.get(), "8_8_8", "y", {}).error().code, ErrorCode::kReadOnly);
}

TEST_F(SpoolTest, ChecksumsFollowEveryWayOfWriting) {
  const auto source = Staged("0123456789");
  const auto check = [&](StagedFile& staged, std::string_view expected) {
    EXPECT_EQ(staged.Checksum().value_or(0), Checksum(AsBytes(expected))) << expected;
    EXPECT_EQ(staged.size(), expected.size());
  };
  const auto staged = Staged("abc");
  check(*staged, "abc");
  ASSERT_TRUE(staged->Write(3, AsBytes("def")));
  check(*staged, "abcdef");
  ASSERT_TRUE(staged->Write(1, AsBytes("X")));
  check(*staged, "aXcdef");
  ASSERT_TRUE(staged->Write(8, AsBytes("gh")));
  check(*staged, std::string_view("aXcdef\0\0gh", 10));
  ASSERT_TRUE(staged->Truncate(4));
  check(*staged, "aXcd");
  ASSERT_TRUE(staged->Truncate(6));
  check(*staged, std::string_view("aXcd\0\0", 6));
  ASSERT_TRUE(staged->CopyFrom(source->file(), {2, 3}, 1));
  check(*staged, std::string_view("a234\0\0", 6));
  ASSERT_TRUE(staged->Truncate(0));
  ASSERT_TRUE(staged->Write(0, AsBytes("new")));
  check(*staged, "new");
}

TEST_F(SpoolTest, WrittenInOrderACrcCostsNoRead) {
  SimulatedDisk& disk =
      *(disk_ = std::make_shared<SimulatedDisk>(SimulatedDiskOptions{.counts_reads = true}));
  Open();
  Sealed("first", "makes the directory");
  const auto staged = Staged("one");
  ASSERT_TRUE(staged->Write(3, AsBytes("two")));
  disk.FailEvery(DiskOperation::kRead, EIO);
  EXPECT_EQ(staged->Checksum().value_or(0), Checksum(AsBytes("onetwo")));
  EXPECT_TRUE(spool_->Seal(staged.get(), "8_8_8", "x", {}));
}

TEST_F(SpoolTest, WhatIsOnlyStagedIsGoneWithItsHandleAndAtOpen) {
  Staged("dropped");
  EXPECT_EQ(FilesBelow("staging/"), 0U);
  EXPECT_EQ(spool_->usage().files, 0U);
  EXPECT_EQ(spool_->usage().bytes, 0U);
  const auto staged = Staged("left behind");
  disk_ = disk_->AfterKill();
  auto next = OpenSpool(disk_);
  ASSERT_TRUE(next) << next.error().message;
  EXPECT_EQ(FilesBelow("staging/"), 0U);
  EXPECT_TRUE((*next)->TakeRecovered().empty());
}

TEST_F(SpoolTest, TheCapIsAtMostHalfOfWhatTheDiskHasFree) {
  disk_ = std::make_shared<SimulatedDisk>(SimulatedDiskOptions{.capacity = 10000});
  Open({.source = kSpooledSource, .max_bytes = 8000});
  const std::uint64_t most = spool_->max_bytes();
  EXPECT_GT(most, 4000U);
  EXPECT_LE(most, 5000U);
  const SpooledChunk chunk = Sealed("x", std::string(3000, 'x'));
  spool_->LookAtDisk();
  EXPECT_GT(spool_->max_bytes(), 4000U) << "what the spool holds counts half as well";
  const auto full = Staged("y")->Write(1, ByteVector(3000));
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().system_errno, ENOSPC);
  EXPECT_NE(full.error().message.find("bytes, half of the free space of its disk"),
            std::string::npos)
      << full.error().message;
  EXPECT_EQ(spool_->TimesOverCap(), 0U);
  disk_->Put("another program's", std::string(4000, 'z'));
  spool_->LookAtDisk();
  EXPECT_LT(spool_->max_bytes(), 3000U);
  EXPECT_EQ(spool_->TimesOverCap(), 1U);
  ASSERT_TRUE(spool_->Discard(chunk));
  EXPECT_EQ(spool_->TimesOverCap(), 0U);
}

TEST_F(SpoolTest, TheCapHoldsAndFreesUp) {
  Open({.source = kSpooledSource, .max_bytes = 10, .max_files = 2});
  const auto one = Staged("12345678");
  const auto full = one->Write(8, AsBytes("901"));
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().code, ErrorCode::kResourceExhausted);
  EXPECT_EQ(full.error().system_errno, ENOSPC);
  EXPECT_TRUE(one->Write(8, AsBytes("90")));
  EXPECT_TRUE(one->Write(0, AsBytes("overwrites!").first(10))) << "needs no more room";
  EXPECT_EQ(one->Truncate(11).error().system_errno, ENOSPC);
  const auto two = spool_->Stage();
  ASSERT_TRUE(two);
  EXPECT_EQ(spool_->Stage().error().system_errno, ENOSPC);
  EXPECT_EQ(spool_->Seal(nullptr, "8_8_8", "x", {}).error().system_errno, ENOSPC);
  const auto sealed = spool_->Seal(one.get(), "8_8_8", "x", {});
  ASSERT_TRUE(sealed);
  EXPECT_EQ(spool_->usage().bytes, 10U);
  EXPECT_FALSE((*two)->Write(0, AsBytes("1")));
  ASSERT_TRUE(spool_->Discard(*sealed));
  EXPECT_EQ(spool_->usage().bytes, 0U);
  EXPECT_EQ(spool_->usage().files, 1U);
  EXPECT_TRUE((*two)->Write(0, AsBytes("1")));
}

TEST_F(SpoolTest, AFailedWriteIsNotCounted) {
  disk_ = std::make_shared<SimulatedDisk>(SimulatedDiskOptions{.capacity = 1000});
  Open();
  const auto staged = Staged("small");
  const std::string large(2000, 'x');
  EXPECT_EQ(staged->Write(0, AsBytes(large)).error().system_errno, ENOSPC);
  EXPECT_EQ(spool_->usage().bytes, 5U);
  EXPECT_EQ(staged->size(), 5U);
  EXPECT_EQ(staged->Checksum().value_or(0), Checksum(AsBytes("small")));
}

TEST_F(SpoolTest, DiscardedChunksAreNotFoundAndOpenFilesStay) {
  const SpooledChunk sealed = Sealed("x", "voxels");
  const auto file = spool_->Open(sealed);
  ASSERT_TRUE(file);
  ASSERT_TRUE(spool_->Discard(sealed));
  EXPECT_EQ(Text(sealed), "(not found)");
  EXPECT_EQ(FilesBelow("chunks/"), 0U);
  ByteVector bytes(6);
  EXPECT_EQ((*file)->Read(0, bytes).value_or(0), 6U);
  EXPECT_TRUE(spool_->Discard(sealed)) << "again";
  EXPECT_TRUE(spool_->Sync({sealed})) << "no longer ours to keep";
}

TEST_F(SpoolTest, ASyncedVersionStaysUntilItsSuccessorIsSynced) {
  const SpooledChunk first = Sealed("x", "first");
  ASSERT_TRUE(spool_->Sync({first}));
  const SpooledChunk second = Sealed("x", "second");
  ASSERT_TRUE(spool_->Discard(first));
  EXPECT_EQ(Text(first), "(not found)");
  EXPECT_EQ(FilesBelow("chunks/"), 2U);
  ASSERT_TRUE(spool_->Sync({second}));
  EXPECT_EQ(FilesBelow("chunks/"), 1U);
  EXPECT_EQ(spool_->usage().bytes, 6U);
}

// As a publisher may that takes the later version before its writer has discarded the earlier one.
TEST_F(SpoolTest, AVersionThatIsDiscardedLateDoesNotOutliveALaterOne) {
  const SpooledChunk earlier = Sealed("x", "earlier");
  const SpooledChunk later = Sealed("x", "later");
  ASSERT_TRUE(spool_->Discard(later));
  EXPECT_EQ(Text(later), "(not found)");
  EXPECT_EQ(Text(earlier), "earlier");
  // Synced, it still takes nothing away.
  ASSERT_TRUE(spool_->Sync({earlier}));
  EXPECT_EQ(FilesBelow("chunks/"), 2U);
  Open();
  const auto recovered = spool_->TakeRecovered();
  ASSERT_EQ(recovered.size(), 1U);
  EXPECT_EQ(recovered[0].sequence, later.sequence);

  const SpooledChunk last = Sealed("x", "last");
  ASSERT_TRUE(spool_->Discard(last));
  ASSERT_TRUE(spool_->Discard(recovered[0]));
  EXPECT_EQ(FilesBelow("chunks/"), 0U);
  EXPECT_EQ(spool_->usage().files, 0U);
  EXPECT_EQ(spool_->usage().bytes, 0U);
  Open();
  EXPECT_TRUE(spool_->TakeRecovered().empty());
}

TEST_F(SpoolTest, WhatIsSetAsideLeavesNoLaterVersionBehind) {
  const SpooledChunk earlier = Sealed("x", "earlier");
  const SpooledChunk later = Sealed("x", "later");
  ASSERT_TRUE(spool_->Discard(later));
  ASSERT_TRUE(spool_->Quarantine(earlier));
  EXPECT_EQ(FilesBelow("chunks/"), 0U);
  EXPECT_EQ(FilesBelow("conflicts/"), 1U);
  EXPECT_EQ(spool_->usage().files, 0U);
  EXPECT_EQ(spool_->usage().bytes, 0U);
}

TEST_F(SpoolTest, OverwritingAgainAndAgainNeedsFewSyncs) {
  constexpr std::uint64_t kTimes = 160;
  disk_->ResetCount();
  SpooledChunk last = Sealed("x", "0");
  const std::uint64_t once = disk_->operations();
  disk_->ResetCount();
  for (std::uint64_t i = 0; i < kTimes; ++i) {
    const SpooledChunk next = Sealed("x", std::to_string(i));
    ASSERT_TRUE(spool_->Discard(last));
    last = next;
    ASSERT_LE(FilesBelow("chunks/"), 20U);
  }
  // Making, writing, sealing, removing; and a sync for sixteen.
  EXPECT_LE(disk_->operations(), kTimes * 4 + kTimes / 8);
  EXPECT_LE(once, 10U);
  ASSERT_TRUE(spool_->Discard(last));
  EXPECT_EQ(FilesBelow("chunks/"), 0U);
  EXPECT_EQ(spool_->usage().files, 0U);
}

TEST_F(SpoolTest, PublishingSyncsOnlyWhatWasRewritten) {
  const SpooledChunk once = Sealed("once", "text");
  const SpooledChunk first = Sealed("twice", "first");
  const SpooledChunk second = Sealed("twice", "second");
  ASSERT_TRUE(spool_->Discard(first));
  disk_->ResetCount();
  ASSERT_TRUE(spool_->PrepareToPublish({once}));
  EXPECT_EQ(disk_->operations(), 0U);
  ASSERT_TRUE(spool_->PrepareToPublish({once, second}));
  EXPECT_EQ(disk_->operations(), 2U) << "its file and its directory";
}

TEST_F(SpoolTest, SyncingIsDoneOnce) {
  std::vector<SpooledChunk> chunks;
  for (int i = 0; i < 20; ++i) chunks.push_back(Sealed(std::to_string(i), "text"));
  disk_->ResetCount();
  ASSERT_TRUE(spool_->Sync(chunks));
  EXPECT_EQ(disk_->operations(), 21U) << "each file, and their directory";
  ASSERT_TRUE(spool_->Sync(chunks));
  EXPECT_EQ(disk_->operations(), 21U);
}

TEST_F(SpoolTest, ManyMoreFilesThanMayBeOpenAreSynced) {
  std::vector<SpooledChunk> chunks;
  for (int i = 0; i < 600; ++i) chunks.push_back(Sealed(std::to_string(i), "text"));
  ASSERT_TRUE(spool_->Sync(chunks));
  auto next = OpenSpool(disk_->AfterPowerLoss(Survival::kNothing, 1));
  ASSERT_TRUE(next) << next.error().message;
  EXPECT_EQ((*next)->TakeRecovered().size(), 600U);
}

TEST_F(SpoolTest, AFileThatCannotBeSyncedIsWrittenOnceMore) {
  for (const bool evicts : {false, true}) {
    for (std::uint64_t seed = 0; seed < 8; ++seed) {
      disk_ = std::make_shared<SimulatedDisk>(
          SimulatedDiskOptions{.failed_sync_evicts = evicts, .seed = seed});
      Open();
      const SpooledChunk sealed = Sealed("x", "voxels");
      disk_->FailAt(disk_->operations() + 1, EIO, false);
      const auto synced = spool_->Sync({sealed});
      const auto after = disk_->AfterPowerLoss(Survival::kNothing, 1);
      auto next = OpenSpool(after);
      ASSERT_TRUE(next) << next.error().message;
      if (synced) {
        EXPECT_EQ((*next)->TakeRecovered().size(), 1U);
      } else {
        EXPECT_TRUE(evicts) << "the bytes could be read";
        EXPECT_EQ(synced.error().system_errno, EIO);
        EXPECT_FALSE(spool_->Sync({sealed})) << "success would be a lie";
        const SpooledChunk again = Sealed("x", "voxels");
        EXPECT_TRUE(spool_->Sync({again})) << "a new version can last";
      }
    }
  }
}

TEST_F(SpoolTest, TheFileOfADiscardedChunkIsWrittenAgain) {
  const SpooledChunk first = Sealed("x", "longer than what comes");
  ASSERT_TRUE(spool_->Discard(first));
  EXPECT_EQ(spool_->usage().files, 0U);
  EXPECT_EQ(FilesBelow("staging/"), 1U) << "the spare file";
  const SpooledChunk second = Sealed("y", "next");
  EXPECT_EQ(FilesBelow("staging/"), 0U);
  EXPECT_EQ(Text(second), "next");
  EXPECT_EQ(Text(first), "(not found)");
  ASSERT_TRUE(spool_->Discard(second));
  disk_ = disk_->AfterKill();
  Open();
  EXPECT_EQ(FilesBelow("staging/"), 0U);
  EXPECT_TRUE(spool_->TakeRecovered().empty());
}

TEST_F(SpoolTest, WhoReadsADiscardedChunkKeepsItsBytes) {
  const SpooledChunk opened = Sealed("x", "read by one");
  const auto file = spool_->Open(opened);
  ASSERT_TRUE(file);
  const auto staged = Staged("read by another");
  const auto written = spool_->Seal(staged.get(), "8_8_8", "y", {});
  ASSERT_TRUE(written);
  ASSERT_TRUE(spool_->Discard(opened));
  ASSERT_TRUE(spool_->Discard(*written));
  EXPECT_EQ(Text(Sealed("z", "something else")), "something else");
  ByteVector bytes(11);
  EXPECT_EQ((*file)->Read(0, bytes).value_or(0), 11U);
  EXPECT_EQ(AsText(bytes), "read by one");
  bytes.resize(15);
  EXPECT_EQ(staged->Read(0, bytes).value_or(0), 15U);
  EXPECT_EQ(AsText(bytes), "read by another");
}

TEST_F(SpoolTest, NothingIsPromisedAfterAFailedSync) {
  const SpooledChunk sealed = Sealed("x", "voxels");
  disk_->FailEvery(DiskOperation::kSync, EIO);
  EXPECT_EQ(spool_->Sync({sealed}).error().system_errno, EIO);
  disk_->ClearFaults();
  EXPECT_FALSE(spool_->Sync({sealed}));
  EXPECT_EQ(FilesBelow("staging/"), 0U);
  EXPECT_EQ(Text(sealed), "voxels") << "still to be published";
}

TEST_F(SpoolTest, AFailedSyncOfADirectoryPromisesNothing) {
  const SpooledChunk one = Sealed("x", "voxels");
  const SpooledChunk other = Sealed("y", "voxels");
  disk_->FailEvery(DiskOperation::kSyncDirectory, EIO);
  EXPECT_EQ(spool_->Sync({one}).error().system_errno, EIO);
  disk_->ClearFaults();
  EXPECT_FALSE(spool_->Sync({one}));
  EXPECT_FALSE(spool_->Sync({other})) << "its name was among those that failed";
  EXPECT_TRUE(spool_->Sync({Sealed("x", "voxels")}));
}

// What waits for a call that ended by an exception would wait for ever.
TEST_F(SpoolTest, WhereMemoryRunsOutNothingWaitsForWhatNeverEnds) {
  const SpooledChunk one = Sealed("x", "voxels");
  disk_->ThrowEvery(DiskOperation::kSync);
  EXPECT_EQ(spool_->Sync({one}).error().code, ErrorCode::kResourceExhausted);
  disk_->ClearFaults();
  EXPECT_FALSE(spool_->Sync({one})) << "an fsync may have failed before";
  EXPECT_EQ(Text(one), "voxels") << "still to be published";

  const SpooledChunk other = Sealed("y", "voxels");
  disk_->ThrowEvery(DiskOperation::kSyncDirectory);
  EXPECT_EQ(spool_->Sync({other}).error().code, ErrorCode::kResourceExhausted);
  disk_->ClearFaults();
  EXPECT_FALSE(spool_->Sync({other}));
  const auto staged = Staged("voxels");
  disk_->ThrowEvery(DiskOperation::kMakeDirectory);
  EXPECT_FALSE(spool_->Seal(staged.get(), "16_16_16", "x", {}));
  disk_->ClearFaults();
  const auto sealed = spool_->Seal(staged.get(), "16_16_16", "x", {});
  ASSERT_TRUE(sealed) << sealed.error().message;
  EXPECT_TRUE(spool_->Sync({*sealed, Sealed("x", "voxels"), Sealed("y", "voxels")}));
  EXPECT_TRUE(spool_->Discard(one));
}

TEST_F(SpoolTest, ASyncForWhichADirectoryCouldNotBeOpenedIsMadeLater) {
  const SpooledChunk sealed = Sealed("x", "voxels");
  disk_->FailEvery(DiskOperation::kSyncDirectory, EMFILE);
  EXPECT_EQ(spool_->Sync({sealed}).error().system_errno, EMFILE);
  disk_->ClearFaults();
  const Status synced = spool_->Sync({sealed});
  EXPECT_TRUE(synced) << synced.error().message;
}

TEST(SpoolDirectory, ASyncForWhichAFileCouldNotBeOpenedIsMadeLater) {
  const TemporaryDirectory folder;
  // No sealed file is held open.
  auto spool = OpenSpool(*OpenPosixFileSystem(folder.path()),
                         {.source = kSpooledSource, .max_descriptors = 0});
  ASSERT_TRUE(spool) << spool.error().message;
  const auto sealed = (*spool)->Seal((*(*spool)->Stage()).get(), "8_8_8", "x", {});
  ASSERT_TRUE(sealed) << sealed.error().message;
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  const rlimit none{3, limit.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  Status synced = (*spool)->Sync({*sealed});
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
  ASSERT_FALSE(synced);
  EXPECT_EQ(synced.error().system_errno, EMFILE) << synced.error().message;
  synced = (*spool)->Sync({*sealed});
  EXPECT_TRUE(synced) << synced.error().message;
}

TEST_F(SpoolTest, ConflictsAreKeptAside) {
  const SpooledChunk sealed = Sealed("x", "voxels");
  ASSERT_TRUE(spool_->Quarantine(sealed));
  EXPECT_EQ(Text(sealed), "(not found)");
  ASSERT_EQ(spool_->Conflicts().size(), 1U);
  EXPECT_EQ(spool_->usage().files, 0U);
  EXPECT_EQ(spool_->Quarantine(sealed).error().code, ErrorCode::kNotFound);
  disk_ = disk_->AfterPowerLoss(Survival::kNothing, 1);
  spool_.reset();
  Open();
  EXPECT_TRUE(spool_->TakeRecovered().empty());
  ASSERT_EQ(spool_->Conflicts().size(), 1U);
  EXPECT_EQ(spool_->Conflicts()[0].dataset, "8_8_8");
  EXPECT_EQ(spool_->Conflicts()[0].chunk, "x");
  EXPECT_GT(Sealed("x", "new").sequence, sealed.sequence);
}

TEST_F(SpoolTest, HoweverManyFilesAreQuarantinedTheirDirectoryIsListedOnce) {
  disk_ = std::make_shared<SimulatedDisk>(SimulatedDiskOptions{.counts_reads = true});
  Open();
  std::vector<SpooledChunk> sealed;
  for (int i = 0; i < 20; ++i) sealed.push_back(Sealed(std::to_string(i), "voxels"));
  for (const SpooledChunk& chunk : sealed) ASSERT_TRUE(spool_->Quarantine(chunk));
  ASSERT_TRUE(disk_->Remove("conflicts/8_8_8/" + SealedName(sealed[7])));
  disk_->ResetCount();
  EXPECT_EQ(spool_->Conflicts().size(), 19U);
  EXPECT_EQ(disk_->operations(), 1U);
}

TEST_F(SpoolTest, SequencesGoOnAboveAllThatWereSeen) {
  const SpooledChunk first = Sealed("x", "1");
  const SpooledChunk second = Sealed("y", "2");
  EXPECT_GT(second.sequence, first.sequence);
  Open();
  EXPECT_GT(Sealed("z", "3").sequence, second.sequence);
}

TEST_F(SpoolTest, OnlyTheLatestVersionIsRecovered) {
  Sealed("x", "first");
  const SpooledChunk second = Sealed("x", "second");
  Open();
  const auto recovered = spool_->TakeRecovered();
  ASSERT_EQ(recovered.size(), 1U);
  EXPECT_EQ(recovered[0].sequence, second.sequence);
  EXPECT_EQ(FilesBelow("chunks/"), 1U);
}

TEST_F(SpoolTest, DamagedFilesAreQuarantined) {
  const SpooledChunk good = Sealed("good", "voxels");
  const SpooledChunk bad = Sealed("bad", "voxels");
  const SpooledChunk cut = Sealed("cut", "voxels");
  spool_.reset();
  disk_->Put("chunks/8_8_8/" + SealedName(bad), "voxelS");
  disk_->Put("chunks/8_8_8/" + SealedName(cut), "voxel");
  Open();
  const auto recovered = spool_->TakeRecovered();
  ASSERT_EQ(recovered.size(), 1U);
  EXPECT_EQ(recovered[0].chunk, "good");
  EXPECT_EQ(FilesBelow("chunks/"), 1U);
  EXPECT_EQ(disk_->Text("damaged/8_8_8/" + SealedName(bad)), "voxelS");
  EXPECT_EQ(disk_->Text("damaged/8_8_8/" + SealedName(cut)), "voxel");
  ASSERT_EQ(spool_->Damaged().size(), 2U);
  EXPECT_NE(spool_->DescribeDamaged(bad).find("damaged/8_8_8/"), std::string::npos);
  EXPECT_EQ(spool_->usage().files, 1U) << "what is in quarantine takes no room";
  EXPECT_GT(Sealed("new", "1").sequence, cut.sequence);
  Open();
  EXPECT_EQ(spool_->Damaged().size(), 2U) << "until a person has looked at them";
  ASSERT_TRUE(spool_->Discard(recovered[0]));
  EXPECT_EQ(spool_->RemoveIfEmpty(), false);
}

TEST_F(SpoolTest, AFileThatOthersRemovedIsNotTakenForADiscardedOne) {
  const SpooledChunk lost = Sealed("lost", "voxels");
  const SpooledChunk discarded = Sealed("discarded", "voxels");
  ASSERT_TRUE(disk_->Remove("chunks/8_8_8/" + SealedName(lost)));
  ASSERT_TRUE(spool_->Discard(discarded));
  EXPECT_EQ(Text(lost), "(data loss)");
  EXPECT_EQ(Text(discarded), "(not found)");
  EXPECT_TRUE(spool_->Discard(lost));
  EXPECT_EQ(spool_->usage().files, 0U);
}

TEST_F(SpoolTest, AnEmptySpoolIsRemovedAndOneWithForeignFilesStaysASpool) {
  const SpooledChunk chunk = Sealed("x", "voxels");
  auto staged = Staged("never committed");
  EXPECT_EQ(spool_->RemoveIfEmpty(), false);
  ASSERT_TRUE(spool_->Discard(chunk));
  disk_->Put("chunks/8_8_8/.nfs0001", "open elsewhere");
  EXPECT_EQ(spool_->RemoveIfEmpty(), false);
  EXPECT_EQ(disk_->Text("chunks/8_8_8/.nfs0001"), "open elsewhere");
  staged.reset();  // a staged file does not outlive its spool
  Open();
  ASSERT_TRUE(disk_->Remove("chunks/8_8_8/.nfs0001"));
  EXPECT_EQ(spool_->RemoveIfEmpty(), true);
  EXPECT_TRUE(disk_->Paths().empty());
}

TEST_F(SpoolTest, NamesThatCannotBeAreRefused) {
  auto staged = Staged("voxels");
  const auto seal = [&](const std::string& dataset, const std::string& chunk) {
    return spool_->Seal(staged.get(), dataset, chunk, {});
  };
  EXPECT_EQ(seal("8_8_8", std::string(200, 'x')).error().system_errno, ENAMETOOLONG);
  EXPECT_EQ(seal("8_8_8", "").error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(seal("8_8_8", "../x").error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(seal("/8_8_8", "x").error().code, ErrorCode::kInvalidArgument);
  const std::string deep = "a/" + std::string(300, 'd');
  const auto sealed = seal(deep, "x");
  ASSERT_TRUE(sealed) << sealed.error().message;
  staged.reset();
  Open();
  EXPECT_EQ(spool_->TakeRecovered().at(0).dataset, deep);
}

TEST_F(SpoolTest, OneProcessOwnsASpool) {
  const auto second = OpenSpool(disk_);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::kUnavailable);
  EXPECT_NE(second.error().message.find("process"), std::string::npos) << second.error().message;
  spool_.reset();
  const auto other = OpenSpool(disk_, {.source = "file:///elsewhere"});
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(other.error().message.find(kSpooledSource), std::string::npos) << other.error().message;
  EXPECT_TRUE(OpenSpool(disk_));
}

TEST(SpoolDirectory, ForeignContentIsRefusedByName) {
  for (const char* path : {"holiday.jpg", "chunks/8_8_8/x,s1-r-a", "owner"}) {
    const auto disk = std::make_shared<SimulatedDisk>();
    disk->Put(path, "mine");
    const auto opened = OpenSpool(disk);
    ASSERT_FALSE(opened) << path;
    EXPECT_NE(opened.error().message.find(std::string(path).substr(0, 5)), std::string::npos);
    EXPECT_EQ(disk->Paths(), std::vector<std::string>{path}) << "nothing is touched";
  }
  const auto disk = std::make_shared<SimulatedDisk>();
  { ASSERT_TRUE(OpenSpool(disk)); }
}

TEST(SpoolDirectory, ForeignNamesInASpoolAreLeftAlone) {
  const auto disk = std::make_shared<SimulatedDisk>();
  SpooledChunk chunk;
  {
    const auto spool = OpenSpool(disk);
    ASSERT_TRUE(spool);
    const auto staged = (*spool)->Stage();
    ASSERT_TRUE(staged && (*staged)->Write(0, AsBytes("voxels")));
    chunk = (*spool)->Seal(staged->get(), "8_8_8", "x", {}).value();
  }
  const std::vector<std::string> foreign = {"chunks/8_8_8/.nfs0001", "staging/.nfs0002", ".nfs0003",
                                            "chunks/notes/readme.txt", "conflicts/8_8_8/notes.txt"};
  for (const std::string& path : foreign) {
    ASSERT_TRUE(MakeDirectories(
        *disk, path.find('/') == std::string::npos ? "" : path.substr(0, path.rfind('/'))));
    disk->Put(path, "mine");
  }
  const auto opened = OpenSpool(disk);
  ASSERT_TRUE(opened) << opened.error().message;
  EXPECT_EQ((*opened)->TakeRecovered().size(), 1U);
  for (const std::string& path : foreign) EXPECT_EQ(disk->Text(path), "mine") << path;
}

SourceIdentity Identity(const std::string& machine, std::uint64_t device, std::uint64_t inode,
                        const std::string& born, const std::string& document) {
  return {machine, device, inode, born, document};
}

TEST(SourceIdentityTest, ADirectoryIsTheSameByInodeAndBirthElseByWhatIsKnown) {
  const SourceIdentity known = Identity("here", 8, 2, "17.5", "info 9 1");
  EXPECT_TRUE(IsSameSource(known, known));
  EXPECT_TRUE(IsSameSource(known, Identity("here", 9, 2, "17.5", "info 9 2")))
      << "another device number since a restart, and the document was edited";
  EXPECT_FALSE(IsSameSource(known, Identity("there", 8, 2, "17.5", "info 9 1")));
  EXPECT_FALSE(IsSameSource(known, Identity("here", 8, 3, "17.5", "info 9 1")));
  EXPECT_FALSE(IsSameSource(known, Identity("here", 8, 2, "18.5", "info 9 1")))
      << "made anew with the same inode number";
  const SourceIdentity unborn = Identity("here", 8, 2, "", "info 9 1");
  EXPECT_TRUE(IsSameSource(unborn, Identity("here", 8, 2, "", "info 9 2")));
  EXPECT_TRUE(IsSameSource(unborn, Identity("here", 9, 2, "", "info 9 1")));
  EXPECT_FALSE(IsSameSource(unborn, Identity("here", 9, 2, "", "info 9 2")));
  EXPECT_FALSE(IsSameSource(unborn, Identity("here", 9, 3, "", "info 9 1")));
  EXPECT_FALSE(IsSameSource(Identity("here", 8, 2, "", ""), Identity("here", 9, 2, "", "")));
  const SourceIdentity network = Identity("network", 8, 2, "", "info 9 1");
  EXPECT_TRUE(IsSameSource(network, Identity("network", 40, 77, "", "info 9 1")));
  EXPECT_FALSE(IsSameSource(network, Identity("network", 40, 77, "", "info 9 2")));
}

TEST(SourceIdentityTest, AnotherDirectoryAtTheSamePathIsAnotherSource) {
  const TemporaryDirectory above;
  above.Write("source/info", "one");
  const auto first = IdentifySource(above.At("source"));
  ASSERT_TRUE(first) << first.error().message;
  above.Write("source/info", "edited");
  const auto edited = IdentifySource(above.At("source"));
  ASSERT_TRUE(edited);
  EXPECT_NE(first->document, edited->document);
  EXPECT_TRUE(IsSameSource(*first, *edited));
  std::filesystem::rename(above.At("source"), above.At("aside"));
  above.Write("source/info", "one");
  const auto other = IdentifySource(above.At("source"));
  ASSERT_TRUE(other);
  EXPECT_FALSE(IsSameSource(*first, *other));
  EXPECT_FALSE(IdentifySource(above.At("missing")));
}

TEST_F(SpoolTest, ASpoolOfAnotherDirectoryWithTheSamePathIsNotTakenOver) {
  const SourceIdentity here = Identity("machine", 8, 2, "17.5", "");
  spool_.reset();
  const std::string before = *disk_->Text("owner");
  Open({.source = kSpooledSource, .identity = here});  // one of the old form, of this host
  spool_.reset();
  EXPECT_NE(disk_->Text("owner"), before) << "what the source is has been written down";
  const auto other = OpenSpool(
      disk_, {.source = kSpooledSource, .identity = Identity("machine", 8, 3, "18.5", "")});
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(other.error().message.find(kSpooledSource), std::string::npos) << other.error().message;
  EXPECT_TRUE(OpenSpool(disk_, {.source = kSpooledSource, .identity = here}));
}

TEST_F(SpoolTest, ASpoolMovesWithItsSource) {
  const SourceIdentity here = Identity("machine", 8, 2, "17.5", "");
  spool_.reset();
  Open({.source = kSpooledSource, .identity = here});
  spool_.reset();
  for (const SourceIdentity& other :
       {Identity("machine", 8, 3, "17.5", ""), Identity("elsewhere", 8, 2, "17.5", ""),
        Identity("machine", 8, 2, "", "")}) {
    EXPECT_FALSE(OpenSpool(disk_, {.source = "/moved", .identity = other}));
  }
  EXPECT_FALSE(OpenSpool(disk_, {.source = "/moved"}));
  EXPECT_TRUE(OpenSpool(disk_, {.source = "/moved", .identity = here}));
  const auto owner = ReadOwner(*disk_, "");
  ASSERT_TRUE(owner && *owner);
  EXPECT_EQ((*owner)->source, "/moved");
}

TEST_F(SpoolTest, ASpoolOfTheOldFormOfAnotherHostIsNotTakenOver) {
  spool_.reset();
  const SpoolOwner owner = {kSpooledSource, "node-a", "boot", "4711", "1"};
  SpoolOwner present = ThisProcess(kSpooledSource, Identity("machine", 8, 2, "17.5", ""));
  const auto why = WhyOfAnotherSource(owner, present);
  ASSERT_TRUE(why);
  EXPECT_NE(why->find("node-a"), std::string::npos) << *why;
  present.identity->machine = "network";
  EXPECT_FALSE(WhyOfAnotherSource(owner, present)) << "all hosts see the same files";
}

TEST_F(SpoolTest, SourcesWhosePathIsNotUtf8AreWrittenDownAsTheyAre) {
  const std::string source = "/data/\\x/\xff\xed\xa0\x80";
  const auto disk = std::make_shared<SimulatedDisk>();
  ASSERT_TRUE(OpenSpool(disk, {.source = source}));
  const auto owner = ReadOwner(*disk, "");
  ASSERT_TRUE(owner) << owner.error().message;
  EXPECT_EQ((*owner)->source, source);
}

TEST(SpoolDirectory, SpoolsOfAFolderAreFound) {
  const TemporaryDirectory folder;
  for (const char* name : {"alive", "dead", "empty"}) {
    std::filesystem::create_directory(folder.At(name));
  }
  folder.Write("file", "x");
  folder.Write("damaged/owner", "{");
  const auto open = [&](const char* name, const char* source) {
    return OpenSpool(OpenPosixFileSystem(folder.At(name)).value(), {.source = source});
  };
  ASSERT_TRUE(open("dead", "one"));
  const auto alive = open("alive", "two");
  ASSERT_TRUE(alive) << alive.error().message;
  const auto found = FindSpools(*OpenPosixFileSystem(folder.path()).value());
  ASSERT_TRUE(found) << found.error().message;
  ASSERT_EQ(found->size(), 2U);
  EXPECT_EQ((*found)[0].path, "alive");
  EXPECT_EQ((*found)[0].source, "two");
  EXPECT_TRUE((*found)[0].alive);
  EXPECT_EQ((*found)[0].owner.find("process "), 0U);
  EXPECT_EQ((*found)[1].path, "dead");
  EXPECT_FALSE((*found)[1].alive);
}

// Threads that write, overwrite, sync, read and discard; on a real file system, for sanitizers too.
TEST(SpoolThreads, EverythingAtOnce) {
  const TemporaryDirectory directory;
  const auto spool = OpenSpool(OpenPosixFileSystem(directory.path()).value());
  ASSERT_TRUE(spool) << spool.error().message;
  std::atomic<int> failures = 0;
  const auto work = [&](int thread) {
    std::optional<SpooledChunk> last;
    for (int i = 0; i < 60; ++i) {
      const auto staged = (*spool)->Stage();
      const std::string text = std::to_string(thread) + ':' + std::to_string(i);
      failures += !(staged && (*staged)->Write(0, AsBytes(text)));
      const auto sealed = (*spool)->Seal(staged->get(), i % 2 == 0 ? "a" : "b", "shared", {});
      failures += !sealed;
      if (i % 3 == 0) failures += !(*spool)->Sync({*sealed});
      if (const auto file = (*spool)->Open(*sealed)) {
        ByteVector bytes(text.size());
        failures += (*file)->Read(0, bytes).value_or(0) != text.size() || AsText(bytes) != text;
      } else {
        ++failures;
      }
      if (last) failures += !(*spool)->Discard(*last);
      last = *sealed;
    }
    failures += !(*spool)->Discard(*last);
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back(work, i);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failures, 0);
  EXPECT_EQ((*spool)->usage().files, 0U);
  EXPECT_EQ((*spool)->usage().bytes, 0U);
}

}  // namespace
}  // namespace unshard
