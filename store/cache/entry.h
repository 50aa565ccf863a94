// The files of the cache on a disk: their names and their bytes (codec/FORMATS.md). Pure functions;
// what a file holds is outside input.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "codec/core/bytes.h"
#include "store/object/object_store.h"

namespace unshard {

// What an entry belongs to, as a SHA-256: neither names nor secrets are on the disk.
using CacheDigest = std::array<std::uint8_t, 32>;

// Of several parts, in order.
CacheDigest DigestOf(std::initializer_list<std::string_view> parts);

// One version of an object, or a part of one, and bytes of it.
struct CacheEntry {
  std::uint64_t object_size = 0;
  Generation generation;
  timespec modified{};
  Bytes bytes;
};

// "ab/cdef…": where the entry is, below the folder of the cache.
std::string CacheName(const CacheDigest& digest);
// Whether `name` is one of an entry in its directory.
bool IsCacheName(std::string_view name);

ByteVector EncodeCacheEntry(const CacheDigest& digest, const CacheEntry& entry);
// Nothing where the file is damaged, or is that of another digest. The bytes are a slice of it.
std::optional<CacheEntry> DecodeCacheEntry(const CacheDigest& digest, const Bytes& file);

}  // namespace unshard
