// The source once below a directory for each view.
#include "store/source/all_views.h"

#include <gtest/gtest.h>

#include "store/cache/caching_store.h"
#include "tests/support/memory_store.h"
#include "tests/support/temporary_directory.h"

namespace unshard {
namespace {

const Deadline kNone = Deadline::None();

// A remote store that is asked for an object of which its caller has a version.
class KnownStore final : public ObjectStore {
 public:
  Capabilities capabilities() const override { return {}; }
  Result<std::optional<ObjectInfo>> Stat(std::string_view, const Deadline&) override {
    return std::nullopt;
  }
  Result<Opened> Open(std::string_view, const RangeRequest&, const Deadline&) override {
    return Fail(ErrorCode::kInternal, "the bytes are sent once more");
  }
  Result<Opened> OpenUnlessKnown(std::string_view key, const RangeRequest&, const ObjectInfo& known,
                                 const Deadline&) override {
    asked += std::string(key) + " " + known.generation.tag;
    return Opened{};
  }
  Status List(std::string_view, const Deadline&, const ListVisitor&) override { return {}; }
  std::string Describe(std::string_view key) const override { return std::string(key); }

  std::string asked;
};

class AllViewsStoreTest : public testing::Test {
 protected:
  AllViewsStoreTest() { memory_->Put("a", std::string(100, 'x')); }

  TemporaryDirectory directory_;
  const std::shared_ptr<MemoryStore> memory_ =
      std::make_shared<MemoryStore>(Capabilities{.keeps_replaced_versions = false});
  const std::shared_ptr<DiskCache> cache_ =
      *DiskCache::Open(directory_.At("cache"), {std::uint64_t{16} << 20});
  const RangeRequest first_ = RangeRequest::At(0, 50);
};

// As where the source is only read.
TEST_F(AllViewsStoreTest, ACacheAboveItKeepsWhatIsOpened) {
  CachingStore caching(std::make_shared<AllViewsStore>(memory_), cache_);
  ASSERT_TRUE(caching.Open("raw/a", first_, kNone)->version);
  cache_->Flush();
  const auto kept = caching.OpenCached("raw/a", first_);
  ASSERT_TRUE(kept.version);
  EXPECT_EQ(AsText(kept.first.span()), std::string(50, 'x'));
}

// As where it is written: what one view has opened serves the others.
TEST_F(AllViewsStoreTest, WhatACacheBelowItKeepsIsOpenedWithoutARequest) {
  AllViewsStore views(std::make_shared<CachingStore>(memory_, cache_));
  ASSERT_TRUE(views.Open("native/a", first_, kNone)->version);
  cache_->Flush();
  EXPECT_TRUE(views.OpenCached("zarr3/a", first_).version);
  EXPECT_FALSE(views.OpenCached("none/a", first_).version);
}

TEST_F(AllViewsStoreTest, AVersionThatIsKnownIsNotSentOnceMore) {
  const auto known = std::make_shared<KnownStore>();
  AllViewsStore views(known);
  ASSERT_TRUE(views.OpenUnlessKnown("raw/a/b", first_, ObjectInfo{.generation = {"1"}}, kNone));
  EXPECT_EQ(known->asked, "a/b 1");
}

}  // namespace
}  // namespace unshard
