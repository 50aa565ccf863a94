// How far a copy is.
#pragma once

#include <atomic>
#include <cstdint>

namespace unshard {

// Thread-safe. A chunk, shard or file that was there already, as the source has it, is kept.
struct CopyCounters {
  std::atomic<std::uint64_t> cells{0};      // of the grids: copied, kept or missing
  std::atomic<std::uint64_t> all_cells{0};  // of all grids; constant once the copy has begun
  std::atomic<std::uint64_t> chunks{0};     // written
  std::atomic<std::uint64_t> bytes{0};      // of these, and of files
  std::atomic<std::uint64_t> kept_chunks{0};
  std::atomic<std::uint64_t> shards{0};  // written
  std::atomic<std::uint64_t> kept_shards{0};
  std::atomic<std::uint64_t> files{0};  // beside arrays, written
  std::atomic<std::uint64_t> kept_files{0};
  // Chunks of the destination that the source lacks: left there, removed.
  std::atomic<std::uint64_t> extra_chunks{0};
  std::atomic<std::uint64_t> removed_chunks{0};
};

}  // namespace unshard
