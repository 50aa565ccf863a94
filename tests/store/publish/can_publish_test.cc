#include "store/publish/can_publish.h"

#include <gtest/gtest.h>

#include <utility>

#include "tests/support/tiny_shards.h"

namespace unshard {
namespace {

constexpr PublishCaps kCaps{.index_bytes = 1000, .whole_shard_bytes = 500};

class ManyPages final : public TinyShardFormat {
 public:
  explicit ManyPages(std::uint64_t pages) : TinyShardFormat(4), pages_(pages) {}
  std::uint64_t page_count() const override { return pages_; }

 private:
  const std::uint64_t pages_;
};

TEST(CanPublishTest, AShardOfMorePagesThanAreWalkedToIsRefused) {
  EXPECT_TRUE(CanPublishFormat(TinyShardFormat(4), kCaps));
  EXPECT_TRUE(CanPublishFormat(ManyPages(std::uint64_t{1} << 22), kCaps));
  const std::uint64_t more = (std::uint64_t{1} << 22) + 1;
  for (const std::uint64_t pages : {std::uint64_t{0}, more}) {  // 0: 2^64
    const Status refused = CanPublishFormat(ManyPages(pages), kCaps);
    ASSERT_FALSE(refused) << pages;
    EXPECT_EQ(refused.error().code, ErrorCode::kNotSupported);
  }
}

TEST(CanPublishTest, AnIndexAboveTheCapsIsRefused) {
  EXPECT_TRUE(CanPublishFormat(TinyShardFormat(62), kCaps));  // 16 bytes a slot
  EXPECT_TRUE(CanPublishFormat(TinyShardFormat(31, /*has_outer_codec=*/true), kCaps));
  for (const auto& [slots, has_outer_codec] : {std::pair{63U, false}, std::pair{32U, true}}) {
    const Status refused = CanPublishFormat(TinyShardFormat(slots, has_outer_codec), kCaps);
    ASSERT_FALSE(refused) << slots;
    EXPECT_EQ(refused.error().code, ErrorCode::kNotSupported);
    EXPECT_NE(refused.error().message.find("memory="), std::string::npos);
  }
}

}  // namespace
}  // namespace unshard
