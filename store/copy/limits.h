// How much a copy does at a time, and how much memory that takes.
#pragma once

#include <cstddef>
#include <cstdint>

namespace unshard {

struct CopyLimits {
  // Shards, or boxes of unsharded chunks, that are copied at a time.
  std::size_t workers = 2;
  // Of these, that make the chunks of a shard at a time where their sizes are not known before: the
  // processors are busy while the others wait for the disk.
  std::size_t makers = 1;
  std::size_t coding_threads = 2;                         // of each worker, that decode and encode
  std::size_t reading_threads = 1;                        // of each worker
  std::size_t writing_threads = 1;                        // the same, of unsharded chunks
  std::uint64_t batch_bytes = std::uint64_t{8} << 20;     // that a worker reads at a time
  std::uint64_t staged_bytes = std::uint64_t{96} << 20;   // of a shard; what is above is on a disk
  std::uint64_t decoded_bytes = std::uint64_t{96} << 20;  // that all workers keep for later chunks
  std::uint64_t chunk_bytes = std::uint64_t{256} << 20;   // of one chunk, decoded
  std::uint64_t index_bytes = std::uint64_t{128} << 20;   // of one shard
  std::uint64_t whole_shard_bytes = std::uint64_t{256}
                                    << 20;  // of a shard that is encoded as a whole
};

}  // namespace unshard
