// A move is done or it is not, whatever ends the process or the machine, and whenever.
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <optional>

#include "store/object/log.h"
#include "store/spool/sealed_name.h"
#include "store/spool/spool.h"
#include "tests/support/full_run.h"
#include "tests/support/simulated_disk.h"

namespace unshard {
namespace {

constexpr const char* kMovedSource = "file:///data/segmentation";

// What stands under both names, in the spool and else in the store; "" where nothing does.
struct Names {
  std::string from = "moved";
  std::string to = "replaced";
  friend bool operator==(const Names&, const Names&) = default;
  friend void PrintTo(const Names& names, std::ostream* out) {
    *out << "from '" << names.from << "', to '" << names.to << "'";
  }
};
const Names kBefore;
const Names kAfter{"", "moved"};

struct Scenario {
  const char* name;
  bool spooled = false;  // both chunks wait in the spool before the move; else the store has them
  enum class Then { kNothing, kPublishCopyFirst, kPublishRemovalFirst } then = Then::kNothing;
};

class SpoolMove : public testing::TestWithParam<Scenario> {
 protected:
  static void SetUpTestSuite() { StartLog(LogSink::kStandardError, LogLevel::kError); }
  static void TearDownTestSuite() { StartLog(LogSink::kStandardError, LogLevel::kInfo); }

  static Result<std::unique_ptr<Spool>> Open(const std::shared_ptr<SimulatedDisk>& disk) {
    return Spool::Open(disk, {.source = kMovedSource});
  }
  static Result<SpooledChunk> Put(Spool& spool, const std::string& chunk, std::string_view text) {
    UNSHARD_ASSIGN_OR_RETURN(const auto staged, spool.Stage());
    UNSHARD_RETURN_IF_ERROR(staged->Write(0, AsBytes(text)));
    UNSHARD_ASSIGN_OR_RETURN(const SpooledChunk sealed, spool.Seal(staged.get(), "a", chunk, {}));
    UNSHARD_RETURN_IF_ERROR(spool.Sync({sealed}));
    return sealed;
  }

  // The move and what follows, until something fails.
  struct Run {
    bool acknowledged = false;
    Names store;  // what has been published
  };
  static Run Play(const std::shared_ptr<SimulatedDisk>& disk, std::uint64_t crash_at) {
    Run run;
    auto spool = Open(disk);
    EXPECT_TRUE(spool) << spool.error().message;
    std::vector<SpooledChunk> before;
    if (GetParam().spooled) {
      run.store = {"", ""};
      before.push_back(*Put(**spool, "from", "moved"));
      before.push_back(*Put(**spool, "to", "replaced"));
    }
    disk->ResetCount();
    disk->CrashAt(crash_at);
    const auto staged = (*spool)->Stage();
    if (!staged || !(*staged)->Write(0, AsBytes("moved"))) return run;
    const auto move = (*spool)->SealMove(**staged, "a", {"to", {}}, {"from", {}});
    if (!move) return run;
    run.acknowledged = true;
    for (const SpooledChunk& each : before) {
      if (!(*spool)->Discard(each)) return run;
    }
    const auto publish = [&](const SpooledChunk& chunk) {
      if (!(*spool)->PrepareToPublish({chunk})) return false;
      (chunk.removed ? run.store.from : run.store.to) = chunk.removed ? "" : "moved";
      // The shard is written for a while: staging stands for an operation at which that ends.
      return (*spool)->Discard(chunk) && (*spool)->Stage();
    };
    switch (GetParam().then) {
      case Scenario::Then::kNothing:
        break;
      case Scenario::Then::kPublishCopyFirst:
        (void)(publish(move->copy) && publish(move->removal));
        break;
      case Scenario::Then::kPublishRemovalFirst:
        (void)(publish(move->removal) && publish(move->copy));
        break;
    }
    return run;
  }

