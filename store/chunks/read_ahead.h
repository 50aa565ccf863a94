// Detects reads that sweep through a shard (cp -r, tar), and chooses the bytes to prefetch.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>

#include "codec/core/byte_range.h"

namespace unshard {

// To the kernel each chunk is a file of its own: its readahead stops at the end of each, though the
// next one follows in the shard. Several programs may sweep at a time, each with several threads.
// Thread-safe.
class ReadAhead {
 public:
  // One generation of one shard of one tree.
  struct Shard {
    std::uint64_t tree = 0;
    std::uint64_t shard = 0;
    std::uint64_t serial = 0;
    friend bool operator==(const Shard&, const Shard&) = default;
  };

  // The chunk that takes `range` of a shard of `shard_bytes` is being read. Returns the bytes to
  // prefetch now: an empty range most of the time, and always while reads come in random order.
  ByteRange Note(const Shard& shard, const ByteRange& range, std::uint64_t shard_bytes);

 private:
  static constexpr std::size_t kShards = 16;

  struct Sweep {
    Shard shard;
    std::uint64_t end = 0;     // of the farthest chunk that was read
    std::uint64_t asked = 0;   // the bytes before this are prefetched, or need not be
    std::uint64_t window = 0;  // how far beyond `end` to prefetch
    int reads = 0;             // in a row that were close to each other
    std::uint64_t used = 0;
  };
  Sweep& Find(const Shard& shard);

  std::mutex mutex_;
  std::array<Sweep, kShards> sweeps_;  // guarded by mutex_
  std::uint64_t clock_ = 0;            // guarded by mutex_
};

}  // namespace unshard
