#include "store/cache/entry.h"

#include <gtest/gtest.h>

#include "codec/core/crc32c.h"

namespace unshard {
namespace {

Bytes BytesOf(std::string_view text) {
  const ByteSpan span = AsBytes(text);
  return Bytes(ByteVector(span.begin(), span.end()));
}

const CacheDigest kDigest = DigestOf({"range", "https://host", "key"});

ByteVector Encoded() {
  return EncodeCacheEntry(kDigest, {1234, {"size 1234 etag \"x\""}, {77, 5}, BytesOf("payload")});
}

// With a checksum that is right.
ByteVector Rechecked(ByteVector file) {
  file.resize(file.size() - 4);
  AppendU32Le(file, Crc32c(file));
  return file;
}

TEST(CacheEntryTest, IsReadAsItWasWritten) {
  const auto entry = DecodeCacheEntry(kDigest, Bytes(Encoded()));
  ASSERT_TRUE(entry);
  EXPECT_EQ(entry->object_size, 1234u);
  EXPECT_EQ(entry->generation.tag, "size 1234 etag \"x\"");
  EXPECT_EQ(entry->modified.tv_sec, 77);
  EXPECT_EQ(entry->modified.tv_nsec, 5);
  EXPECT_EQ(AsText(entry->bytes.span()), "payload");
}

TEST(CacheEntryTest, AnyDamageIsNoEntry) {
  const ByteVector whole = Encoded();
  for (std::size_t i = 0; i < whole.size(); ++i) {
    ByteVector flipped = whole;
    flipped[i] ^= 0x20;
    EXPECT_FALSE(DecodeCacheEntry(kDigest, Bytes(flipped))) << i;
    EXPECT_FALSE(DecodeCacheEntry(kDigest, Bytes(whole).Slice(0, i))) << i;
  }
  ByteVector longer = whole;
  longer.push_back(0);
  EXPECT_FALSE(DecodeCacheEntry(kDigest, Bytes(longer)));
}

TEST(CacheEntryTest, LengthsThatLieAreNoEntryWhateverTheChecksumSays) {
  constexpr std::size_t kTagBytesAt = 16 + 32 + 8 + 8 + 4;
  for (const std::uint32_t tag_bytes : {0u, 17u, 0x7fffffffu, 0xffffffffu}) {
    ByteVector file = Encoded();
    StoreU32Le(file.data() + kTagBytesAt, tag_bytes);
    EXPECT_FALSE(DecodeCacheEntry(kDigest, Bytes(Rechecked(file)))) << tag_bytes;
  }
  for (const std::uint64_t bytes : {std::uint64_t{0}, std::uint64_t{8}, ~std::uint64_t{0}}) {
    ByteVector file = Encoded();
    StoreU64Le(file.data() + kTagBytesAt + 4, bytes);
    EXPECT_FALSE(DecodeCacheEntry(kDigest, Bytes(Rechecked(file)))) << bytes;
  }
}

TEST(CacheEntryTest, BelongsToItsDigestAlone) {
  EXPECT_FALSE(DecodeCacheEntry(DigestOf({"range", "https://host", "other"}), Bytes(Encoded())));
  EXPECT_NE(DigestOf({"ab", "c"}), DigestOf({"a", "bc"})) << "parts have limits";
  EXPECT_EQ(DigestOf({"ab", "c"}), DigestOf({"ab", "c"}));
}

TEST(CacheEntryTest, NamesAreDigestsInDirectories) {
  const std::string name = CacheName(kDigest);
  EXPECT_EQ(name.size(), 65u);
  EXPECT_EQ(name[2], '/');
  EXPECT_TRUE(IsCacheName(name.substr(3)));
  EXPECT_FALSE(IsCacheName(name));
  EXPECT_FALSE(IsCacheName(name.substr(4)));
  EXPECT_FALSE(IsCacheName(std::string(62, 'g')));
}

}  // namespace
}  // namespace unshard
