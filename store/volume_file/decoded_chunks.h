// The voxels of the chunks of one array, as readers of the array see them now.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "codec/array/array_metadata.h"
#include "codec/grid/chunk_grid.h"
#include "store/chunks/committed_versions.h"
#include "store/chunks/current_chunks.h"
#include "store/chunks/sharded_tree.h"
#include "store/object/index_cache.h"

namespace unshard {

// Chunks are decoded whole, once for each version while the cache holds them; the cache is shared
// with others. Thread-safe; no lock is held across I/O.
class DecodedChunks {
 public:
  struct Parts {
    std::shared_ptr<ShardedTree> tree;           // where the chunks are stored
    ArrayMetadata array;                         // parsed: it has a codec
    std::shared_ptr<CommittedVersions> written;  // null where the volume is only read
    std::shared_ptr<ByteBudgetCache> cache;
    std::uint64_t max_chunk_bytes = 0;  // of one chunk, stored or decoded
    bool prefetches = false;            // from a remote store
    // Chunks that were decoded so far.
    std::shared_ptr<std::atomic<std::uint64_t>> decoded;
  };
  // Fails as GridOf does.
  static Result<std::shared_ptr<DecodedChunks>> Make(Parts parts);

  [[nodiscard]] const ArrayMetadata& array() const { return parts_.array; }
  [[nodiscard]] const ChunkGrid& grid() const { return grid_; }
  // The shape of the voxels that Get returns for a cell.
  [[nodiscard]] std::uint64_t ExtentOf(std::uint64_t cell, std::size_t axis) const;

  // The latest committed version of a chunk, and where there is none, what is stored. Without bytes
  // where the chunk is absent. Fails with kDataLoss, naming the chunk, where it is damaged, and
  // with kResourceExhausted where it is larger than memory allows. Requires: a cell of the grid.
  using VoxelsPtr = std::shared_ptr<const Voxels>;
  Result<VoxelsPtr> Get(const GridCell& cell);
  // Get will be called for these cells: where each read is a request, those of all of them are
  // started together, as far as they are of shards. Waits for their indexes alone.
  void Prefetch(const std::vector<GridCell>& cells);

 private:
  DecodedChunks(Parts parts, ChunkGrid grid);

  [[nodiscard]] ChunkRef RefOf(const GridCell& cell) const;
  [[nodiscard]] CacheKey KeyOf(const GridCell& cell, const ShardGenerationPtr& shard) const;
  Result<VoxelsPtr> GetOnce(const ChunkRef& chunk, const GridCell& cell);
  // `content`: null where the chunk is absent.
  Result<ByteBudgetCache::Loaded> Decode(const ContentPtr& content, const GridCell& cell);

  const Parts parts_;
  const ChunkGrid grid_;
  const CurrentChunks current_;
  const bool clips_;
  const std::uint64_t decoding_bytes_;  // of a chunk: its stored bytes, and its voxels
  const std::uint64_t cache_owner_ = NewCacheOwner();
};

}  // namespace unshard
