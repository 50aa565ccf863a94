// What the chunk stores of views have in common: the stored chunks that a presented one comes from.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "codec/pyramid/chunk_mapping.h"
#include "store/chunks/chunk_content.h"
#include "store/chunks/chunk_store.h"
#include "store/chunks/sharded_tree.h"
#include "store/object/index_cache.h"

namespace unshard {

// A presented chunk is referred to by the reference of the stored chunk that it comes from, or of
// the first of these. Changes are those of the stored tree. Thread-safe.
class PresentedChunks : public ChunkStore {
 public:
  struct Parts {
    std::shared_ptr<ShardedTree> stored;
    std::shared_ptr<const ChunkMapping> mapping;
    std::shared_ptr<ByteBudgetCache> cache;  // of encoded chunks
    std::uint64_t max_chunk_bytes = 0;       // of the voxels of one chunk
  };

  // The cell, of the presented grid, of a reference to any stored chunk.
  [[nodiscard]] std::optional<GridCell> CellOf(const ChunkRef& chunk) const;
  [[nodiscard]] ChunkRef RefOf(const GridCell& cell) const;
  // The stored chunks that a presented one comes from, as ChunkMapping::SourceCells.
  [[nodiscard]] std::vector<ChunkRef> StoredChunks(const ChunkRef& chunk) const;

  // The bytes in memory of the voxels of the largest chunk.
  [[nodiscard]] std::uint64_t voxel_bytes() const { return mapping().voxel_bytes(); }
  // Writing. The bytes of StoredChunks for a chunk that a program wrote into the view, or removed
  // from it. kInvalidArgument where `presented` is no such chunk.
  [[nodiscard]] Result<std::vector<ByteVector>> Restore(const ChunkRef& chunk,
                                                        ByteSpan presented) const;
  [[nodiscard]] Result<std::vector<ByteVector>> RestoreRemoved(const ChunkRef& chunk) const;

  Status ForEachPresent(const ChunkGeneration& generation, const ChunkVisitor& visitor) override;
  ChunkChanges Invalidate(const std::string& key) override;
  [[nodiscard]] bool has_forgotten() const override { return source().has_forgotten(); }
  [[nodiscard]] bool presents_absent() const override { return mapping().writes_absent(); }
  [[nodiscard]] ChunkStoreCounters counters() const override { return source().counters(); }
  [[nodiscard]] std::optional<std::string> ReplacedKey(const ChunkRef& chunk) const override {
    return source().ReplacedKey(chunk);
  }

 protected:
  explicit PresentedChunks(Parts parts) : parts_(std::move(parts)) {}

  [[nodiscard]] const std::shared_ptr<ShardedTree>& stored_tree() const { return parts_.stored; }
  [[nodiscard]] ChunkStore& source() const { return parts_.stored->chunks(); }
  [[nodiscard]] const ChunkMapping& mapping() const { return *parts_.mapping; }
  [[nodiscard]] std::uint64_t max_chunk_bytes() const { return parts_.max_chunk_bytes; }

  [[nodiscard]] Result<GridCell> CellIn(const ChunkRef& chunk) const;
  [[nodiscard]] tl::unexpected<Error> InChunk(Error error, const ChunkRef& chunk) const;
  [[nodiscard]] Status FitsInMemory() const;
  // The bytes that `encode` makes of a chunk in one of its versions, from the cache while they are
  // there. `version` and `kind` tell versions apart.
  Result<Bytes> Cached(const GridCell& cell, std::uint64_t version, std::uint64_t kind,
                       const std::function<Result<Bytes>()>& encode) const;

 private:
  const Parts parts_;
  const std::uint64_t cache_owner_ = NewCacheOwner();
};

// A part of bytes that are in memory, clipped at their end.
FilePiece ClipBytes(const Bytes& bytes, std::uint64_t offset, std::uint64_t size);

}  // namespace unshard
