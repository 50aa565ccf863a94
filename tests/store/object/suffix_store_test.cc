#include "store/object/suffix_store.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "codec/codecs/file_suffixes.h"
#include "tests/support/counting_store.h"
#include "tests/support/memory_store.h"

namespace unshard {
namespace {

constexpr const char* kPlainText = "the decoded object";

std::string CompressedBy(std::string_view suffix) {
  const auto codec = CodecOfSuffix(suffix);
  const auto stored = codec->Encode(AsBytes(kPlainText));
  return stored ? std::string(AsText(*stored)) : std::string();
}

class SuffixStoreTest : public testing::Test {
 protected:
  Result<ObjectStore::Opened> Open(const std::string& key) {
    return store_.Open(key, RangeRequest::At(4, 7), CallerDeadline());
  }

  const std::shared_ptr<MemoryStore> memory_ = std::make_shared<MemoryStore>();
  const std::shared_ptr<CountingStore> counted_ = std::make_shared<CountingStore>(memory_);
  SuffixStore store_{counted_, 100};
};

TEST_F(SuffixStoreTest, EachFormIsTheDecodedObject) {
  for (const auto suffix : kCompressionSuffixes) {
    SCOPED_TRACE(suffix);
    const std::string stored = CompressedBy(suffix);
    if (stored.empty()) continue;  // not in this build
    const std::string key = "d/x" + std::string(suffix.substr(1));
    memory_->Put(key + std::string(suffix), stored);
    const auto opened = Open(key);
    ASSERT_TRUE(opened && opened->version);
    EXPECT_EQ(AsText(opened->first.span()), "decoded");
    EXPECT_EQ(opened->version->info().size, std::string(kPlainText).size());
    EXPECT_EQ(opened->version->info().generation,
              (*memory_->Stat(key + std::string(suffix), CallerDeadline()))->generation);
    const auto read = opened->version->Read(RangeRequest::Suffix(6), CallerDeadline());
    ASSERT_TRUE(read);
    EXPECT_EQ(AsText(read->value.span()), "object");
    EXPECT_EQ(*store_.SuffixOf(key, CallerDeadline()), suffix);
    const auto info = store_.Stat(key, CallerDeadline());
    ASSERT_TRUE(info && *info);
    EXPECT_EQ((*info)->size, std::string(kPlainText).size());
  }
}

TEST_F(SuffixStoreTest, TheObjectWithoutASuffixComesFirst) {
  memory_->Put("a", "as it is");
  memory_->Put("a.gz", CompressedBy(".gz"));
  const auto opened = Open("a");
  ASSERT_TRUE(opened && opened->version);
  EXPECT_EQ(opened->version->info().size, 8u);
  EXPECT_EQ(*store_.SuffixOf("a", CallerDeadline()), "");
  EXPECT_EQ(counted_->of("a.gz").requests(), 0u);
}

TEST_F(SuffixStoreTest, TheSuffixThatWasFoundLastIsLookedForFirst) {
  if (!CodecOfSuffix(".bz2")->CanDecode()) GTEST_SKIP() << "not in this build: bz2";
  memory_->Put("a.bz2", CompressedBy(".bz2"));
  memory_->Put("b.bz2", CompressedBy(".bz2"));
  ASSERT_TRUE(Open("a")->version);
  EXPECT_EQ(counted_->total().opens, 6u);
  counted_->Reset();
  ASSERT_TRUE(Open("b")->version);
  EXPECT_EQ(counted_->total().opens, 2u);
  counted_->Reset();
  EXPECT_FALSE(Open("missing")->version);
  EXPECT_EQ(counted_->total().opens, 6u);
}

TEST_F(SuffixStoreTest, DamageIsNoAbsence) {
  memory_->Put("a.gz", "no such stream");
  const auto opened = Open("a");
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, ErrorCode::kDataLoss);
  EXPECT_NE(opened.error().message.find("a.gz"), std::string::npos) << opened.error().message;
}

TEST_F(SuffixStoreTest, WhatIsTooLargeIsRefused) {
  const auto stored = CodecOfSuffix(".gz")->Encode(ByteVector(101));
  memory_->Put("a.gz", AsText(*stored));
  EXPECT_EQ(Open("a").error().code, ErrorCode::kResourceExhausted);
}

TEST_F(SuffixStoreTest, ListingsLeaveSuffixesOutAndGoOn) {
  memory_->Put("d/a.gz", "");
  memory_->Put("d/b", "");
  memory_->Put("d/c.xz/inner", "");
  std::vector<std::string> names;
  std::uint64_t resume = 0;
  for (int i = 0; i < 3; ++i) {  // an entry at a time
    const auto take = [&](const ListEntry& entry) {
      names.emplace_back(entry.name);
      resume = entry.resume;
      return false;
    };
    ASSERT_TRUE(store_.ListFrom("d", resume, CallerDeadline(), take));
  }
  std::sort(names.begin(), names.end());
  EXPECT_EQ(names, (std::vector<std::string>{"a", "b", "c.xz"}));
}

// A store with the methods that caches have.
class CachedStore final : public ObjectStore {
 public:
  std::vector<std::string> replaced, listed_from, cached;

  Capabilities capabilities() const override { return {}; }
  Result<std::optional<ObjectInfo>> Stat(std::string_view, const Deadline&) override {
    return std::nullopt;
  }
  Result<Opened> Open(std::string_view, const RangeRequest&, const Deadline&) override {
    return Opened{};
  }
  Opened OpenCached(std::string_view key, const RangeRequest&) override {
    cached.emplace_back(key);
    return {};
  }
  void Replaced(std::string_view key, const std::optional<ObjectInfo>&) override {
    replaced.emplace_back(key);
  }
  Status List(std::string_view, const Deadline&, const ListVisitor&) override { return {}; }
  Status ListFrom(std::string_view key, std::uint64_t, const Deadline&,
                  const ListVisitor&) override {
    listed_from.emplace_back(key);
    return {};
  }
  std::string Describe(std::string_view key) const override { return std::string(key); }
};

TEST(SuffixStoreForwardingTest, CachesBelowHearOfReplacements) {
  const auto below = std::make_shared<CachedStore>();
  SuffixStore store(below, 100);
  store.Replaced("a", std::nullopt);
  EXPECT_EQ(below->replaced,
            (std::vector<std::string>{"a", "a.gz", "a.br", "a.zstd", "a.xz", "a.bz2"}));
  ASSERT_TRUE(store.ListFrom("d", 3, CallerDeadline(), [](const ListEntry&) { return true; }));
  EXPECT_EQ(below->listed_from, std::vector<std::string>{"d"});
  store.OpenCached("a", RangeRequest::At(0, 1));
  EXPECT_EQ(below->cached, std::vector<std::string>{"a"});
}

}  // namespace
}  // namespace unshard
