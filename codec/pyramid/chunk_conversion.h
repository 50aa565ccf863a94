// Chunks of a stored array as those of the array that presents it. codec/FORMATS.md, "Views".
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "codec/grid/chunk_grid.h"
#include "codec/pyramid/axis_map.h"
#include "codec/pyramid/block_plan.h"

namespace unshard {

// One array of a view. Both are parsed: they have codecs.
struct PresentedArray {
  ArrayMetadata stored;
  ArrayMetadata shown;
  AxisMap axes;  // of each axis of `shown`, that of `stored`
  BlockForm form = BlockForm::kTranscode;
};

// Cells are those of GridOf(shown), but for StoredCell's result. Immutable; thread-safe; pure.
class ChunkConversion {
 public:
  // Fails with kNotSupported where the chunks of the two arrays do not lie on one grid, or those of
  // `shown` cannot be encoded.
  static Result<ChunkConversion> Make(PresentedArray array);

  [[nodiscard]] const PresentedArray& array() const { return array_; }
  [[nodiscard]] BlockForm form() const { return array_.form; }
  [[nodiscard]] const ChunkGrid& shown_grid() const { return shown_grid_; }
  // The cell, of GridOf(stored), that has the voxels of this one; and the inverse.
  [[nodiscard]] GridCell StoredCell(const GridCell& cell) const;
  [[nodiscard]] GridCell ShownCell(const GridCell& stored) const;

  // Whether chunks that are absent have to be presented: where readers would take an absent one for
  // zeros, and it means something else.
  [[nodiscard]] bool shows_absent() const { return shows_absent_; }
  // The size of the presented chunk, where it does not depend on its voxels. Never of kCopy.
  [[nodiscard]] std::optional<std::uint64_t> SizeOf(const GridCell& cell) const;
  // The bytes of the N5 header of the presented chunk (kAddHeader), or of the stored one that can
  // be stripped (kStripHeader).
  [[nodiscard]] ByteVector HeaderOf(const GridCell& cell) const;

  // Decodes the stored chunk and encodes it as the presented one. Fails as ChunkCodec does.
  [[nodiscard]] Result<ByteVector> Convert(ByteSpan stored, const GridCell& cell) const;
  // The presented chunk of a stored one, in whichever form it comes from it.
  [[nodiscard]] Result<ByteVector> Present(ByteSpan stored, const GridCell& cell) const;
  // A chunk of the source's fill value.
  [[nodiscard]] Result<ByteVector> Absent(const GridCell& cell) const;

  // The inverse: the stored chunk of a presented one that a program has written. Fails with
  // kInvalidArgument where `shown` is no chunk of the array that is presented, and as the codec of
  // the stored array does.
  [[nodiscard]] Result<ByteVector> Restore(ByteSpan shown, const GridCell& cell) const;
  // The stored chunk, where there has to be one, of a presented one that a program has removed:
  // that of the value which readers of the presented array take an absent one for.
  [[nodiscard]] Result<ByteVector> RestoreRemoved(const GridCell& cell) const;
  // Whether Restore is supported: else kNotSupported, naming the codec.
  [[nodiscard]] Status CanRestore() const;
  // Whether what is restored and presented again differs from what was written.
  [[nodiscard]] bool loses() const;
  // The only size that a presented chunk can have, also of kCopy; nothing where it varies.
  [[nodiscard]] std::optional<std::uint64_t> FixedSize(const GridCell& cell) const;

  // The bytes in memory of the voxels of the largest chunk.
  [[nodiscard]] std::uint64_t voxel_bytes() const { return voxel_bytes_; }

 private:
  ChunkConversion(PresentedArray array, ChunkGrid stored_grid, ChunkGrid shown_grid)
      : array_(std::move(array)),
        stored_grid_(std::move(stored_grid)),
        shown_grid_(std::move(shown_grid)) {}

  [[nodiscard]] Result<ByteVector> Encode(const Voxels& voxels, const GridCell& cell) const;
  [[nodiscard]] Result<ByteVector> EncodeStored(const Voxels& voxels, const GridCell& cell) const;

  PresentedArray array_;
  ChunkGrid stored_grid_;
  ChunkGrid shown_grid_;
  AxisMap inverse_;  // of each axis of `stored`, that of `shown`
  ByteVector fill_;  // one item
  bool shows_absent_ = false;
  std::uint64_t voxel_bytes_ = 0;
};

}  // namespace unshard
