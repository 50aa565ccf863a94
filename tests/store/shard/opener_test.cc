#include "store/shard/opener.h"

#include <gtest/gtest.h>

#include "store/local/inotify_watcher.h"
#include "store/shard/set.h"
#include "tests/support/counting_store.h"
#include "tests/support/memory_store.h"

namespace unshard {
namespace {

const Deadline kNone = Deadline::None();
constexpr std::uint64_t kIndexBytes = 16 * 4;

// A format with four pages, all of them at the end of the object: each of one chunk.
class TailFormat final : public ShardFormat {
 public:
  class WalkOfPage final : public IndexWalk {
   public:
    explicit WalkOfPage(std::uint64_t page) : page_(page) {}
    RangeRequest Start() override { return RangeRequest::At(page_ * 16, 16); }
    Result<IndexStep> Feed(ByteSpan bytes, std::uint64_t) override {
      const std::uint64_t begin = LoadU64Le(bytes.data());
      if (!found_) {
        found_ = true;
        return RangeRequest::At(begin, LoadU64Le(bytes.data() + 8));
      }
      const IndexEntry entry{page_, {begin, LoadU64Le(bytes.data() + 8)}};
      return IndexPage(std::vector<IndexEntry>{entry});
    }

   private:
    const std::uint64_t page_;
    bool found_ = false;
  };

  std::unique_ptr<IndexWalk> Walk(std::uint64_t, std::uint64_t page, std::uint64_t) const override {
    return std::make_unique<WalkOfPage>(page);
  }
  RangeRequest opening_range() const override { return RangeRequest::At(0, kIndexBytes); }
  std::uint64_t TrailingPageBytes(ByteSpan opening, std::uint64_t object_size) const override {
    if (opening.size() != kIndexBytes) return 0;
    return object_size - LoadU64Le(opening.data());
  }
  std::uint64_t page_count() const override { return 4; }
  bool stored_is_plain() const override { return true; }
  Result<Bytes> DecodeEntry(Bytes stored, std::uint64_t) const override { return stored; }
  Status CanWrite() const override { return Fail(ErrorCode::kNotSupported, "is only read"); }
  std::uint64_t fixed_index_bytes() const override { return kIndexBytes; }
  std::unique_ptr<ShardAssembly> Assemble(std::uint64_t,
                                          std::vector<AssembledChunk>) const override {
    return nullptr;
  }
  std::unique_ptr<ShardAssembly> Append(std::uint64_t, std::vector<AssembledChunk>,
                                        std::vector<std::uint64_t>, std::uint64_t) const override {
    return nullptr;
  }
  Result<Bytes> EncodeEntry(Bytes plain) const override { return plain; }
  Result<Bytes> EncodeShard(Bytes body, std::uint64_t) const override { return body; }
};

// Chunks of `size` times the letter, and padding, so that the pages are not in the opening range.
std::string ShardOf(char letter, std::size_t size = 20000) {
  ByteVector object;
  const std::uint64_t pages = kIndexBytes + 4 * size;
  for (std::uint64_t page = 0; page < 4; ++page) {
    AppendU64Le(object, pages + page * 16);
    AppendU64Le(object, 16);
  }
  object.resize(pages, static_cast<std::uint8_t>(letter));
  for (std::uint64_t page = 0; page < 4; ++page) {
    AppendU64Le(object, kIndexBytes + page * size);
    AppendU64Le(object, size);
  }
  return std::string(AsText(object));
}

class Keys final : public ShardKeys {
 public:
  std::string Key(std::uint64_t shard) const override { return std::to_string(shard); }
  std::optional<std::uint64_t> Parse(std::string_view) const override { return std::nullopt; }
};

class ShardOpenerTest : public testing::Test {
 protected:
  void Make(bool keeps_replaced_versions = false) {
    Capabilities capabilities;
    capabilities.keeps_replaced_versions = keeps_replaced_versions;
    memory_ = std::make_shared<MemoryStore>(capabilities);
    counting_ = std::make_shared<CountingStore>(memory_);
    set_ = std::make_unique<ShardSet>(counting_, "scale", std::make_shared<TailFormat>(),
                                      std::make_shared<Keys>(), MakeNullWatcher(),
                                      std::make_shared<IndexCache>(1 << 20), ShardSetOptions{});
    for (int shard = 0; shard < 8; ++shard) memory_->Put(Key(shard), ShardOf(Letter(shard)));
  }
  static std::string Key(int shard) { return "scale/" + std::to_string(shard); }
  static char Letter(int shard) { return static_cast<char>('a' + shard); }
  // The first byte of the chunk; the requests of the set are in `spent_` afterwards.
  std::string First(int shard, std::uint64_t page) {
    counting_->Reset();
    const auto current = set_->Current(static_cast<std::uint64_t>(shard), kNone);
    if (!current) return current.error().message;
    const auto loaded = set_->Page(*current, page, kNone);
    if (!loaded) return loaded.error().message;
    const auto range = (*loaded)->Find(page);
    if (!range) return "(empty)";
    const auto bytes = set_->ReadStored(*current, *range, kNone);
    spent_ = counting_->total();
    if (!bytes) return bytes.error().message;
    return std::string(AsText(bytes->span().first(1)));
  }

