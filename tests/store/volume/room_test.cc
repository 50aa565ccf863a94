#include "store/volume/room.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "tests/support/simulated_disk.h"

namespace unshard {
namespace {

using std::chrono::milliseconds;

bool Soon(const std::function<bool()>& holds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!holds()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(milliseconds(1));
  }
  return true;
}

// A spool of ten bytes and three files, and a queue whose one shard holds the chunk "x".
class RoomTest : public testing::Test {
 protected:
  void SetUp() override {
    auto spool = Spool::Open(std::make_shared<SimulatedDisk>(),
                             {.source = "file:///data", .max_bytes = 10, .max_files = 3});
    ASSERT_TRUE(spool) << spool.error().message;
    spool_ = *std::move(spool);
    queue_ = std::make_unique<PublishQueue>([this](const DirtyShard&) { return Publish(); },
                                            PublishQueueOptions{});
    room_ = std::make_unique<Room>(spool_, *queue_);
  }
  void TearDown() override {
    Decide(Then::kPublish);
    room_.reset();
    queue_.reset();
  }

  enum class Then { kWait, kPublish, kFail };
  void Decide(Then then) {
    {
      const std::lock_guard lock(mutex_);
      then_ = then;
    }
    changed_.notify_all();
  }
  Result<PublishQueue::Done> Publish() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return then_ != Then::kWait; });
    if (then_ == Then::kFail) return Fail(ErrorCode::kDataLoss, "the shard is broken");
    const Status discarded = sealed_ ? spool_->Discard(*sealed_) : Status();
    EXPECT_TRUE(discarded);
    sealed_.reset();
    return PublishQueue::Done{1, 8};
  }

  Status Write(std::uint64_t bytes) {
    if (!staged_) staged_ = spool_->Stage().value_or(nullptr);
    const std::string text(bytes, 'x');
    return staged_->Write(staged_->size(), AsBytes(text));
  }
  // Commits eight bytes.
  void Commit() {
    ASSERT_TRUE(Write(8));
    auto sealed = spool_->Seal(staged_.get(), "8_8_8", "x", {});
    ASSERT_TRUE(sealed);
    staged_.reset();
    {
      const std::lock_guard lock(mutex_);
      sealed_ = *sealed;
    }
    queue_->Add({0, 1}, 1, 8, false);
  }
  void Hold(Room::Cap cap = Room::Cap::kOnce, const std::stop_token& interrupted = {}) {
    room_->Hold(cap, interrupted, [this] { ++answers_; });
  }

  std::shared_ptr<Spool> spool_;
  std::unique_ptr<PublishQueue> queue_;
  std::unique_ptr<Room> room_;
  std::shared_ptr<StagedFile> staged_;
  std::atomic<int> answers_{0};
  std::mutex mutex_;
  std::condition_variable changed_;
  Then then_ = Then::kWait;             // guarded by mutex_
  std::optional<SpooledChunk> sealed_;  // guarded by mutex_
};

TEST_F(RoomTest, WhatIsBeyondTheCapIsDoneAndAnsweredOnceChunksArePublished) {
  Commit();
  EXPECT_FALSE(room_->IsOver(Room::Cap::kOnce));
  ASSERT_TRUE(Write(9)) << "beyond the cap";
  EXPECT_TRUE(room_->IsOver(Room::Cap::kOnce));
  EXPECT_FALSE(room_->IsOver(Room::Cap::kTwice));
  for (int i = 0; i < 200; ++i) Hold();
  std::thread waiting([&] { room_->Wait(Room::Cap::kOnce, {}); });
  EXPECT_EQ(answers_, 0) << "this thread goes on, and nothing is published yet";
  Decide(Then::kPublish);
  EXPECT_TRUE(Soon([&] { return answers_ == 200; }));
  waiting.join();
  EXPECT_EQ(spool_->usage().bytes, 9U);
  EXPECT_EQ(staged_->size(), 9U);
}

TEST_F(RoomTest, RequestsThatLockADirectoryWaitBeyondTwiceTheCap) {
  Commit();
  ASSERT_TRUE(Write(9));
  Hold(Room::Cap::kTwice);
  EXPECT_TRUE(Soon([&] { return answers_ == 1; }));
  ASSERT_TRUE(Write(9));
  EXPECT_TRUE(room_->IsOver(Room::Cap::kTwice));
  Hold(Room::Cap::kTwice);
  Decide(Then::kPublish);
  EXPECT_TRUE(Soon([&] { return answers_ == 2; }));
}

TEST_F(RoomTest, ASignalEndsTheWaitWithTheAnswer) {
  Commit();
  ASSERT_TRUE(Write(9));
  std::stop_source signal;
  Hold(Room::Cap::kOnce, signal.get_token());
  Hold();
  signal.request_stop();
  EXPECT_TRUE(Soon([&] { return answers_ == 1; }));
}

TEST_F(RoomTest, TheEndOfTheMountAnswersAll) {
  Commit();
  ASSERT_TRUE(Write(9));
  Hold();
  Hold();
  room_->End();
  EXPECT_EQ(answers_, 2);
  Hold();
  EXPECT_EQ(answers_, 3);
}

TEST_F(RoomTest, WithAnUnreachableStoreNothingExceedsTheCap) {
  Commit();
  ASSERT_TRUE(Write(9));
  Hold();
  queue_->FoundStoreAway({ErrorCode::kUnavailable, "no route to the store"});
  EXPECT_TRUE(Soon([&] { return answers_ == 1; })) << "what is done is answered";
  const Status refused = Write(1);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().system_errno, ENOSPC);
  EXPECT_NE(refused.error().message.find("its cap is 10 bytes, and the store is unreachable"),
            std::string::npos)
      << refused.error().message;
  EXPECT_EQ(staged_->size(), 9U) << "it is not done";
  EXPECT_TRUE(spool_->Stage()) << "one more file is within the cap on files";
  queue_->StoreAnswered();
  EXPECT_TRUE(Write(1));
}

TEST_F(RoomTest, WherePublishingFailsNothingExceedsTheCapUntilItSucceeds) {
  Decide(Then::kFail);
  Commit();
  ASSERT_TRUE(Write(9));
  Hold();
  EXPECT_TRUE(Soon([&] { return answers_ == 1; }));
  const Status refused = Write(1);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().system_errno, ENOSPC);
  EXPECT_NE(refused.error().message.find("publishing fails: the shard is broken"),
            std::string::npos)
      << refused.error().message;
  Decide(Then::kPublish);
  EXPECT_TRUE(Soon([&] { return Write(1).has_value(); })) << "a refused write has it tried again";
}

// Only writers that commit can make room here.
TEST_F(RoomTest, WithNothingToPublishWritersGoOn) {
  for (int i = 1; i <= 5; ++i) {
    ASSERT_TRUE(Write(9));
    Hold();
    EXPECT_TRUE(Soon([&] { return answers_ == i; }));
  }
}

TEST_F(RoomTest, NobodyExceedsTwiceTheCapByMuch) {
  Decide(Then::kPublish);
  staged_ = spool_->Stage().value_or(nullptr);
  ASSERT_TRUE(staged_);
  EXPECT_TRUE(staged_->Truncate(std::uint64_t{200} << 20));
  EXPECT_EQ(staged_->Truncate(std::uint64_t{300} << 20).error().system_errno, ENOSPC);
  EXPECT_EQ(staged_->Truncate(~std::uint64_t{0}).error().system_errno, ENOSPC);
}

}  // namespace
}  // namespace unshard
