// Makes the chunks of the new array from those of the source.
#pragma once

#include <cstddef>
#include <cstdint>
#include <ctime>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "codec/pyramid/chunk_mapping.h"
#include "store/copy/chunk_source.h"
#include "store/copy/limits.h"
#include "store/object/index_cache.h"

namespace unshard {

// What some chunks of the new array are made from.
struct ChunkPlan {
  struct Made {
    ShardSlot slot;
    GridCell cell;                     // of the new array
    std::vector<std::size_t> sources;  // in `chunks`; none: it has the source's fill value
    bool partial = false;              // the source lacks a chunk that it is made from
  };
  std::vector<ChunkSource::Chunk> chunks;  // of the source, each once
  std::vector<Made> made;                  // in the order in which they were asked for
};

// Thread-safe.
class ChunkMaker {
 public:
  // `to`: the new array. Decoded chunks that several new ones need are kept in `decoded`.
  ChunkMaker(std::shared_ptr<const ChunkMapping> mapping, std::shared_ptr<const ChunkSource> source,
             StoredArray to, std::shared_ptr<ByteBudgetCache> decoded, const CopyLimits& limits);

  [[nodiscard]] const StoredArray& to() const { return to_; }
  // The cell of a slot of the new array; nothing where it has none.
  [[nodiscard]] std::optional<GridCell> CellOf(const ShardSlot& slot) const;
  [[nodiscard]] const ChunkMapping& mapping() const { return *mapping_; }
  [[nodiscard]] const ChunkSource& source() const { return *source_; }
  [[nodiscard]] const CopyLimits& limits() const { return limits_; }

  // Finds what the chunks of these slots are made from. Those that are absent in the source, and
  // need not be written, are left out.
  Result<ChunkPlan> Plan(std::span<const ShardSlot> slots) const;
  // The size of a chunk as it will be stored, where that follows from the plan; then it is written
  // also where every voxel has the fill value.
  [[nodiscard]] std::optional<std::uint64_t> SizeOf(const ChunkPlan& plan, std::size_t made) const;
  // When the last of the source's objects that it is made from was changed.
  [[nodiscard]] static timespec ModifiedOf(const ChunkPlan& plan, std::size_t made);
  // How many chunks, from number `first` on, fit into one call of Make.
  [[nodiscard]] std::size_t BatchAt(const ChunkPlan& plan, std::size_t first) const;
  // The chunks from number `first` on as they are to be stored; nothing where every voxel has the
  // fill value of the new array. Fails, naming it, where a chunk of the source cannot be decoded.
  Result<std::vector<std::optional<Bytes>>> Make(const ChunkPlan& plan, std::size_t first,
                                                 std::size_t count) const;

 private:
  using MadeChunks = std::vector<std::optional<Bytes>>;
  struct Batch {
    const ChunkPlan& plan;
    std::size_t first = 0;
    std::size_t count = 0;
    [[nodiscard]] const ChunkPlan::Made& at(std::size_t i) const { return plan.made[first + i]; }
  };
  // Whether stored bytes of the source are those of the new array.
  [[nodiscard]] bool CopiesEntries() const;
  Status MakeFromBytes(const Batch& batch, const std::vector<std::size_t>& which,
                       std::vector<std::size_t>& rest, MadeChunks& made) const;
  Status Transcode(const Batch& batch, const std::vector<std::size_t>& which,
                   MadeChunks& made) const;
  struct Targets;
  Status Paste(Targets& targets, std::span<const std::size_t> sources) const;
  Result<std::optional<Bytes>> FromBytes(const ChunkPlan::Made& made,
                                         const ChunkSource::Chunk& chunk,
                                         const Bytes& stored) const;
  using VoxelsPtr = std::shared_ptr<const Voxels>;
  [[nodiscard]] VoxelsPtr Kept(const GridCell& from_cell) const;
  Result<VoxelsPtr> Decoded(const GridCell& from_cell, Bytes stored) const;
  [[nodiscard]] CacheKey KeyOf(const GridCell& from_cell) const;
  Result<Bytes> StoredForm(ByteVector plain) const;

  const std::shared_ptr<const ChunkMapping> mapping_;
  const std::shared_ptr<const ChunkSource> source_;
  const StoredArray to_;
  const std::shared_ptr<ByteBudgetCache> decoded_;
  const CopyLimits limits_;
  const std::uint64_t cache_owner_ = NewCacheOwner();
  std::uint64_t from_voxel_bytes_ = 0;  // of a whole chunk
  std::uint64_t to_voxel_bytes_ = 0;
};

}  // namespace unshard
