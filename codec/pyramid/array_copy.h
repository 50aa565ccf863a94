// Copying an array chunk by chunk into another one of the same voxels, between any two formats,
// chunk grids and encodings. fs/SEMANTICS.md, "Copies".
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "codec/grid/chunk_grid.h"
#include "codec/pyramid/axis_map.h"
#include "codec/pyramid/block_plan.h"

namespace unshard {

// For each axis of `to`, the axis of `from`: by name where both arrays name all their axes, else by
// MapAxes, else in order. Axes of extent 1 may be added and dropped; origins may differ. Fails with
// kInvalidArgument, naming the axis and both extents, where the shapes differ, and naming both
// types where these differ (a bool may become a uint8).
Result<AxisMap> MatchArrays(const ArrayMetadata& from, std::span<const PyramidAxis> from_axes,
                            const ArrayMetadata& to);

// The copy of one array. Both arrays are parsed: they have codecs. Cells are those of GridOf(from)
// or GridOf(to). Immutable; thread-safe; pure.
class ArrayCopy {
 public:
  // `axes` as MatchArrays returns them. Fails with kNotSupported, naming the codec, where chunks of
  // `to` cannot be encoded.
  static Result<ArrayCopy> Make(ArrayMetadata from, ArrayMetadata to, AxisMap axes);

  [[nodiscard]] const ArrayMetadata& from() const { return from_; }
  [[nodiscard]] const ArrayMetadata& to() const { return to_; }
  [[nodiscard]] const ChunkGrid& from_grid() const { return from_grid_; }
  [[nodiscard]] const ChunkGrid& to_grid() const { return to_grid_; }
  [[nodiscard]] const AxisMap& axes() const { return axes_; }
  // Whether each chunk of `to` has exactly the voxels of one chunk of `from`.
  [[nodiscard]] bool same_grid() const { return same_grid_; }
  // How the chunks of `to` are made from those. Always kTranscode between different grids.
  [[nodiscard]] BlockForm form() const { return form_; }
  // Whether chunks that are absent in `from` have to be written, because an absent chunk of `to`
  // would mean another value.
  [[nodiscard]] bool writes_absent() const { return writes_absent_; }

  // The cells of `from` whose chunks have voxels of a chunk of `to`.
  [[nodiscard]] std::vector<GridCell> SourceCells(const GridCell& to_cell) const;

  // Both fail with kDataLoss where a chunk of `from` cannot be decoded. Check decodes only where
  // its size does not show that it can be, and not where this build lacks the codec's library.
  [[nodiscard]] Status Check(ByteSpan chunk, const GridCell& from_cell) const;
  [[nodiscard]] Result<Voxels> Decode(ByteSpan chunk, const GridCell& from_cell) const;
  // The chunk of `to`, with kAddHeader and kStripHeader. Nothing where the stored N5 header is not
  // that of the chunk's shape: the chunk has to be transcoded.
  [[nodiscard]] std::optional<ByteVector> ChangeHeader(ByteSpan chunk,
                                                       const GridCell& to_cell) const;

  // A chunk of `to` as if all chunks of `from` were absent; Paste copies the voxels of a chunk of
  // `from` into it. Several threads may paste different chunks into one chunk at the same time.
  [[nodiscard]] Result<Voxels> Blank(const GridCell& to_cell) const;
  void Paste(const Voxels& from, const GridCell& from_cell, Voxels& to,
             const GridCell& to_cell) const;
  // Whether every voxel of a chunk of `to` has the fill value of `to`: such chunks are not stored.
  [[nodiscard]] bool IsFill(const Voxels& voxels) const;
  // The voxels of a stored chunk of `to`, with the fill value beyond the array, whatever the
  // program that encoded it put there. Fails with kDataLoss where it cannot be decoded.
  [[nodiscard]] Result<Voxels> DecodeCopied(ByteSpan chunk, const GridCell& to_cell) const;
  // The encoded chunk of `to`; nothing where IsFill(voxels).
  [[nodiscard]] Result<std::optional<ByteVector>> Encode(Voxels voxels) const;

 private:
  ArrayCopy(ArrayMetadata from, ArrayMetadata to, AxisMap axes)
      : from_(std::move(from)), to_(std::move(to)), axes_(std::move(axes)) {}

  [[nodiscard]] bool HasSameGrid() const;
  [[nodiscard]] bool HasSameItems() const;
  [[nodiscard]] BlockForm FormOfChunks() const;

  ArrayMetadata from_;
  ArrayMetadata to_;
  AxisMap axes_;
  ChunkGrid from_grid_;
  ChunkGrid to_grid_;
  ByteVector from_fill_;  // one item
  ByteVector to_fill_;
  bool same_grid_ = false;
  bool writes_absent_ = false;
  BlockForm form_ = BlockForm::kTranscode;
};

}  // namespace unshard
