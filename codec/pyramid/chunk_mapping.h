// Two arrays of the same voxels: which chunks of the one have voxels of a chunk of the other, and
// how these get there. Copies and views are made of it. codec/FORMATS.md, "Views";
// fs/SEMANTICS.md, "Copies".
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "codec/grid/chunk_grid.h"
#include "codec/pyramid/axis_map.h"
#include "codec/pyramid/block_plan.h"

namespace unshard {

// Whether each chunk of `to` has exactly the voxels of one chunk of `from`.
bool HasSameGrid(const ArrayMetadata& from, const ArrayMetadata& to, const AxisMap& axes);

// Cells are those of GridOf(from) or GridOf(to). Immutable; thread-safe; pure.
class ChunkMapping {
 public:
  // Both arrays are parsed: they have codecs. `axes`: for each axis of `to`, that of `from`.
  // `form`: how chunks of `to` are made. Fails as GridOf does.
  static Result<ChunkMapping> Make(ArrayMetadata from, ArrayMetadata to, AxisMap axes,
                                   BlockForm form = BlockForm::kTranscode);
  // The mapping from `to` to `from`. It refers to the same arrays.
  [[nodiscard]] ChunkMapping Inverse() const;

  [[nodiscard]] const ArrayMetadata& from() const { return from_->metadata; }
  [[nodiscard]] const ArrayMetadata& to() const { return to_->metadata; }
  [[nodiscard]] const ChunkGrid& from_grid() const { return from_->grid; }
  [[nodiscard]] const ChunkGrid& to_grid() const { return to_->grid; }
  [[nodiscard]] const AxisMap& axes() const { return axes_; }
  [[nodiscard]] BlockForm form() const { return form_; }
  [[nodiscard]] bool same_grid() const { return same_grid_; }
  // Whether chunks that are absent in `from` have to be made, because an absent chunk of `to`
  // would mean another value.
  [[nodiscard]] bool writes_absent() const { return writes_absent_; }

  // The cells of `from` whose chunks have voxels of a chunk of `to`, the last axis of `from`
  // fastest; and the first of them.
  [[nodiscard]] std::vector<GridCell> SourceCells(const GridCell& to_cell) const;
  [[nodiscard]] GridCell FirstSourceCell(const GridCell& to_cell) const;
  // The shape of a chunk, as the codec of its array encodes it.
  [[nodiscard]] Shape FromShape(const GridCell& from_cell) const { return from_->At(from_cell); }
  [[nodiscard]] Shape ToShape(const GridCell& to_cell) const { return to_->At(to_cell); }

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

  // The header of an N5 block that a chunk of `to` gets (kAddHeader), or that its chunk of `from`
  // has to have (kStripHeader). Requires one of these forms.
  [[nodiscard]] ByteVector HeaderOf(const GridCell& to_cell) const;
  // The chunk of `to`, with kAddHeader and kStripHeader. Nothing where the stored header is another
  // one: the chunk has to be transcoded.
  [[nodiscard]] std::optional<ByteVector> ChangeHeader(ByteSpan chunk,
                                                       const GridCell& to_cell) const;

 protected:
  // One item.
  [[nodiscard]] const ByteVector& to_fill() const { return to_->fill; }

 private:
  struct Side {
    ArrayMetadata metadata;
    ChunkGrid grid;
    ByteVector fill;  // one item

    static Result<std::shared_ptr<const Side>> Make(ArrayMetadata metadata);
    [[nodiscard]] Shape At(const GridCell& cell) const {
      return ChunkShapeAt(metadata, grid, cell);
    }
  };

  ChunkMapping(std::shared_ptr<const Side> from, std::shared_ptr<const Side> to, AxisMap axes,
               BlockForm form);

  std::shared_ptr<const Side> from_;
  std::shared_ptr<const Side> to_;
  AxisMap axes_;
  AxisMap inverse_;  // for each axis of `from`, that of `to`
  BlockForm form_;
  bool same_grid_;
  bool writes_absent_;
};

}  // namespace unshard
