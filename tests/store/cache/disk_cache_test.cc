#include "store/cache/disk_cache.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <thread>
#include <vector>

#include "tests/support/temporary_directory.h"

namespace unshard {
namespace {

constexpr std::uint64_t kMegabyte = std::uint64_t{1} << 20;

CacheDigest Digest(std::size_t number) { return DigestOf({"test", std::to_string(number)}); }

CacheEntry Entry(std::size_t number, std::size_t size = 100) {
  CacheEntry entry;
  entry.bytes = Bytes(ByteVector(size, static_cast<std::uint8_t>(number)));
  return entry;
}

// Files that mounts remove meanwhile are left out.
std::uint64_t BytesIn(const std::string& folder) {
  std::uint64_t bytes = 0;
  std::error_code gone;
  std::filesystem::recursive_directory_iterator file(folder, gone);
  while (!gone && file != std::filesystem::recursive_directory_iterator()) {
    std::error_code removed;
    const std::uintmax_t size = file->is_regular_file(removed) ? file->file_size(removed) : 0;
    if (!removed) bytes += CacheFiles::BytesOnDisk(size);
    file.increment(gone);
  }
  return bytes;
}

class DiskCacheTest : public testing::Test {
 protected:
  std::shared_ptr<DiskCache> Open(std::uint64_t max_bytes = 16 * kMegabyte) {
    auto cache = DiskCache::Open(folder_, {max_bytes});
    EXPECT_TRUE(cache) << cache.error().message;
    return cache ? *cache : nullptr;
  }
  TemporaryDirectory directory_;
  const std::string folder_ = directory_.At("cache");
};

TEST_F(DiskCacheTest, OutlivesTheProcess) {
  Open()->Put(Digest(1), Entry(1));  // the end of a cache writes what was put
  const auto cache = Open();
  const auto found = cache->Find(Digest(1));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->bytes.span()[99], 1);
  EXPECT_FALSE(cache->Find(Digest(2)));
  EXPECT_EQ(cache->counters().hits, 1u);
  EXPECT_EQ(cache->counters().misses, 1u);
}

TEST_F(DiskCacheTest, MountsAtTheSameTimeShareIt) {
  const auto one = Open();
  const auto other = Open();
  one->Put(Digest(1), Entry(1));
  EXPECT_LE(one->counters().waiting, 1u);
  one->Flush();
  EXPECT_EQ(one->counters().waiting, 0u);
  EXPECT_TRUE(other->Find(Digest(1)));
  other->Erase(Digest(1));
  other->Flush();
  EXPECT_FALSE(one->Find(Digest(1)));
}

TEST_F(DiskCacheTest, IsAPlaceThatOthersMayNotEnter) {
  std::filesystem::create_directories(folder_);
  std::filesystem::permissions(folder_, std::filesystem::perms(0750));
  const auto refused = DiskCache::Open(folder_, {16 * kMegabyte});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kPermissionDenied);
  EXPECT_NE(refused.error().message.find("mode 0750"), std::string::npos);
  EXPECT_NE(refused.error().message.find("cache=DIR"), std::string::npos);
}

TEST_F(DiskCacheTest, AllMountsTogetherStayWithinTheCap) {
  const std::uint64_t cap = 2 * kMegabyte;
  std::atomic<std::uint64_t> largest{0};
  std::vector<std::thread> mounts;
  for (std::size_t mount = 0; mount < 4; ++mount) {
    mounts.emplace_back([&, mount] {
      const auto cache = Open(cap);
      for (std::size_t i = 0; i < 400; ++i) {
        cache->Put(Digest(mount * 1000 + i), Entry(i, 8000));
        if (i % 8 == 0) cache->Flush();
        if (i % 64 == 0) largest = std::max(largest.load(), BytesIn(folder_));
      }
    });
  }
  for (std::thread& mount : mounts) mount.join();
  EXPECT_LE(std::max(largest.load(), BytesIn(folder_)), cap);
  EXPECT_GT(BytesIn(folder_), cap / 2) << "and make use of it";
}

TEST_F(DiskCacheTest, AnEntryThatIsTooLargeIsNotKept) {
  const auto cache = Open(kMegabyte);
  cache->Put(Digest(1), Entry(1, kMegabyte / 8 + 1));
  cache->Flush();
  EXPECT_FALSE(cache->Has(Digest(1)));
}

TEST_F(DiskCacheTest, AFolderThatIsRemovedIsMadeAgain) {
  const auto cache = Open();
  cache->Put(Digest(1), Entry(1));
  cache->Flush();
  std::filesystem::remove_all(folder_);
  EXPECT_FALSE(cache->Find(Digest(1)));
  cache->Put(Digest(2), Entry(2));
  cache->Flush();
  EXPECT_TRUE(cache->Find(Digest(2)));
}

TEST_F(DiskCacheTest, ADiskThatFailsCostsNothingButTheCache) {
  const auto cache = Open();
  cache->Put(Digest(1), Entry(1));
  cache->Flush();
  std::filesystem::remove_all(folder_);
  directory_.Write("cache", "a file stands here now");
  for (std::size_t i = 0; i < 10; ++i) cache->Put(Digest(i), Entry(i));
  cache->Flush();
  EXPECT_FALSE(cache->Find(Digest(1)));
  EXPECT_EQ(cache->counters().dropped, 10u);
}

}  // namespace
}  // namespace unshard
