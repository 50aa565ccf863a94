// Several chunks are committed together or not at all, whenever the process ends.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "store/object/log.h"
#include "store/spool/sealed_name.h"
#include "store/spool/spool.h"
#include "tests/support/simulated_disk.h"

namespace unshard {
namespace {

constexpr std::size_t kParts = 4;
constexpr std::size_t kRemoved = 2;  // the part that is a removal

class SpoolTogether : public testing::Test {
 protected:
  static void SetUpTestSuite() { StartLog(LogSink::kStandardError, LogLevel::kError); }
  static void TearDownTestSuite() { StartLog(LogSink::kStandardError, LogLevel::kInfo); }

  static Result<std::unique_ptr<Spool>> Open(const std::shared_ptr<SimulatedDisk>& disk) {
    return Spool::Open(disk, {.source = "file:///data/channels"});
  }
  static Result<std::vector<SpooledChunk>> Commit(Spool& spool, const std::string& text) {
    std::vector<std::shared_ptr<StagedFile>> staged(kParts);
    std::vector<Spool::Part> parts;
    for (std::size_t part = 0; part < kParts; ++part) {
      if (part != kRemoved) {
        UNSHARD_ASSIGN_OR_RETURN(staged[part], spool.Stage());
        UNSHARD_RETURN_IF_ERROR(staged[part]->Write(0, AsBytes(text)));
      }
      parts.push_back({staged[part].get(), std::to_string(part), {}});
    }
    return spool.SealTogether("a", parts);
  }
  // The text of all parts of one commit; "" where there is none.
  static std::string Found(const std::shared_ptr<SimulatedDisk>& disk) {
    auto spool = Open(disk);
    EXPECT_TRUE(spool) << spool.error().message;
    std::vector<std::string> texts;
    for (const SpooledChunk& chunk : (*spool)->TakeRecovered()) {
      EXPECT_EQ(chunk.only_with, 0U) << SealedName(chunk);
      EXPECT_EQ(chunk.removed, chunk.chunk == std::to_string(kRemoved));
      if (chunk.removed) continue;
      ByteVector bytes(chunk.size);
      EXPECT_TRUE((*(*spool)->Open(chunk))->Read(0, bytes));
      texts.emplace_back(AsText(bytes));
    }
    EXPECT_TRUE((*spool)->Damaged().empty());
    if (texts.empty()) return "";
    EXPECT_EQ(texts, std::vector<std::string>(kParts - 1, texts.front()));
    return texts.front();
  }
};

TEST_F(SpoolTogether, AllOrNoneAreFoundByTheNextProcess) {
  for (std::uint64_t point = 1;; ++point) {
    SCOPED_TRACE("operation " + std::to_string(point));
    const auto disk = std::make_shared<SimulatedDisk>(SimulatedDiskOptions{.seed = point});
    auto spool = Open(disk);
    ASSERT_TRUE(spool && Commit(**spool, "first"));
    disk->ResetCount();
    disk->CrashAt(point);
    const bool committed = Commit(**spool, "second").has_value();
    const bool crashed = disk->crashed();
    const auto after = disk->AfterKill();
    // The process that ends the commit may be killed as well.
    for (std::uint64_t second = 1; second < 16; ++second) {
      const auto again = disk->AfterKill();
      again->CrashAt(second);
      (void)Open(again);
      const std::string found = Found(again->AfterKill());
      EXPECT_TRUE(found == "second" || (found == "first" && !committed)) << found;
    }
    const std::string found = Found(after);
    EXPECT_TRUE(found == "second" || (found == "first" && !committed)) << found;
    EXPECT_EQ(Found(after), found);
    if (!crashed) {
      EXPECT_TRUE(committed);
      EXPECT_GT(point, 8U);
      return;
    }
    if (HasFailure()) return;
  }
}

TEST_F(SpoolTogether, AFailureLeavesNone) {
  for (std::uint64_t point = 1;; ++point) {
    SCOPED_TRACE("operation " + std::to_string(point));
    const auto disk = std::make_shared<SimulatedDisk>(SimulatedDiskOptions{.seed = point});
    auto spool = Open(disk);
    ASSERT_TRUE(spool && Commit(**spool, "first"));
    const SpoolUsage usage = (*spool)->usage();
    disk->ResetCount();
    disk->FailAt(point, EIO, false);
    const bool committed = Commit(**spool, "second").has_value();
    const bool reached = disk->operations() >= point;
    disk->ClearFaults();
    if (!committed) {
      EXPECT_EQ((*spool)->usage().files, usage.files);
      EXPECT_EQ((*spool)->usage().bytes, usage.bytes);
      EXPECT_EQ(Found(disk->AfterKill()), "first");
      // And the next one succeeds.
      EXPECT_TRUE(Commit(**spool, "third"));
      EXPECT_EQ(Found(disk->AfterKill()), "third");
    }
    if (!reached) {
      EXPECT_TRUE(committed);
      return;
    }
    if (HasFailure()) return;
  }
}

// What fails goes on to fail, so that nothing can be taken back either, until the disk recovers.
TEST_F(SpoolTogether, WhatCouldNotBeTakenBackIsRemovedLater) {
  for (std::uint64_t point = 1;; ++point) {
    SCOPED_TRACE("operation " + std::to_string(point));
    const auto disk = std::make_shared<SimulatedDisk>(SimulatedDiskOptions{.seed = point});
    auto spool = Open(disk);
    const auto first = Commit(**spool, "first");
    ASSERT_TRUE(first);
    disk->ResetCount();
    disk->FailAt(point, EIO, true);
    const bool committed = Commit(**spool, "second").has_value();
    disk->ClearFaults();
    if (committed) return;
    const std::string found = Found(disk->AfterKill());
    EXPECT_TRUE(found == "first" || found == "second") << found;
    const auto third = Commit(**spool, "third");
    ASSERT_TRUE(third);
    EXPECT_EQ(Found(disk->AfterKill()), "third");
    EXPECT_EQ((*spool)->usage().files, 2 * kParts);
    for (const auto& chunks : {*first, *third}) {
      for (const SpooledChunk& chunk : chunks) ASSERT_TRUE((*spool)->Discard(chunk));
    }
    EXPECT_EQ((*spool)->usage().files, 0U);
    EXPECT_EQ((*spool)->usage().bytes, 0U);
    EXPECT_EQ(Found(disk->AfterKill()), "");
    if (HasFailure()) return;
  }
}

TEST_F(SpoolTogether, AllSurviveAPowerLossOnceTheyAreSynced) {
  const auto disk = std::make_shared<SimulatedDisk>(SimulatedDiskOptions{.seed = 1});
  auto spool = Open(disk);
  const auto sealed = Commit(**spool, "kept");
  ASSERT_TRUE(sealed);
  ASSERT_EQ(sealed->size(), kParts);
  for (std::size_t part = 0; part < kParts; ++part) {
    EXPECT_EQ((*sealed)[part].chunk, std::to_string(part));
    EXPECT_EQ((*sealed)[part].sequence, sealed->front().sequence + part);
  }
  ASSERT_TRUE((*spool)->Sync(*sealed));
  EXPECT_EQ(Found(disk->AfterPowerLoss(Survival::kNothing, 1)), "kept");
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    EXPECT_EQ(Found(disk->AfterPowerLoss(Survival::kRandom, seed)), "kept");
  }
  // A part that is published and discarded takes no other part with it.
  ASSERT_TRUE((*spool)->Discard(sealed->back()));
  auto next = Open(disk->AfterKill());
  ASSERT_TRUE(next);
  EXPECT_EQ((*next)->TakeRecovered().size(), kParts - 1);
}

TEST_F(SpoolTogether, NamesAreCheckedBeforeAnythingHappens) {
  const auto disk = std::make_shared<SimulatedDisk>();
  auto spool = Open(disk);
  ASSERT_TRUE(spool);
  const std::size_t files = disk->Paths().size();
  const auto sealed =
      (*spool)->SealTogether("a", {{nullptr, "0", {}}, {nullptr, std::string(200, 'x'), {}}});
  EXPECT_EQ(sealed.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(disk->Paths().size(), files);
}

}  // namespace
}  // namespace unshard
