#include <gtest/gtest.h>

#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <new>
#include <set>
#include <thread>
#include <utility>

#include "store/local/inotify_watcher.h"
#include "store/local/network_file_system.h"
#include "store/object/change_watcher.h"
#include "tests/support/no_more_threads.h"
#include "tests/support/temporary_directory.h"

namespace unshard {
namespace {

namespace fs = std::filesystem;

class InotifyWatcherTest : public testing::Test {
 protected:
  void SetUp() override {
    auto watcher = MakeInotifyWatcher(directory_.path(), [this](const ChangeWatcher::Event& event) {
      const std::lock_guard pause(pause_);
      const std::lock_guard lock(mutex_);
      if (std::exchange(throws_, false)) throw std::bad_alloc();
      keys_.insert(event.key);
      everything_ |= event.everything;
      told_.notify_all();
    });
    ASSERT_TRUE(watcher) << watcher.error().message;
    watcher_ = *std::move(watcher);
  }
  // True once an event for `key` has been told.
  bool Told(const std::string& key) {
    std::unique_lock lock(mutex_);
    return told_.wait_for(lock, std::chrono::seconds(60), [&] { return keys_.contains(key); });
  }
  void Forget() {
    // What has happened before is told before what happens now. Late events of an old marker must
    // not pass for those of this one.
    const std::string marker = "marker" + std::to_string(++markers_);
    directory_.Write(marker, "x");
    ASSERT_TRUE(Told(marker));
    directory_.Remove(marker);
    const std::lock_guard lock(mutex_);
    keys_.clear();
  }

  TemporaryDirectory directory_;
  std::mutex pause_;  // held by a test: the watcher's thread is slow
  std::mutex mutex_;
  std::condition_variable told_;
  std::set<std::string> keys_;
  bool everything_ = false;
  bool throws_ = false;  // at the next event
  int markers_ = 0;
  std::unique_ptr<ChangeWatcher> watcher_;
};

TEST_F(InotifyWatcherTest, TellsOfFilesThatAppearChangeAndVanish) {
  fs::create_directory(directory_.At("a"));
  ASSERT_TRUE(watcher_->Watch(""));
  ASSERT_TRUE(watcher_->Watch("a"));
  directory_.Write("a/file", "x");
  EXPECT_TRUE(Told("a/file"));
  Forget();
  directory_.Write("a/file", "y");
  EXPECT_TRUE(Told("a/file"));
  Forget();
  directory_.Replace("a/file", "z");
  EXPECT_TRUE(Told("a/file"));
  Forget();
  directory_.Remove("a/file");
  EXPECT_TRUE(Told("a/file"));
}

TEST_F(InotifyWatcherTest, MovesDownWhenAMissingDirectoryAppears) {
  ASSERT_TRUE(watcher_->Watch(""));
  ASSERT_TRUE(watcher_->Watch("c/0/1"));
  fs::create_directories(directory_.At("c/0/1"));
  EXPECT_TRUE(Told("c"));
  Forget();
  directory_.Write("c/0/1/2", "x");
  EXPECT_TRUE(Told("c/0/1/2"));
}

// The watch of a directory is set anew once the event that made it is taken in; what its old watch
// has seen until then is in the queue behind that event.
TEST_F(InotifyWatcherTest, TellsOfADirectoryThatIsWatchedBeforeItsOwnEventIsTakenIn) {
  ASSERT_TRUE(watcher_->Watch(""));
  {
    const std::lock_guard pause(pause_);
    directory_.Write("marker", "x");
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    fs::create_directories(directory_.At("a/b"));
    ASSERT_TRUE(watcher_->Watch("a/b"));
    directory_.Write("a/b/file", "x");
  }
  EXPECT_TRUE(Told("a/b"));
}

TEST_F(InotifyWatcherTest, FollowsADirectoryThatIsReplacedByRenamingItsParent) {
  fs::create_directories(directory_.At("a/b"));
  ASSERT_TRUE(watcher_->Watch(""));
  ASSERT_TRUE(watcher_->Watch("a/b"));
  fs::rename(directory_.At("a"), directory_.At("old"));
  EXPECT_TRUE(Told("a"));
  fs::create_directories(directory_.At("a/b"));
  Forget();
  directory_.Write("a/b/file", "x");
  EXPECT_TRUE(Told("a/b/file"));
}

TEST_F(InotifyWatcherTest, FollowsADirectoryThatIsRemovedAndMadeAgain) {
  fs::create_directories(directory_.At("a"));
  ASSERT_TRUE(watcher_->Watch(""));
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(watcher_->Watch("a"));
    directory_.Remove("a");
    fs::create_directories(directory_.At("a"));
    Forget();
    directory_.Write("a/file", "x");
    EXPECT_TRUE(Told("a/file")) << i;
  }
}

TEST_F(InotifyWatcherTest, TellsThatEventsWereLost) {
  ASSERT_TRUE(watcher_->Watch(""));
  std::ifstream file("/proc/sys/fs/inotify/max_queued_events");
  int limit = 0;
  file >> limit;
  if (limit <= 0 || limit > 100000) GTEST_SKIP() << "the queue is too long to overflow";
  std::unique_lock lock(mutex_);  // holds the watcher up in its listener
  for (int i = 0; i < limit + 20000; ++i) {
    const std::string name = directory_.At(i % 2 == 0 ? "even" : "odd");
    std::ofstream(name, std::ios::app).put('x');  // truncating would flush each time
  }
  EXPECT_TRUE(told_.wait_for(lock, std::chrono::seconds(60), [&] { return everything_; }));
  lock.unlock();
  Forget();
  directory_.Write("file", "x");
  EXPECT_TRUE(Told("file"));
}

// Nothing is believed to be watched by a thread that has ended.
TEST_F(InotifyWatcherTest, OnceItHasFailedNothingIsWatched) {
  ASSERT_TRUE(watcher_->Watch(""));
  {
    const std::lock_guard lock(mutex_);
    throws_ = true;
  }
  directory_.Write("file", "x");
  std::unique_lock lock(mutex_);
  ASSERT_TRUE(told_.wait_for(lock, std::chrono::seconds(20), [&] { return everything_; }));
  EXPECT_FALSE(watcher_->Watch(""));
  EXPECT_FALSE(watcher_->Watch("a"));
}

TEST(ChangeWatcherTest, WithoutAThreadThereIsNone) {
  const TemporaryDirectory directory;
  const NoMoreThreads none;
  const auto watcher = MakeInotifyWatcher(directory.path(), [](const ChangeWatcher::Event&) {});
  ASSERT_FALSE(watcher);
  EXPECT_EQ(watcher.error().system_errno, EAGAIN) << watcher.error().message;
}

TEST_F(InotifyWatcherTest, RefusesADirectoryThatCannotBe) {
  EXPECT_FALSE(watcher_->Watch("../elsewhere"));
  EXPECT_FALSE(watcher_->Watch(std::string(5000, 'x')));
}

TEST(ChangeWatcherTest, TheNullWatcherWatchesNothing) {
  EXPECT_FALSE(MakeNullWatcher()->Watch(""));
}

TEST(ChangeWatcherTest, TellsNetworkFileSystemsFromLocalOnes) {
  EXPECT_FALSE(IsNetworkFileSystem("/proc"));
  EXPECT_TRUE(IsNetworkFileSystem("/does/not/exist"));
}

}  // namespace
}  // namespace unshard
