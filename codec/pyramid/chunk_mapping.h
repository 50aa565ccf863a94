// Two arrays of the same voxels, of any formats, chunk grids and encodings: which chunks of the one
// have voxels of a chunk of the other, and how that is made of them. Copies and views are made of
// it. codec/FORMATS.md, "Views"; fs/SEMANTICS.md, "Copies".
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "codec/grid/chunk_grid.h"
#include "codec/pyramid/axis_map.h"
#include "codec/pyramid/block_plan.h"

namespace unshard {

// The most stored chunks of a chunk of a view, which are looked up together.
inline constexpr std::uint64_t kMostStoredChunks = 1024;

// Whether each chunk of `to` has exactly the voxels of one chunk of `from`, and both are encoded
// with the same extents. `axes`: for each axis of `to`, that of `from`.
bool HasSameChunks(const Array& from, const Array& to, const AxisMap& axes);

// One array of a view. Both are parsed: they have codecs.
struct PresentedArray {
  Array stored;
  Array presented;
  AxisMap axes;  // for each axis of `presented`, that of `stored`
};

// Cells are those of GridOf(from) or GridOf(to). Immutable; thread-safe; pure.
class ChunkMapping {
 public:
  // Of a copy, in its FormOfCopy. Fails as GridOf does, and with kNotSupported, naming the codec,
  // where chunks have to be decoded or encoded that cannot be. Where one array OnlyPasses its
  // chunks, they are copied, or it fails as CanPassChunks does.
  static Result<ChunkMapping> ForCopy(Array from, Array to, AxisMap axes);
  // Of a view, from the stored array to the presented one, in its FormOfView. Fails in the same
  // way, and with kNotSupported where a stored chunk has voxels of several presented ones.
  static Result<ChunkMapping> ForView(PresentedArray array);

  [[nodiscard]] const Array& from() const { return from_->metadata; }
  [[nodiscard]] const Array& to() const { return to_->metadata; }
  [[nodiscard]] const ChunkGrid& from_grid() const { return from_->grid; }
  [[nodiscard]] const ChunkGrid& to_grid() const { return to_->grid; }
  [[nodiscard]] const AxisMap& axes() const { return axes_; }
  [[nodiscard]] BlockForm form() const { return form_; }
  // Whether each chunk of `to` has the voxels of one chunk of `from`.
  [[nodiscard]] bool same_grid() const { return same_grid_; }
  // Whether chunks that are absent in `from` have to be made, because an absent chunk of `to`
  // would mean another value.
  [[nodiscard]] bool writes_absent() const { return writes_absent_; }
  // The bytes in memory of the voxels of the largest chunk.
  [[nodiscard]] std::uint64_t voxel_bytes() const;

  // --- Cells

  // The cells of `from` whose chunks have voxels of a chunk of `to`, the last axis of `from`
  // fastest; and the first of them.
  [[nodiscard]] std::vector<GridCell> SourceCells(const GridCell& to_cell) const;
  [[nodiscard]] GridCell FirstSourceCell(const GridCell& to_cell) const;
  // The cell of `to` with the first voxel of a chunk of `from`.
  [[nodiscard]] GridCell TargetCell(const GridCell& from_cell) const;

  // --- Voxels

  // All of these require that both arrays have codecs.

  // Fails with kDataLoss where a chunk of `from` cannot be decoded.
  [[nodiscard]] Result<Voxels> Decode(ByteSpan chunk, const GridCell& from_cell) const;
  // A chunk of `to` as if all chunks of `from` were absent: of the fill value of `from`, beyond the
  // array of that of `to`. Paste copies the voxels of a chunk of `from` into it. Several threads
  // may paste different chunks into one chunk at the same time.
  [[nodiscard]] Result<Voxels> Blank(const GridCell& to_cell) const;
  void Paste(const Voxels& from, const GridCell& from_cell, Voxels& to,
             const GridCell& to_cell) const;
  // The chunk of `to` with all that a chunk of `from` has of it.
  [[nodiscard]] Result<Voxels> Map(Voxels from, const GridCell& from_cell,
                                   const GridCell& to_cell) const;
  // Whether every voxel of a chunk of `to` has the fill value of `to`: copies do not store it.
  [[nodiscard]] bool IsFill(const Voxels& voxels) const;
  // The voxels of a stored chunk of `to`, with the fill value beyond the array, whatever the
  // program that encoded it put there. Fails with kDataLoss where it cannot be decoded.
  [[nodiscard]] Result<Voxels> DecodeTarget(ByteSpan chunk, const GridCell& to_cell) const;

