#include "store/cache/entry.h"

#include <openssl/evp.h>

#include <algorithm>

#include "codec/core/crc32c.h"
#include "codec/core/text.h"

namespace unshard {
namespace {

constexpr std::string_view kMagic = "unshard cache 1\n";
constexpr std::size_t kDirectoryDigits = 2;
constexpr std::size_t kChecksumBytes = 4;
constexpr std::uint64_t kMostTagBytes = std::uint64_t{64} << 10;
// The fields of fixed size: the magic, the digest, six integers.
constexpr std::size_t kSizeAt = kMagic.size() + std::tuple_size_v<CacheDigest>;
constexpr std::size_t kSecondsAt = kSizeAt + 8;
constexpr std::size_t kNanosecondsAt = kSecondsAt + 8;
constexpr std::size_t kTagBytesAt = kNanosecondsAt + 4;
constexpr std::size_t kBytesAt = kTagBytesAt + 4;
constexpr std::size_t kFixedBytes = kBytesAt + 8;

void Append(ByteVector& to, ByteSpan bytes) { to.insert(to.end(), bytes.begin(), bytes.end()); }

}  // namespace

CacheDigest DigestOf(std::initializer_list<std::string_view> parts) {
  ByteVector text;
  for (const std::string_view part : parts) {
    AppendU64Le(text, part.size());
    Append(text, AsBytes(part));
  }
  CacheDigest digest{};
  EVP_Digest(text.data(), text.size(), digest.data(), nullptr, EVP_sha256(), nullptr);
  return digest;
}

std::string CacheName(const CacheDigest& digest) {
  return HexText(digest).insert(kDirectoryDigits, 1, '/');
}

bool IsCacheName(std::string_view name) {
  return name.size() == 2 * std::tuple_size_v<CacheDigest> - kDirectoryDigits &&
         name.find_first_not_of(kHexDigits) == std::string_view::npos;
}

ByteVector EncodeCacheEntry(const CacheDigest& digest, const CacheEntry& entry) {
  const std::string_view tag = entry.generation.tag;
  ByteVector file;
  file.reserve(kFixedBytes + tag.size() + entry.bytes.size() + kChecksumBytes);
  Append(file, AsBytes(kMagic));
  Append(file, digest);
  AppendU64Le(file, entry.object_size);
  AppendU64Le(file, static_cast<std::uint64_t>(entry.modified.tv_sec));
  AppendU32Le(file, static_cast<std::uint32_t>(entry.modified.tv_nsec));
  AppendU32Le(file, static_cast<std::uint32_t>(tag.size()));
  AppendU64Le(file, entry.bytes.size());
  Append(file, AsBytes(tag));
  Append(file, entry.bytes.span());
  AppendU32Le(file, Crc32c(file));
  return file;
}

std::optional<CacheEntry> DecodeCacheEntry(const CacheDigest& digest, const Bytes& file) {
  if (file.size() < kFixedBytes + kChecksumBytes) return std::nullopt;
  const ByteSpan all = file.span();
  const ByteSpan checked = all.first(all.size() - kChecksumBytes);
  const std::uint64_t tag_bytes = LoadU32Le(all.data() + kTagBytesAt);
  const std::uint64_t bytes = LoadU64Le(all.data() + kBytesAt);
  // Added up without an overflow: `bytes` is anything.
  if (tag_bytes > kMostTagBytes || checked.size() - kFixedBytes < tag_bytes ||
      checked.size() - kFixedBytes - tag_bytes != bytes) {
    return std::nullopt;
  }
  if (AsText(all.first(kMagic.size())) != kMagic ||
      !std::equal(digest.begin(), digest.end(), all.begin() + kMagic.size()) ||
      Crc32c(checked) != LoadU32Le(all.data() + checked.size())) {
    return std::nullopt;
  }
  CacheEntry entry;
  entry.object_size = LoadU64Le(all.data() + kSizeAt);
  entry.modified.tv_sec = static_cast<time_t>(LoadU64Le(all.data() + kSecondsAt));
  entry.modified.tv_nsec = static_cast<long>(LoadU32Le(all.data() + kNanosecondsAt));
  if (entry.modified.tv_nsec >= 1'000'000'000) return std::nullopt;
  entry.generation.tag = AsText(all.subspan(kFixedBytes, tag_bytes));
  entry.bytes = file.Slice(kFixedBytes + tag_bytes, bytes);
  return entry;
}

}  // namespace unshard
