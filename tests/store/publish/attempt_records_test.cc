#include "store/publish/attempt_records.h"

#include <gtest/gtest.h>

#include "store/source/writable_views.h"
#include "tests/support/memory_replacer.h"
#include "tests/support/simulated_disk.h"

namespace unshard {
namespace {

using Dropped = std::vector<std::string>;

class LeftUploads : public testing::Test {
 protected:
  LeftUploads() { Open(); }

  void Open() {
    SpoolOptions options;
    options.source = "test";
    auto spool = Spool::Open(disk_, options);
    ASSERT_TRUE(spool) << spool.error().message;
    spool_ = *std::move(spool);
  }
  // What the next mount knows of a spool whose mount is killed here.
  std::unique_ptr<AttemptRecords> AfterKill() {
    spool_.reset();
    disk_ = disk_->AfterKill();
    Open();
    auto records = std::make_unique<AttemptRecords>(replacer_);
    records->Adopt(spool_);
    return records;
  }

  const std::shared_ptr<MemoryReplacer> replacer_ = std::make_shared<MemoryReplacer>(
      std::make_shared<MemoryStore>(Capabilities{true, false, Capabilities::Writes::kConditional}));
  std::shared_ptr<SimulatedDisk> disk_ = std::make_shared<SimulatedDisk>();
  std::shared_ptr<Spool> spool_;
};

// A part that was on its way when the mount was killed arrives after the first time.
TEST_F(LeftUploads, AreDroppedWhenTheSpoolIsTakenOverAndAgainOnceTheObjectIsPut) {
  ASSERT_TRUE(spool_->RecordAttempt({"a", "", {}, "one"}));
  ASSERT_TRUE(spool_->RecordAttempt({"b", "", {}, "two"}));
  const auto records = AfterKill();
  EXPECT_EQ(replacer_->dropped(), Dropped({"a one", "b two"}));
  EXPECT_FALSE(records->Knows("a")) << "the store need not be asked for what an upload has made";
  records->ForgetAllBut({"a"});
  EXPECT_EQ(replacer_->dropped(), Dropped({"a one", "b two", "b two"}));
  records->Forget("a");
  records->Forget("a");
  EXPECT_EQ(replacer_->dropped(), Dropped({"a one", "b two", "b two", "a one"}));
  AfterKill();
  EXPECT_EQ(replacer_->dropped().size(), 4U) << "their records are gone";
}

TEST_F(LeftUploads, StayRecordedWhileTheStoreIsAway) {
  ASSERT_TRUE(spool_->RecordAttempt({"a", "", {}, "one"}));
  replacer_->SetAway(true);
  AfterKill()->Forget("a");
  replacer_->SetAway(false);
  EXPECT_EQ(replacer_->dropped(), Dropped());
  AfterKill()->Forget("a");
  EXPECT_EQ(replacer_->dropped(), Dropped({"a one", "a one"}));
}

TEST_F(LeftUploads, OfAMountWithAllViewsHaveTheKeysOfTheSource) {
  class Records final : public UploadRecords {
   public:
    Result<std::uint64_t> Begin(const std::string&, const std::string&) override { return 1; }
    void End(std::uint64_t) override {}
  };
  AllViewsReplacer views(replacer_);
  const auto records = std::make_shared<Records>();
  views.RecordUploads(records);
  EXPECT_EQ(replacer_->records(), records);
  EXPECT_TRUE(views.DropUpload("native/a", "one"));
  EXPECT_EQ(replacer_->dropped(), Dropped({"a one"}));
}

}  // namespace
}  // namespace unshard