  static void Check(const std::shared_ptr<SimulatedDisk>& disk, const Run& run) {
    auto spool = Open(disk);
    ASSERT_TRUE(spool) << spool.error().message;
    Names found = run.store;
    for (const SpooledChunk& chunk : (*spool)->TakeRecovered()) {
      EXPECT_EQ(chunk.only_with, 0U) << SealedName(chunk);
      std::string& name = chunk.chunk == "from" ? found.from : found.to;
      name.clear();
      if (chunk.removed) continue;
      const auto file = (*spool)->Open(chunk);
      ASSERT_TRUE(file) << file.error().message;
      ByteVector bytes(chunk.size);
      ASSERT_TRUE((*file)->Read(0, bytes));
      name = AsText(bytes);
    }
    if (run.acknowledged) {
      EXPECT_EQ(found, kAfter);
      // The files of what has been published are emptied, and used again.
      if (GetParam().then == Scenario::Then::kNothing) {
        EXPECT_TRUE((*spool)->Damaged().empty());
      }
    } else {
      EXPECT_TRUE(found == kBefore || found == kAfter) << testing::PrintToString(found);
    }
    // Numbers that were given are not given again, and it works.
    const auto next = Put(**spool, "next", "x");
    ASSERT_TRUE(next) << next.error().message;
  }
};

INSTANTIATE_TEST_SUITE_P(
    Scenarios, SpoolMove,
    testing::Values(Scenario{"stored"}, Scenario{"spooled", true},
                    Scenario{"stored_copy_first", false, Scenario::Then::kPublishCopyFirst},
                    Scenario{"spooled_copy_first", true, Scenario::Then::kPublishCopyFirst},
                    Scenario{"stored_removal_first", false, Scenario::Then::kPublishRemovalFirst},
                    Scenario{"spooled_removal_first", true, Scenario::Then::kPublishRemovalFirst}),
    [](const auto& tested) { return std::string(tested.param.name); });

TEST_P(SpoolMove, IsDoneOrNotAtEveryOperation) {
  const std::uint64_t seeds = InFullRun(8U, 2U);
  std::uint64_t point = 1;
  for (bool finished = false; !finished; ++point) {
    SCOPED_TRACE("operation " + std::to_string(point));
    const auto disk = std::make_shared<SimulatedDisk>(SimulatedDiskOptions{.seed = point});
    const Run run = Play(disk, point);
    finished = !disk->crashed();
    if (finished) {
      EXPECT_TRUE(run.acknowledged);
    }
    Check(disk->AfterKill(), run);
    Check(disk->AfterPowerLoss(Survival::kNothing, point), run);
    Check(disk->AfterPowerLoss(Survival::kEverything, point), run);
    for (std::uint64_t seed = point * seeds; seed < (point + 1) * seeds; ++seed) {
      SCOPED_TRACE("seed " + std::to_string(seed));
      Check(disk->AfterPowerLoss(Survival::kRandom, seed), run);
      // The process that ends the move is ended as well.
      for (const auto& after : {disk->AfterKill(), disk->AfterPowerLoss(Survival::kRandom, seed)}) {
        after->CrashAt(1 + seed % 13);
        (void)Open(after);
        Check(after->AfterPowerLoss(Survival::kRandom, seed), run);
        Check(after->AfterKill(), run);
      }
    }
    if (HasFailure()) return;
  }
  EXPECT_GT(point, 8U);
}

TEST_P(SpoolMove, AFailureLeavesBothAsTheyWere) {
  for (std::uint64_t point = 1;; ++point) {
    SCOPED_TRACE("operation " + std::to_string(point));
    const auto disk = std::make_shared<SimulatedDisk>(SimulatedDiskOptions{.seed = point});
    auto spool = Open(disk);
    ASSERT_TRUE(spool);
    ASSERT_TRUE(Put(**spool, "from", "moved"));
    ASSERT_TRUE(Put(**spool, "to", "replaced"));
    auto staged = (*spool)->Stage();
    ASSERT_TRUE(staged && (*staged)->Write(0, AsBytes("moved")));
    const SpoolUsage usage = (*spool)->usage();
    disk->ResetCount();
    disk->FailAt(point, EIO, false);
    const auto move = (*spool)->SealMove(**staged, "a", {"to", {}}, {"from", {}});
    const bool reached = disk->operations() >= point;
    disk->ClearFaults();
    if (!reached) {
      EXPECT_TRUE(move);
      break;
    }
    Run run{move.has_value(), {"", ""}};
    if (!move) {
      EXPECT_LE((*spool)->usage().files, usage.files);
    }
    staged->reset();
    spool->reset();
    Check(disk->AfterKill(), run);
    Check(disk->AfterPowerLoss(Survival::kRandom, point), run);
    if (HasFailure()) return;
  }
}

// What fails goes on to fail, so that nothing can be taken back either, until the disk recovers.
TEST(SpoolMoveAfterFailures, WhatCouldNotBeTakenBackIsRemovedLater) {
  for (std::uint64_t point = 1;; ++point) {
    SCOPED_TRACE("operation " + std::to_string(point));
    const auto disk = std::make_shared<SimulatedDisk>(SimulatedDiskOptions{.seed = point});
    auto spool = Spool::Open(disk, {.source = kMovedSource});
    ASSERT_TRUE(spool);
    auto staged = (*spool)->Stage();
    ASSERT_TRUE(staged && (*staged)->Write(0, AsBytes("moved")));
    disk->ResetCount();
    disk->FailAt(point, EIO, true);
    const bool moved = (*spool)->SealMove(**staged, "a", {"to", {}}, {"from", {}}).has_value();
    disk->ClearFaults();
    if (moved) return;
    staged->reset();
    ASSERT_TRUE((*spool)->Stage());
    EXPECT_EQ((*spool)->usage().files, 0U);
    EXPECT_EQ((*spool)->usage().bytes, 0U);
    for (const std::string& path : disk->Paths()) {
      EXPECT_EQ(path.find(",s"), std::string::npos) << path << " is sealed";
    }
    if (HasFailure()) return;
  }
}

TEST(SpoolMoveNames, AreCheckedBeforeAnythingHappens) {
  const auto disk = std::make_shared<SimulatedDisk>();
  auto spool = Spool::Open(disk, {.source = kMovedSource});
  ASSERT_TRUE(spool);
  const auto staged = (*spool)->Stage();
  const std::size_t files = disk->Paths().size();
  EXPECT_EQ((*spool)->SealMove(**staged, "a", {"to", {}}, {std::string(200, 'x'), {}}).error().code,
            ErrorCode::kInvalidArgument);
  EXPECT_EQ(disk->Paths().size(), files);
}

}  // namespace
}  // namespace unshard
