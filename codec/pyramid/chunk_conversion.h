// Chunks of a stored array as those of the array that presents it. codec/FORMATS.md, "Views".
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "codec/grid/chunk_grid.h"
#include "codec/pyramid/axis_map.h"
#include "codec/pyramid/block_plan.h"

namespace unshard {

// One array of a view. Both are parsed: they have codecs.
struct PresentedArray {
  ArrayMetadata stored;
  ArrayMetadata presented;
  AxisMap axes;  // of each axis of `presented`, that of `stored`
  BlockForm form = BlockForm::kTranscode;
};

// Cells are those of GridOf(presented), but for those that StoredCell and StoredCells return.
// Immutable; thread-safe; pure.
class ChunkConversion {
 public:
  // Fails with kNotSupported where the chunks of the two arrays do not lie on one grid, or those of
  // `presented` cannot be encoded.
  static Result<ChunkConversion> Make(PresentedArray array);

  [[nodiscard]] const PresentedArray& array() const { return array_; }
  [[nodiscard]] BlockForm form() const { return array_.form; }
  [[nodiscard]] const ChunkGrid& presented_grid() const { return presented_grid_; }
  // Whether a presented chunk has the voxels of several stored ones: a precomputed volume, whose
  // chunks have all channels, of an array that has its channels in several chunks.
  [[nodiscard]] bool joins() const { return parts_ > 1; }
  // The cell, of GridOf(stored), that has the voxels of this one, or the first of its channels; and
  // the inverse, also of the other ones.
  [[nodiscard]] GridCell StoredCell(const GridCell& cell) const;
  [[nodiscard]] GridCell PresentedCell(const GridCell& stored) const;
  // All cells, of GridOf(stored), that have voxels of this one, by channels.
  [[nodiscard]] std::vector<GridCell> StoredCells(const GridCell& cell) const;

  // Whether chunks that are absent have to be presented: where readers would take an absent one for
  // zeros, and it means something else.
  [[nodiscard]] bool presents_absent() const { return presents_absent_; }
  // The size of the presented chunk, where it does not depend on its voxels. Never of kCopy.
  [[nodiscard]] std::optional<std::uint64_t> SizeOf(const GridCell& cell) const;
  // The bytes of the N5 header of the presented chunk (kAddHeader), or of the stored one that can
  // be stripped (kStripHeader).
  [[nodiscard]] ByteVector HeaderOf(const GridCell& cell) const;

  // Decodes the stored chunk and encodes it as the presented one. Fails as ChunkCodec does. This
  // one and Present require a conversion that does not join.
  [[nodiscard]] Result<ByteVector> Convert(ByteSpan stored, const GridCell& cell) const;
  // The presented chunk of a stored one, in whichever form it comes from it.
  [[nodiscard]] Result<ByteVector> Present(ByteSpan stored, const GridCell& cell) const;
  // The presented chunk of stored ones, those of StoredCells: `read` gives the bytes of one of
  // them, nothing where it is absent. Each is decoded before the next one is read, so that one of
  // them is in memory at a time, beside the presented chunk. Fails as Convert and `read` do.
  using PartReader = std::function<Result<std::optional<Bytes>>(std::size_t part)>;
  [[nodiscard]] Result<ByteVector> Join(const PartReader& read, const GridCell& cell) const;
  // A chunk of the source's fill value.
  [[nodiscard]] Result<ByteVector> Absent(const GridCell& cell) const;

  // The inverse: the stored chunks, those of StoredCells, of a presented one that a program has
  // written. Fails with kInvalidArgument where `presented` is no chunk of the array that is
  // presented, and as the codec of the stored array does.
  [[nodiscard]] Result<std::vector<ByteVector>> Restore(ByteSpan presented,
                                                        const GridCell& cell) const;
  // The stored chunks, where there have to be some, of a presented one that a program has removed:
  // those of the value which readers of the presented array take an absent one for.
  [[nodiscard]] Result<std::vector<ByteVector>> RestoreRemoved(const GridCell& cell) const;
  // Whether Restore is supported: else kNotSupported, naming the codec.
  [[nodiscard]] Status CanRestore() const;
  // Whether what is restored and presented again differs from what was written.
  [[nodiscard]] bool is_lossy() const;
  // The only size that a presented chunk can have, also of kCopy; nothing where it varies.
  [[nodiscard]] std::optional<std::uint64_t> FixedSize(const GridCell& cell) const;

  // The bytes in memory of the voxels of the largest presented chunk.
  [[nodiscard]] std::uint64_t voxel_bytes() const { return voxel_bytes_; }

 private:
  ChunkConversion(PresentedArray array, ChunkGrid stored_grid, ChunkGrid presented_grid)
      : array_(std::move(array)),
        stored_grid_(std::move(stored_grid)),
        presented_grid_(std::move(presented_grid)) {}

  // Whether the stored type has these values: bool has no others than 0 and 1.
  [[nodiscard]] Status CanHold(const Voxels& presented) const;
  [[nodiscard]] Result<ByteVector> Encode(const Voxels& voxels, const GridCell& cell) const;
  // The stored chunks of presented voxels, or of none.
  [[nodiscard]] Result<std::vector<ByteVector>> EncodeStored(const Voxels& voxels,
                                                             const GridCell& cell) const;
  // Where the voxels of one of the stored chunks begin in the presented one.
  [[nodiscard]] std::vector<std::uint64_t> BeginOf(const GridCell& stored_cell) const;

  PresentedArray array_;
  ChunkGrid stored_grid_;
  ChunkGrid presented_grid_;
  AxisMap inverse_;  // of each axis of `stored`, that of `presented`
  ByteVector fill_;  // one item
  bool presents_absent_ = false;
  std::uint64_t parts_ = 1;  // stored chunks of a presented one
  std::uint64_t voxel_bytes_ = 0;
};

}  // namespace unshard
