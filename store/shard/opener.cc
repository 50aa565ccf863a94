#include "store/shard/opener.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "store/object/concatenated_object.h"
#include "store/object/key.h"
#include "store/object/parallel.h"

namespace unshard {
namespace {

// Ends of about the same length are requests of the same range, which a cache on a disk finds
// again.
constexpr std::uint64_t kLeastTailBytes = 4096;

HeldIndex Piece(const ObjectStore::Opened& opened, const RangeRequest& asked) {
  const ByteRange range = ClipRange(asked, opened.version->info().size);
  if (range.size == 0 || opened.first.size() != range.size) return {};
  return {range, opened.first};
}

bool IsSameVersion(const ObjectStore::Opened& a, const ObjectStore::Opened& b) {
  return a.version && b.version && a.version->info().generation == b.version->info().generation;
}

}  // namespace

ShardOpener::ShardOpener(std::shared_ptr<ObjectStore> store, std::string directory,
                         std::shared_ptr<const ShardFormat> format,
                         std::shared_ptr<const ShardKeys> keys)
    : store_(std::move(store)),
      directory_(std::move(directory)),
      format_(std::move(format)),
      keys_(std::move(keys)),
      keeps_replaced_versions_(store_->capabilities().keeps_replaced_versions) {}

std::string ShardOpener::KeyOf(std::uint64_t shard) const {
  return JoinPath(directory_, keys_->Key(shard));
}

// A range of no bytes where none is to be asked for.
RangeRequest ShardOpener::Tail(const RangeRequest& first) const {
  const std::uint64_t bytes = tail_bytes_.load(std::memory_order_relaxed);
  if (keeps_replaced_versions_ || bytes == 0 || first.size == 0) return RangeRequest::Suffix(0);
  // Shards differ a little.
  const std::uint64_t rounded = std::bit_ceil(std::max(bytes + bytes / 8, kLeastTailBytes));
  return RangeRequest::Suffix(rounded <= kMostTailBytes ? rounded : 0);
}

void ShardOpener::Learn(const ObjectStore::Opened& opened, const RangeRequest& first) {
  if (first.size == 0 || first != format_->opening_range()) return;
  tail_bytes_.store(format_->TrailingPageBytes(opened.first.span(), opened.version->info().size),
                    std::memory_order_relaxed);
}

OpenedShard ShardOpener::OpenCached(const std::string& key, const RangeRequest& first) {
  auto opened = store_->OpenCached(key, first);
  if (!opened.version) return {};
  Learn(opened, first);
  OpenedShard shard{opened.version, Piece(opened, first), {}, true};
  if (const RangeRequest tail = Tail(first); tail.size != 0) {
    const auto end = store_->OpenCached(key, tail);
    if (IsSameVersion(opened, end)) shard.tail = Piece(end, tail);
  }
  return shard;
}

Result<ObjectStore::Opened> ShardOpener::OpenPair(std::uint64_t shard, const RangeRequest& first,
                                                  const Deadline& deadline) {
  const auto pair = keys_->ObsoletePair(shard);
  if (!pair) return ObjectStore::Opened{};
  const auto missing_half = !keeps_replaced_versions_ && found_whole_.load()
                                ? MissingHalf::kBelieved
                                : MissingHalf::kChecked;
  return OpenConcatenated(*store_, JoinPath(directory_, pair->index),
                          JoinPath(directory_, pair->data), first, deadline, missing_half);
}

Result<OpenedShard> ShardOpener::Open(std::uint64_t shard, const RangeRequest& first, Origin origin,
                                      const Deadline& deadline) {
  const std::string key = KeyOf(shard);
  if (origin == Origin::kCacheOrStore) {
    OpenedShard cached = OpenCached(key, first);
    if (cached.object) return cached;
  }
  opens_.fetch_add(1, std::memory_order_relaxed);
  const RangeRequest tail = last_was_missing_.load() ? RangeRequest::Suffix(0) : Tail(first);
  Result<ObjectStore::Opened> opened = ObjectStore::Opened{};
  Result<ObjectStore::Opened> end = ObjectStore::Opened{};
  if (tail.size == 0) {
    opened = store_->Open(key, first, deadline);
  } else {
    ForEachInParallel(2, 2, [&](std::size_t i) {
      (i == 0 ? opened : end) = store_->Open(key, i == 0 ? first : tail, deadline);
    });
  }
  if (!opened) return tl::unexpected<Error>(std::move(opened).error());
  last_was_missing_.store(!opened->version, std::memory_order_relaxed);
  if (opened->version) {
    found_whole_.store(true, std::memory_order_relaxed);
    Learn(*opened, first);
  } else {
    UNSHARD_ASSIGN_OR_RETURN(opened, OpenPair(shard, first, deadline));
  }
  OpenedShard found;
  if (opened->version) found.held = Piece(*opened, first);
  if (end && IsSameVersion(*opened, *end)) found.tail = Piece(*end, tail);
  found.object = std::move(opened->version);
  return found;
}

}  // namespace unshard
