// Chunks that come in the encoding of the shard format.
#include <gtest/gtest.h>

#include <tuple>

#include "store/publish/publisher.h"
#include "tests/support/published_shards.h"
#include "tests/support/replaceable_store.h"
#include "tests/support/temporary_directory.h"

namespace unshard {
namespace {

constexpr const char* kEncodedKey = "scale/0.shard";

ShardChange Encoded(const PlacedAt& place, const Bytes& stored) {
  ShardChange change;
  std::tie(change.page, change.slot) = place;
  change.size = stored.size();
  change.stored = [stored]() -> Result<Bytes> { return stored; };
  change.expected.unknown = true;
  return change;
}

TEST(EncodedChunks, AreStoredAsTheyAreUnlessTheirSizeIsAnotherOne) {
  for (const WritableFormat& format : WritableFormats()) {
    const TemporaryDirectory directory;
    const auto store = ReplaceableStore::Make(StoreKind::kPosix, directory.path());
    ShardPublisher publisher(store->Replacer({}), {});
    ShardContent content;
    std::vector<ShardChange> changes;
    for (std::size_t i = 0; i < 3; ++i) {
      const std::string text(400 + i, static_cast<char>('a' + i));
      const Bytes plain(ByteVector(text.begin(), text.end()));
      changes.push_back(Encoded(format.places[i], *format.format->EncodeEntry(plain)));
      content[format.places[i]] = text;
    }
    const auto published = publisher.Publish(RequestFor(format, kEncodedKey, changes));
    ASSERT_TRUE(published) << format.name << ": " << published.error().message;
    EXPECT_EQ(*ContentOf(*format.format, *store->Text(kEncodedKey)), content) << format.name;
    changes[1].size -= 1;
    const auto refused = publisher.Publish(RequestFor(format, kEncodedKey, changes));
    ASSERT_FALSE(refused) << format.name;
    EXPECT_EQ(refused.error().code, ErrorCode::kDataLoss);
    EXPECT_EQ(*ContentOf(*format.format, *store->Text(kEncodedKey)), content) << format.name;
  }
}

}  // namespace
}  // namespace unshard
