// The voxels of the chunks of one array, as readers of the array see them now.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "codec/array/array.h"
#include "codec/grid/chunk_grid.h"
#include "codec/volume_file/sections.h"
#include "store/chunks/committed_versions.h"
#include "store/chunks/current_chunks.h"
#include "store/chunks/sharded_tree.h"
#include "store/object/index_cache.h"

namespace unshard {

// Chunks are decoded whole, once for each version while the cache holds them, or the sections of
// them that are asked for; the cache is shared with others. Thread-safe; no lock is held across
// I/O.
class DecodedChunks {
 public:
  struct Parts {
    std::shared_ptr<ShardedTree> tree;           // where the chunks are stored
    Array array;                                 // parsed: it has a codec
    std::shared_ptr<CommittedVersions> written;  // null where the volume is only read
    std::shared_ptr<ByteBudgetCache> cache;
    std::uint64_t max_chunk_bytes = 0;  // of one chunk, stored or decoded
    bool prefetches = false;            // from a remote store
    // Chunks that were decoded so far.
    std::shared_ptr<std::atomic<std::uint64_t>> decoded;
  };
  // Fails as GridOf does.
  static Result<std::shared_ptr<DecodedChunks>> Make(Parts parts);

  [[nodiscard]] const Array& array() const { return parts_.array; }
  [[nodiscard]] const ChunkGrid& grid() const { return grid_; }
  // The shape of the voxels that Get returns for a cell.
  [[nodiscard]] std::uint64_t ExtentOf(std::uint64_t cell, std::size_t axis) const;

  // How the chunks are cut for files whose axes are in `order`, slowest first.
  struct Sections {
    ChunkSections cut;
    std::uint64_t cache_owner = NewCacheOwner();
  };
  [[nodiscard]] Sections SectionsFor(std::span<const std::size_t> order) const;

  // Sections of one chunk.
  struct Wanted {
    GridCell cell;
    std::vector<std::uint64_t> sections;  // by number
  };
  // The voxels of each section: of the latest committed version of the chunk or, if there is none,
  // of the stored chunk. Without bytes where the chunk is absent. Fails with kDataLoss, naming
  // the chunk, where it is damaged, and with kResourceExhausted where it is larger than memory
  // allows. Requires: a cell of the grid.
  using Pieces = std::vector<std::shared_ptr<const ByteVector>>;
  Result<Pieces> Get(const Wanted& wanted, const Sections& sections);
  // Get will be called for these: where each read is a request, those of all of them are started
  // together, as far as they are of shards. Waits for their indexes alone.
  void Prefetch(const std::vector<Wanted>& wanted, const Sections& sections);

 private:
  DecodedChunks(Parts parts, ChunkGrid grid);

  [[nodiscard]] ChunkRef RefOf(const GridCell& cell) const;
  [[nodiscard]] CacheKey KeyOf(const GridCell& cell, const ShardGenerationPtr& shard) const;
  [[nodiscard]] std::vector<std::uint64_t> ShapeOf(const GridCell& cell) const;
  Result<Pieces> GetOnce(const ChunkRef& chunk, const Wanted& wanted, const Sections& sections);
  // `chunk`: the key of the whole chunk, which `load` loads.
  Result<Pieces> Take(const CacheKey& chunk, const Wanted& wanted, const Sections& sections,
                      const ByteBudgetCache::Loader& load);
  [[nodiscard]] bool IsCached(const CacheKey& chunk, const Wanted& wanted,
                              const Sections& sections) const;
  // `content`: null where the chunk is absent.
  Result<ByteBudgetCache::Loaded> Decode(const ContentPtr& content, const GridCell& cell);

  const Parts parts_;
  const ChunkGrid grid_;
  const CurrentChunks current_;
  const bool clips_;
  const std::uint64_t chunk_bytes_;  // of the voxels of a whole chunk, at most what is decoded
  const std::uint64_t cache_owner_ = NewCacheOwner();
};

}  // namespace unshard
