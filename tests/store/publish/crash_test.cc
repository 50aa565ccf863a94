// A publish that ends at any of its operations: the shard is the old version or the new one, and
// the next publish finds nothing in its way.
#include <gtest/gtest.h>

#include <array>
#include <cerrno>
#include <tuple>

#include "store/local/local_replacer.h"
#include "tests/support/full_run.h"
#include "tests/support/published_shards.h"
#include "tests/support/simulated_disk.h"

namespace unshard {
namespace {

constexpr const char* kKey = "a/b/0.shard";
constexpr const char* kIndexKey = "a/b/0.index";
constexpr const char* kDataKey = "a/b/0.data";

enum class Base { kMissing, kShard, kPair };

struct Scenario {
  std::string format;
  Base base = Base::kShard;
  bool clones = false;
  bool removes_all = false;
};

class PublishCrashTest : public testing::TestWithParam<Scenario> {
 protected:
  void SetUp() override {
    if (GetParam().base != Base::kMissing) {
      for (std::size_t i = 0; i < 12; ++i) old_[format_.places[i]] = ChunkText(i, 700);
    }
    if (GetParam().removes_all) {
      for (const auto& [place, text] : old_) changes_.push_back(maker_.Remove(place, old_));
      return;
    }
    std::mt19937 random(3);
    new_ = old_;
    changes_ = maker_.Random(format_, new_, 4, random);
  }
  std::shared_ptr<SimulatedDisk> NewDisk() const {
    SimulatedDiskOptions options;
    options.clones = GetParam().clones;
    const auto disk = std::make_shared<SimulatedDisk>(options);
    const std::string shard = Assembled(*format_.format, old_);
    if (GetParam().base == Base::kShard) disk->Put(kKey, shard);
    if (GetParam().base == Base::kPair) {
      disk->Put(kIndexKey, shard.substr(0, 64));
      disk->Put(kDataKey, shard.substr(64));
    }
    return disk;
  }
  Result<PublishResult> Publish(const std::shared_ptr<SimulatedDisk>& disk) const {
    PublishRequest request = RequestFor(format_, kKey, changes_);
    if (GetParam().base == Base::kPair)
      request.object.obsolete = ShardKeys::Pair{kIndexKey, kDataKey};
    return ShardPublisher(MakeLocalReplacer(disk), {}).Publish(request);
  }
  // What a reader finds: the shard before the pair.
  ShardContent Found(const SimulatedDisk& disk) const {
    auto text = disk.Text(kKey);
    const auto index = disk.Text(kIndexKey);
    const auto data = disk.Text(kDataKey);
    if (!text && GetParam().base == Base::kPair) {
      EXPECT_EQ(index.has_value(), data.has_value()) << "half a pair";
      if (index && data) text = *index + *data;
    }
    if (!text) return {};
    auto content = ContentOf(*format_.format, *text);
    EXPECT_TRUE(content) << content.error().message;
    return content ? *content : ShardContent{{{99, 99}, "unreadable"}};
  }
  // True where it was the new one.
  bool ExpectOneVersionAndGoOn(const std::shared_ptr<SimulatedDisk>& disk) const {
    const ShardContent found = Found(*disk);
    EXPECT_TRUE(found == old_ || found == new_);
    const auto again = Publish(disk);
    EXPECT_TRUE(again) << again.error().message;
    EXPECT_TRUE(Found(*disk) == new_);
    EXPECT_EQ(disk->Paths().size(), new_.empty() ? 0u : 1u);
    EXPECT_TRUE(Found(*disk->AfterPowerLoss(Survival::kNothing, 1)) == new_);
    return found == new_;
  }

