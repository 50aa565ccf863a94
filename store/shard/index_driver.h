// Drives the walks of a shard format to index pages (codec/shard/format.h): fetches the byte ranges
// that they ask for.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "codec/shard/format.h"

namespace unshard {

// The object that the ranges of an index refer to.
struct IndexedObject {
  std::uint64_t size = 0;
  // The bytes of a range within the object; fewer where the object has become shorter.
  std::function<Result<Bytes>(const ByteRange&)> read;
  std::function<std::string()> describe;  // for messages
};

// Bytes of an index that need not be read: of the shard's own, where the walks to all its pages
// begin, or of the pages.
struct HeldIndex {
  ByteRange range;
  Bytes bytes;
};

// One inner chunk of a shard.
struct StoredChunk {
  std::uint64_t page = 0;
  std::uint64_t slot = 0;
  ByteRange range;
  friend bool operator==(const StoredChunk&, const StoredChunk&) = default;
};

// All index pages of a shard.
struct ShardIndex {
  std::vector<StoredChunk> chunks;  // ascending by page and slot
  std::uint64_t bytes = 0;          // that the index takes in the object
};

// Used by one thread.
class IndexDriver {
 public:
  // `held` comes from the opening request, or from another driver for the same object; `tail`, the
  // end of the object, from a request beside that.
  IndexDriver(const ShardFormat& format, std::uint64_t shard, IndexedObject object,
              HeldIndex held = {}, HeldIndex tail = {});

  // One page. Costs a read for each request of its walk, but none for bytes that are held. Of the
  // shard's own index it reads the format's opening range, or else 64 KiB around a small entry, and
  // holds that for the next page. Fails with kResourceExhausted where a walk asks for more than
  // `max_index_bytes` at once, with kDataLoss where the object ends early or the index is damaged,
  // and as `read` does; each names the object.
  Result<IndexPage> Page(std::uint64_t page, std::uint64_t max_index_bytes);
  // The first read that Page() would make; nothing where it would make none, or fail before.
  [[nodiscard]] std::optional<ByteRange> FirstRead(std::uint64_t page,
                                                   std::uint64_t max_index_bytes) const;
  // All pages. Fails also with kResourceExhausted where the pages together take more than
  // `max_index_bytes` in memory, and with kDataLoss where a page leaves rows out.
  Result<ShardIndex> AllPages(std::uint64_t max_index_bytes);

  [[nodiscard]] const HeldIndex& held() const { return held_; }

 private:
  Result<Bytes> Fetch(const ByteRange& range, bool of_own_index);
  [[nodiscard]] std::optional<Bytes> Held(const ByteRange& range) const;
  [[nodiscard]] ByteRange Widened(const ByteRange& range) const;

  const ShardFormat& format_;
  const std::uint64_t shard_;
  const IndexedObject object_;
  HeldIndex held_;
  const HeldIndex tail_;
  ByteRange last_own_index_;  // the range that a walk requested last
  std::uint64_t index_bytes_ = 0;
};

}  // namespace unshard
