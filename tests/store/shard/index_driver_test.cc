// The driver of index walks over objects in memory, in all formats that can be written.
#include "store/shard/index_driver.h"

#include <gtest/gtest.h>

#include "store/object/object_store.h"
#include "tests/support/published_shards.h"

namespace unshard {
namespace {

constexpr std::uint64_t kNoLimit = std::uint64_t{1} << 30;

class IndexDriverTest : public testing::Test {
 protected:
  // A driver over `text`, whose reads are noted and give at most `most` bytes.
  IndexDriver Over(const ShardFormat& format, const std::string& text, HeldIndex held = {},
                   std::uint64_t most = kNoLimit) {
    reads_.clear();
    const auto read = [this, text, most](const ByteRange& range) -> Result<Bytes> {
      EXPECT_LE(range.end(), text.size());
      reads_.push_back(range);
      const ByteSpan all = AsBytes(text);
      const ByteSpan part = all.subspan(range.begin, std::min(range.size, most));
      return Bytes(ByteVector(part.begin(), part.end()));
    };
    return IndexDriver(format, 0, {text.size(), read, [] { return std::string("the shard"); }},
                       std::move(held));
  }
  static ShardContent SomeContent(const WritableFormat& format) {
    ShardContent content;
    for (std::size_t i = 0; i < format.places.size(); i += 2) {
      content[format.places[i]] = ChunkText(i, 10 + i);
    }
    return content;
  }

  std::vector<ByteRange> reads_;
};

TEST_F(IndexDriverTest, AllPagesAreThoseThatAreReadOneByOne) {
  for (const WritableFormat& format : WritableFormats()) {
    if (format.format->has_outer_codecs()) continue;
    const std::string shard = Assembled(*format.format, SomeContent(format));
    const auto all = Over(*format.format, shard).AllPages(kNoLimit);
    ASSERT_TRUE(all) << format.name << all.error().message;
    std::vector<StoredChunk> expected;
    for (std::uint64_t page = 0; page < format.format->page_count(); ++page) {
      const auto one = Over(*format.format, shard).Page(page, kNoLimit);
      ASSERT_TRUE(one) << format.name << one.error().message;
      for (const IndexEntry& entry : one->entries()) {
        expected.push_back({page, entry.slot, entry.range});
      }
    }
    EXPECT_EQ(all->chunks, expected) << format.name;
    EXPECT_EQ(all->chunks.size(), SomeContent(format).size()) << format.name;
    EXPECT_GE(all->bytes, format.format->fixed_index_bytes()) << format.name;
    EXPECT_LE(all->bytes, shard.size()) << format.name;
  }
}

TEST_F(IndexDriverTest, TheShardsOwnIndexIsReadOnceForAllPagesAndNotAtAllWhereItIsHeld) {
  for (const WritableFormat& format : WritableFormats()) {
    if (format.format->has_outer_codecs()) continue;
    const std::string shard = Assembled(*format.format, SomeContent(format));
    const ByteRange opening = ClipRange(format.format->opening_range(), shard.size());
    ASSERT_NE(opening.size, 0u) << format.name;
    IndexDriver first = Over(*format.format, shard);
    ASSERT_TRUE(first.AllPages(kNoLimit));
    ASSERT_FALSE(reads_.empty()) << format.name;
    EXPECT_EQ(reads_.front(), opening) << format.name;
    EXPECT_EQ(first.held().range, opening) << format.name;
    const std::vector<ByteRange> others(reads_.begin() + 1, reads_.end());
    ASSERT_TRUE(Over(*format.format, shard, first.held()).AllPages(kNoLimit));
    EXPECT_EQ(reads_, others) << format.name;
  }
}

TEST_F(IndexDriverTest, TheFirstReadOfAPageIsKnownWithoutReading) {
  for (const WritableFormat& format : WritableFormats()) {
    if (format.format->has_outer_codecs()) continue;
    const std::string shard = Assembled(*format.format, SomeContent(format));
    IndexDriver opened = Over(*format.format, shard);
    ASSERT_TRUE(opened.Page(0, kNoLimit)) << format.name;
    for (const HeldIndex& held : {HeldIndex(), opened.held()}) {
      for (std::uint64_t page = 0; page < format.format->page_count(); ++page) {
        IndexDriver driver = Over(*format.format, shard, held);
        const auto first = driver.FirstRead(page, kNoLimit);
        EXPECT_TRUE(reads_.empty()) << format.name;
        ASSERT_TRUE(driver.Page(page, kNoLimit)) << format.name;
        const auto read = reads_.empty() ? std::nullopt : std::optional(reads_.front());
        EXPECT_EQ(first, read) << format.name << page;
        EXPECT_EQ(driver.FirstRead(page, 0), std::nullopt) << format.name;
      }
    }
  }
}

TEST_F(IndexDriverTest, AShardThatIsCutAnywhereIsAnErrorOrHasOnlyChunksThatAreDamagedOrWhole) {
  for (const WritableFormat& format : WritableFormats()) {
    if (format.format->has_outer_codecs()) continue;
    const std::string shard = Assembled(*format.format, SomeContent(format));
    for (std::size_t size = 0; size < shard.size(); size += 1 + shard.size() / 200) {
      const auto all = Over(*format.format, shard.substr(0, size)).AllPages(kNoLimit);
      if (!all) {
        EXPECT_EQ(all.error().code, ErrorCode::kDataLoss) << format.name << size;
        EXPECT_EQ(all.error().message.find("the shard"), 0u) << all.error().message;
        continue;
      }
      for (const StoredChunk& chunk : all->chunks) {
        EXPECT_TRUE(chunk.range == kDamagedRange || chunk.range.end() <= size) << format.name;
      }
    }
  }
}

TEST_F(IndexDriverTest, ReadsThatGiveFewerBytesAreDamage) {
  for (const WritableFormat& format : WritableFormats()) {
    if (format.format->has_outer_codecs()) continue;
    const std::string shard = Assembled(*format.format, SomeContent(format));
    const auto all = Over(*format.format, shard, {}, 15).AllPages(kNoLimit);
    ASSERT_FALSE(all) << format.name;
    EXPECT_EQ(all.error().code, ErrorCode::kDataLoss) << format.name;
  }
}

TEST_F(IndexDriverTest, AnIndexAboveItsCapIsRefusedBeforeItIsRead) {
  for (const WritableFormat& format : WritableFormats()) {
    if (format.format->has_outer_codecs()) continue;
    const std::string shard = Assembled(*format.format, SomeContent(format));
    for (const std::uint64_t cap : {0u, 15u, 24u}) {
      const auto all = Over(*format.format, shard).AllPages(cap);
      ASSERT_FALSE(all) << format.name;
      EXPECT_EQ(all.error().code, ErrorCode::kResourceExhausted) << format.name << cap;
    }
  }
}

}  // namespace
}  // namespace unshard