  const WritableFormat& format_ = FormatNamed(GetParam().format);
  ChangeMaker maker_{std::make_shared<SimulatedDisk>()};
  ShardContent old_;
  ShardContent new_;
  std::vector<ShardChange> changes_;
};

std::vector<Scenario> Scenarios() {
  std::vector<Scenario> scenarios;
  for (const WritableFormat& format : WritableFormats()) {
    for (const bool clones : {false, true}) {
      if (clones && !format.appends) continue;
      scenarios.push_back({format.name, Base::kShard, clones});
    }
    scenarios.push_back({format.name, Base::kMissing});
    scenarios.push_back({format.name, Base::kShard, false, true});
  }
  scenarios.push_back({"PrecomputedRaw", Base::kPair});
  scenarios.push_back({"PrecomputedRaw", Base::kPair, false, true});
  return scenarios;
}

std::string NameOfScenario(const testing::TestParamInfo<Scenario>& tested) {
  constexpr std::array kBases = {"New", "Shard", "Pair"};
  return tested.param.format + kBases[static_cast<std::size_t>(tested.param.base)] +
         (tested.param.clones ? "Cloned" : "") + (tested.param.removes_all ? "Removed" : "");
}

INSTANTIATE_TEST_SUITE_P(Scenarios, PublishCrashTest, testing::ValuesIn(Scenarios()),
                         NameOfScenario);

TEST_P(PublishCrashTest, EveryOperationLeavesTheOldOrTheNewVersionAfterAPowerLoss) {
  const std::uint64_t seeds = InFullRun(12U, 3U);
  std::uint64_t points = 0;
  for (std::uint64_t n = 1;; ++n) {
    const auto disk = NewDisk();
    disk->CrashAt(n);
    const auto result = Publish(disk);
    if (!disk->crashed()) {
      ASSERT_TRUE(result) << result.error().message;
      EXPECT_EQ(result->appended, GetParam().clones);
      EXPECT_TRUE(ExpectOneVersionAndGoOn(disk->AfterPowerLoss(Survival::kNothing, n)));
      EXPECT_TRUE(ExpectOneVersionAndGoOn(disk->AfterPowerLoss(Survival::kRandom, n)));
      break;
    }
    SCOPED_TRACE("crash at operation " + std::to_string(n));
    ExpectOneVersionAndGoOn(disk->AfterPowerLoss(Survival::kNothing, n));
    ExpectOneVersionAndGoOn(disk->AfterPowerLoss(Survival::kEverything, n));
    ExpectOneVersionAndGoOn(disk->AfterKill());
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
      const bool is_new = ExpectOneVersionAndGoOn(disk->AfterPowerLoss(Survival::kRandom, seed));
      EXPECT_TRUE(!result || is_new) << "acknowledged, and lost with seed " << seed;
    }
    points += 3 + seeds;
    if (HasFailure()) return;
  }
  RecordProperty("crash_points", static_cast<int>(points));
  EXPECT_GT(points, 4 * (3 + seeds));
}

TEST_P(PublishCrashTest, EveryFailingOperationIsAnErrorOrHarmless) {
  for (const int system_errno : {EIO, ENOSPC}) {
    for (const bool lasting : {false, true}) {
      for (std::uint64_t n = 1;; ++n) {
        const auto disk = NewDisk();
        disk->FailAt(n, system_errno, lasting);
        const auto result = Publish(disk);
        const std::uint64_t operations = disk->operations();
        disk->ClearFaults();
        SCOPED_TRACE("failure of operation " + std::to_string(n));
        const ShardContent found = Found(*disk);
        EXPECT_TRUE(found == new_ || (!result && found == old_));
        if (result) {
          EXPECT_TRUE(Found(*disk->AfterPowerLoss(Survival::kNothing, n)) == new_);
        }
        ExpectOneVersionAndGoOn(disk);
        if (HasFailure()) return;
        if (operations < n) break;
      }
    }
  }
}

// The publish before has renamed its version, and could not sync the directory any more.
TEST_P(PublishCrashTest, AfterAFailedSyncEveryCrashOfTheNextPublishLeavesOneVersion) {
  const std::uint64_t seeds = InFullRun(8U, 2U);
  std::uint64_t renamed = 0;
  for (std::uint64_t n = 1;; ++n) {
    const auto begin = [&] {
      auto disk = NewDisk();
      disk->FailAt(n, EIO, /*lasting=*/true);
      const bool published = Publish(disk).has_value();
      const bool failed = disk->operations() >= n;
      disk->ClearFaults();
      disk->ResetCount();
      return std::tuple(disk, published, failed);
    };
    const auto [left, published, failed] = begin();
    if (!failed) break;
    if (published || !(Found(*left) == new_)) continue;
    ++renamed;
    for (std::uint64_t m = 1;; ++m) {
      SCOPED_TRACE("failures from operation " + std::to_string(n) + ", crash at " +
                   std::to_string(m));
      const auto disk = std::get<0>(begin());
      disk->CrashAt(m);
      const auto result = Publish(disk);
      for (std::uint64_t seed = 0; seed <= seeds; ++seed) {
        const auto survival = seed == 0 ? Survival::kNothing : Survival::kRandom;
        const ShardContent found = Found(*disk->AfterPowerLoss(survival, seed));
        EXPECT_TRUE(found == new_ || (!result && found == old_)) << "with seed " << seed;
      }
      if (HasFailure()) return;
      if (!disk->crashed()) break;
    }
  }
  EXPECT_GT(renamed, 0u);
}

}  // namespace
}  // namespace unshard