  std::shared_ptr<MemoryStore> memory_;
  std::shared_ptr<CountingStore> counting_;
  std::unique_ptr<ShardSet> set_;
  AccessCounts spent_;
};

TEST_F(ShardOpenerTest, TheEndOfTheSecondShardIsReadWithItsIndex) {
  Make();
  EXPECT_EQ(First(0, 1), "a");
  EXPECT_EQ(spent_.opens, 1u);
  EXPECT_EQ(spent_.reads, 2u);  // the page, the chunk
  EXPECT_EQ(First(1, 1), "b");
  EXPECT_EQ(spent_.opens, 2u);
  EXPECT_EQ(spent_.reads, 1u);  // the chunk
  EXPECT_EQ(First(1, 3), "b");
  EXPECT_EQ(spent_.requests(), 1u) << "the other pages came with it";
}

TEST_F(ShardOpenerTest, FilesAreNotAskedForTheirEnds) {
  Make(true);
  EXPECT_EQ(First(0, 1), "a");
  EXPECT_EQ(First(1, 1), "b");
  EXPECT_EQ(spent_.opens, 1u);
}

TEST_F(ShardOpenerTest, AnEndOfAnotherVersionIsNotUsed) {
  Make();
  EXPECT_EQ(First(0, 1), "a");
  // Whichever is answered first, the other answer is of another version.
  std::atomic<int> opened{0};
  counting_->OnOpen([&](std::string_view) {
    if (opened.fetch_add(1) == 1) memory_->Put(Key(1), ShardOf('z', 30000));
  });
  const std::string read = First(1, 1);
  EXPECT_TRUE(read == "z" || read.find("changed while it was read") != std::string::npos) << read;
  counting_->OnOpen(nullptr);
  for (std::uint64_t page = 0; page < 4; ++page) {
    std::string first = First(1, page);
    if (first.size() > 1) first = First(1, page);  // replaced: a conflict, once
    EXPECT_EQ(first, "z") << page;
  }
}

TEST_F(ShardOpenerTest, AfterAMissingShardTheNextIsNotAskedForItsEnd) {
  Make();
  EXPECT_EQ(First(0, 0), "a");
  memory_->Remove(Key(1));
  memory_->Remove(Key(2));
  EXPECT_EQ(First(1, 0), "(empty)");
  EXPECT_EQ(counting_->of(Key(1)).opens, 2u);
  EXPECT_EQ(First(2, 0), "(empty)");
  EXPECT_EQ(counting_->of(Key(2)).opens, 1u);
  EXPECT_EQ(First(3, 0), "d");
  EXPECT_EQ(spent_.opens, 1u);
  EXPECT_EQ(First(4, 0), "e");
  EXPECT_EQ(spent_.opens, 2u);
}

TEST_F(ShardOpenerTest, AnEndThatIsShorterThanThatOfTheShardBeforeServesWhatItHas) {
  Make();
  memory_->Put(Key(1), ShardOf('x', 20));  // all of it is shorter than what is asked for
  EXPECT_EQ(First(0, 0), "a");
  EXPECT_EQ(First(1, 2), "x");
  EXPECT_EQ(spent_.opens, 2u);
  EXPECT_EQ(spent_.reads, 1u);
}

}  // namespace
}  // namespace unshard
