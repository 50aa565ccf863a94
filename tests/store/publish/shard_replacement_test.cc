// A shard on disk that is replaced while it is read: every read is entirely of one version.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>

#include "store/local/file_store.h"
#include "store/local/inotify_watcher.h"
#include "store/shard/set.h"
#include "tests/support/temporary_directory.h"
#include "tests/support/tiny_shards.h"

namespace unshard {
namespace {

constexpr std::uint64_t kSlots = 16;

// Chunks whose sizes and places differ from version to version, filled with the version's letter.
std::string Version(int version) {
  std::vector<std::string> chunks;
  for (std::uint64_t slot = 0; slot < kSlots; ++slot) {
    const auto size = 1000 + (slot * 977 + static_cast<std::uint64_t>(version) * 131) % 3000;
    chunks.emplace_back(static_cast<std::size_t>(size), static_cast<char>('A' + version % 26));
  }
  return EncodeTinyShard(chunks);
}

// Only ever waited for in vain where a test fails.
constexpr std::chrono::seconds kSeenWithin{60};

class ShardReplacementTest : public testing::Test {
 protected:
  void SetUp() override {
    auto store = OpenFileStore(directory_.path(), 4);
    ASSERT_TRUE(store);
    // Events may come before there is a set.
    auto watcher = MakeInotifyWatcher(directory_.path(), [this](const ChangeWatcher::Event& event) {
      const std::lock_guard lock(mutex_);
      if (listening_ != nullptr) told_ += listening_->Invalidate(event.key).changes.size();
    });
    ASSERT_TRUE(watcher);
    watcher_ = *std::move(watcher);
    set_ = std::make_unique<ShardSet>(*store, "", std::make_shared<TinyShardFormat>(kSlots),
                                      std::make_shared<TinyShardKeys>(), watcher_,
                                      std::make_shared<IndexCache>(1 << 20), ShardSetOptions{});
    const std::lock_guard lock(mutex_);
    listening_ = set_.get();
  }
  void TearDown() override {
    const std::lock_guard lock(mutex_);
    listening_ = nullptr;  // the watcher lives as long as the set, and must not find it dying
  }
  // One chunk, started over where the shard changes under it.
  Result<Bytes> Read(std::uint64_t slot) {
    for (;;) {
      UNSHARD_ASSIGN_OR_RETURN(const auto generation, set_->Current(7, Deadline::None()));
      const auto page = set_->Page(generation, 0, Deadline::None());
      if (!page && page.error().code == ErrorCode::kConflict) continue;
      UNSHARD_RETURN_IF_ERROR(page);
      const auto range = (*page)->Find(slot);
      if (!range) return Bytes();
      auto bytes = set_->ReadStored(generation, *range, Deadline::None());
      if (!bytes && bytes.error().code == ErrorCode::kConflict) continue;
      return bytes;
    }
  }
  // The one letter that the chunk is filled with; 0 where it is no version's chunk.
  static char LetterOf(const Bytes& bytes) {
    const std::string_view text = AsText(bytes.span());
    const bool uniform = !text.empty() && text.find_first_not_of(text[0]) == std::string_view::npos;
    return uniform ? text[0] : '\0';
  }

  TemporaryDirectory directory_;
  std::mutex mutex_;
  ShardSet* listening_ = nullptr;  // guarded by mutex_
  std::atomic<std::size_t> told_{0};
  std::shared_ptr<ChangeWatcher> watcher_;
  std::unique_ptr<ShardSet> set_;
};

TEST_F(ShardReplacementTest, EveryReadIsOfOneVersionWhileTheShardIsReplaced) {
  constexpr std::uint64_t kReads = 20'000, kChanges = 100;
  directory_.Replace("7.shard", Version(0));
  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> reads{0};
  std::atomic<std::uint64_t> bad{0};
  std::vector<std::thread> readers;
  for (std::uint64_t i = 0; i < 4; ++i) {
    readers.emplace_back([&, i] {
      for (std::uint64_t n = i; !stop; ++n) {
        const auto bytes = Read(n % kSlots);
        if (!bytes || LetterOf(*bytes) == '\0') ++bad;
        ++reads;
      }
    });
  }
  const auto end = std::chrono::steady_clock::now() + kSeenWithin;
  const auto seen = [&] { return reads > kReads && told_ > kChanges; };
  int version = 0;
  while (!seen() && std::chrono::steady_clock::now() < end) {
    directory_.Replace("7.shard", Version(++version));
  }
  EXPECT_TRUE(seen()) << reads << " reads, " << told_ << " changes";
  stop = true;
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(bad, 0u);
}

TEST_F(ShardReplacementTest, AWatchedShardIsNewSoonAndTheOldGenerationStaysReadable) {
  directory_.Replace("7.shard", Version(0));
  const auto old = set_->Current(7, Deadline::None());
  ASSERT_TRUE(old);
  EXPECT_EQ(LetterOf(Read(3).value()), 'A');
  directory_.Replace("7.shard", Version(1));
  const auto end = std::chrono::steady_clock::now() + kSeenWithin;
  while (LetterOf(Read(3).value()) != 'B' && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_EQ(LetterOf(Read(3).value()), 'B');
  const auto page = set_->Page(*old, 0, Deadline::None());
  ASSERT_TRUE(page);
  const auto bytes = set_->ReadStored(*old, *(*page)->Find(5), Deadline::None());
  ASSERT_TRUE(bytes) << bytes.error().message;
  EXPECT_EQ(LetterOf(*bytes), 'A');
}

TEST_F(ShardReplacementTest, AMissingShardThatAppearsIsSeenSoon) {
  const auto missing = set_->Current(7, Deadline::None());
  ASSERT_TRUE(missing);
  EXPECT_FALSE((*missing)->object);
  directory_.Replace("7.shard", Version(2));
  const auto end = std::chrono::steady_clock::now() + kSeenWithin;
  while (Read(3).value().empty() && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_EQ(LetterOf(Read(3).value()), 'C');
}

TEST_F(ShardReplacementTest, AShardTruncatedWhileOpenIsNeverReadAsWhatItWas) {
  directory_.Replace("7.shard", Version(0));
  ASSERT_TRUE(Read(0));
  const auto generation = set_->Current(7, Deadline::None());
  ASSERT_TRUE(generation);
  std::filesystem::resize_file(directory_.At("7.shard"), 300);
  const auto bytes = set_->ReadStored(*generation, {256, 1000}, Deadline::None());
  ASSERT_FALSE(bytes);
  EXPECT_EQ(bytes.error().code, ErrorCode::kConflict);
  EXPECT_FALSE(Read(kSlots - 1));
}

}  // namespace
}  // namespace unshard
