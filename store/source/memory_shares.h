// How a volume divides its memory cap.
#pragma once

#include <cstdint>

#include "store/publish/publisher.h"

namespace unshard {

// In bytes. What is left of the cap is for other requests under way.
struct MemoryShares {
  explicit MemoryShares(std::uint64_t cap)
      : index_cache(cap / 8 * 3),
        decoded_cache(cap / 4),
        decoding(cap / 4),
        gzipping(cap / 32),
        held_open(cap / 32),
        listings(cap / 32),
        index(cap / 8),
        whole_shard(cap / 4),
        chunk(cap / 8),
        queued_for_disk(cap / 16) {}

  std::uint64_t index_cache;    // all index pages that are kept
  std::uint64_t decoded_cache;  // all decoded chunks that are kept, and all that is prefetched
  // What views and files of whole arrays decode and encode at a time, and what commits have.
  std::uint64_t decoding;
  std::uint64_t gzipping;   // what is encoded at a time for names with ".gz"
  std::uint64_t held_open;  // what open files keep of bytes that are nowhere else
  std::uint64_t listings;   // names of directories that are being listed
  // At most, of one:
  std::uint64_t index;        // all pages of one shard
  std::uint64_t whole_shard;  // a shard that is encoded as a whole
  // One decoded chunk; what is prefetched and not read yet; whole chunks that are being read.
  std::uint64_t chunk;
  std::uint64_t queued_for_disk;  // what is to be written to the cache on a disk

  [[nodiscard]] PublisherOptions publisher() const {
    PublisherOptions options;
    options.max_index_bytes = index;
    options.max_whole_shard_bytes = whole_shard;
    options.max_chunk_bytes = chunk;
    return options;
  }
};

}  // namespace unshard