  // --- Chunks of `to`

  // Fails with kDataLoss where a chunk of `from` cannot be decoded. It is decoded only where its
  // size does not show that it can be, and not where this build lacks the codec's library, or
  // `from` has no codec.
  [[nodiscard]] Status Check(ByteSpan chunk, const GridCell& from_cell) const;
  // The header of an N5 block that a chunk of `to` gets (kAddHeader), or that its chunk of `from`
  // has to have (kStripHeader). Requires one of these forms.
  [[nodiscard]] ByteVector HeaderOf(const GridCell& to_cell) const;
  // The chunk of `to` made of the bytes of its chunk of `from`, as form() says. Nothing where it
  // has to be transcoded.
  [[nodiscard]] std::optional<ByteVector> FromBytes(ByteSpan chunk, const GridCell& to_cell) const;
  // The chunk of `to`, encoded anew: `read` returns the bytes of one of its SourceCells, by its
  // position there, or nothing where it is absent. Each is decoded before the next one is read, so
  // that only one of them is in memory beside the chunk. Fails as CodecChain and `read` do.
  using PartReader = std::function<Result<std::optional<Bytes>>(std::size_t part)>;
  [[nodiscard]] Result<ByteVector> FromChunks(const PartReader& read,
                                              const GridCell& to_cell) const;
  // Requires same_grid(): made of its chunk of `from`, in either way; nothing: that is absent.
  [[nodiscard]] Result<ByteVector> FromChunk(const std::optional<Bytes>& chunk,
                                             const GridCell& to_cell) const;
  // The size of a chunk that is encoded anew, where it does not depend on its voxels.
  [[nodiscard]] std::optional<std::uint64_t> EncodedSize(const GridCell& to_cell) const {
    return to().codec->EncodedSize(to_->ShapeAt(to_cell));
  }

  // --- Writing into a view

  // The stored chunks, those of SourceCells, for a presented chunk that a program has written.
  // Fails with kInvalidArgument if `written` is no chunk of `to`, and as the codec of `from` does.
  [[nodiscard]] Result<std::vector<ByteVector>> Restore(ByteSpan written,
                                                        const GridCell& to_cell) const;
  // The same where a program has removed the chunk, if removing the stored ones is not enough: of
  // the value that readers of the view take an absent chunk for.
  [[nodiscard]] Result<std::vector<ByteVector>> RestoreRemoved(const GridCell& to_cell) const;
  // Whether Restore is supported: else kNotSupported, naming the codec.
  [[nodiscard]] Status CanRestore() const;
  // Whether voxels that are written, stored and presented again may differ from those written.
  [[nodiscard]] bool is_lossy() const;

 private:
  struct Side {
    Array metadata;
    ChunkGrid grid;
    ByteVector fill;  // one item

    static Result<std::shared_ptr<const Side>> Make(Array metadata);
    // The shape of a chunk, as its codec encodes it.
    [[nodiscard]] Shape ShapeAt(const GridCell& cell) const {
      return ChunkShapeAt(metadata, grid, cell);
    }
  };
  using SidePtr = std::shared_ptr<const Side>;

  ChunkMapping(SidePtr from, SidePtr to, AxisMap axes, BlockForm form);
  static Result<ChunkMapping> Make(Array from, Array to, AxisMap axes, BlockForm form);
  // The mapping from `to` to `from`.
  [[nodiscard]] ChunkMapping Inverse() const;
  // Whether this build has the codecs that the form needs.
  [[nodiscard]] Status CanEncode() const;
  // Whether the type of `from` has these values: bool has no others than 0 and 1.
  [[nodiscard]] Status CanHold(const Voxels& written) const;
  // The chunks of `from` with these voxels of a chunk of `to`; without them, of its fill value.
  [[nodiscard]] Result<std::vector<ByteVector>> EncodeSources(const Voxels* voxels,
                                                              const GridCell& to_cell) const;

  SidePtr from_;
  SidePtr to_;
  AxisMap axes_;
  AxisMap inverse_;  // for each axis of `from`, that of `to`
  BlockForm form_;
  bool same_grid_;
  bool writes_absent_;
};

}  // namespace unshard
