// One file of an object store whose answers take long.
#include "store/files/object_inode.h"

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <thread>

#include "tests/support/simulated_disk.h"

namespace unshard {
namespace {

constexpr std::chrono::seconds kBound{20};

// A version of eight bytes. Each read waits until as many reads as expected have begun, and until
// it is let go.
class SlowVersion final : public ObjectVersion {
 public:
  SlowVersion(int expected, bool let_go) : expected_(expected), let_go_(let_go) { info_.size = 8; }
  const ObjectInfo& info() const override { return info_; }
  void StartRead(const RangeRequest& range, const Deadline&, ReadDone done) override {
    std::unique_lock lock(mutex_);
    ++begun_;
    changed_.notify_all();
    const bool met =
        changed_.wait_for(lock, kBound, [&] { return begun_ >= expected_ && let_go_; });
    lock.unlock();
    if (!met) return done(Fail(ErrorCode::kUnavailable, "the other read has not begun"));
    ReadResult result;
    result.value = Bytes(ByteVector(ClipRange(range, info_.size).size, 'x'));
    done(std::move(result));
  }
  bool AwaitRead() {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kBound, [&] { return begun_ > 0; });
  }
  void LetGo() {
    const std::lock_guard lock(mutex_);
    let_go_ = true;
    changed_.notify_all();
  }

 private:
  ObjectInfo info_;
  std::mutex mutex_;
  std::condition_variable changed_;
  const int expected_;
  int begun_ = 0;  // guarded by mutex_
  bool let_go_;    // likewise
};

class ObjectInodeTest : public testing::Test {
 protected:
  ObjectInode InodeOf(std::shared_ptr<ObjectVersion> version) {
    return {spool_, 1, "file", ObjectInode::Base{std::move(version), {}}, timespec{7, 0}, {}};
  }

  const std::shared_ptr<Spool> spool_ =
      *Spool::Open(std::make_shared<SimulatedDisk>(), {.source = "source"});
};

TEST_F(ObjectInodeTest, ReadsDoNotWaitForEachOther) {
  ObjectInode inode = InodeOf(std::make_shared<SlowVersion>(2, true));
  const auto read = [&](std::uint64_t at) {
    ByteVector bytes(2);
    const auto done = inode.Read(at, bytes);
    EXPECT_TRUE(done) << done.error().message;
  };
  std::thread other([&] { read(0); });
  read(4);
  other.join();
}

TEST_F(ObjectInodeTest, ItsSizeIsKnownWhileItIsDownloaded) {
  const auto version = std::make_shared<SlowVersion>(1, false);
  ObjectInode inode = InodeOf(version);
  std::thread writer([&] { EXPECT_TRUE(inode.Write(8, AsBytes("more"))); });
  EXPECT_TRUE(version->AwaitRead());
  FileStatus status;
  std::thread asking([&] {
    status = inode.Stat();
    version->LetGo();
  });
  asking.join();
  writer.join();
  EXPECT_EQ(status.size, 8U);
  EXPECT_EQ(status.modified.tv_sec, 7);
  EXPECT_EQ(inode.Stat().size, 12U);
  ASSERT_TRUE(inode.Truncate(3));
  EXPECT_EQ(inode.Stat().size, 3U);
}

}  // namespace
}  // namespace unshard
