#include "codec/pyramid/chunk_mapping.h"

#include <algorithm>
#include <utility>

#include "codec/codecs/n5_block.h"
#include "codec/pyramid/missing_values.h"

namespace unshard {
namespace {

BlockForm InverseOf(BlockForm form) {
  if (form == BlockForm::kAddHeader) return BlockForm::kStripHeader;
  return form == BlockForm::kStripHeader ? BlockForm::kAddHeader : form;
}

}  // namespace

bool HasSameGrid(const ArrayMetadata& from, const ArrayMetadata& to, const AxisMap& axes) {
  const AxisMap inverse = InverseMap(axes, from.rank());
  return MapList<std::uint64_t>(axes, from.chunk_shape, 1) == to.chunk_shape &&
         MapList<std::uint64_t>(inverse, to.chunk_shape, 1) == from.chunk_shape;
}

Result<std::shared_ptr<const ChunkMapping::Side>> ChunkMapping::Side::Make(ArrayMetadata metadata) {
  UNSHARD_ASSIGN_OR_RETURN(ChunkGrid grid, GridOf(metadata));
  ByteVector fill = FillValueOf(metadata);
  return std::make_shared<const Side>(Side{std::move(metadata), std::move(grid), std::move(fill)});
}

Result<ChunkMapping> ChunkMapping::Make(ArrayMetadata from, ArrayMetadata to, AxisMap axes,
                                        BlockForm form) {
  UNSHARD_ASSIGN_OR_RETURN(auto from_side, Side::Make(std::move(from)));
  UNSHARD_ASSIGN_OR_RETURN(auto to_side, Side::Make(std::move(to)));
  return ChunkMapping(std::move(from_side), std::move(to_side), std::move(axes), form);
}

ChunkMapping::ChunkMapping(std::shared_ptr<const Side> from, std::shared_ptr<const Side> to,
                           AxisMap axes, BlockForm form)
    : from_(std::move(from)),
      to_(std::move(to)),
      axes_(std::move(axes)),
      inverse_(InverseMap(axes_, from_->metadata.rank())),
      form_(form),
      same_grid_(HasSameGrid(from_->metadata, to_->metadata, axes_)),
      writes_absent_(!AbsentReadsAlike(from_->metadata, to_->metadata)) {}

ChunkMapping ChunkMapping::Inverse() const { return {to_, from_, inverse_, InverseOf(form_)}; }

GridCell ChunkMapping::FirstSourceCell(const GridCell& to_cell) const {
  GridCell first(from().rank(), 0);
  for (std::size_t axis = 0; axis < first.size(); ++axis) {
    const auto source = inverse_[axis];
    if (!source) continue;
    first[axis] = to_cell[*source] * to().chunk_shape[*source] / from().chunk_shape[axis];
  }
  return first;
}

std::vector<GridCell> ChunkMapping::SourceCells(const GridCell& to_cell) const {
  const GridCell first = FirstSourceCell(to_cell);
  GridCell last = first;
  for (std::size_t axis = 0; axis < last.size(); ++axis) {
    const auto source = inverse_[axis];
    if (!source) continue;
    const std::uint64_t end =
        std::min((to_cell[*source] + 1) * to().chunk_shape[*source], to().shape[*source]);
    last[axis] = (end - 1) / from().chunk_shape[axis];
  }
  std::vector<GridCell> cells{first};
  for (;;) {
    GridCell next = cells.back();
    std::size_t axis = next.size();
    while (axis-- > 0) {
      if (next[axis]++ < last[axis]) break;
      next[axis] = first[axis];
    }
    if (axis == static_cast<std::size_t>(-1)) return cells;
    cells.push_back(std::move(next));
  }
}

Result<Voxels> ChunkMapping::Decode(ByteSpan chunk, const GridCell& from_cell) const {
  return from().codec->Decode(chunk, FromShape(from_cell));
}

Result<Voxels> ChunkMapping::Blank(const GridCell& to_cell) const {
  const Shape shape = ToShape(to_cell);
  const Shape within = to_grid().ClippedShape(to_cell);
  if (within == shape) return Voxels::Filled(to().data_type, shape, from_->fill);
  UNSHARD_ASSIGN_OR_RETURN(Voxels blank, Voxels::Filled(to().data_type, shape, to_->fill));
  if (from_->fill == to_->fill) return blank;
  UNSHARD_ASSIGN_OR_RETURN(const Voxels one, Voxels::Make(to().data_type, {}, from_->fill));
  CopyBox(one, AxisMap(shape.size()), {{}, Shape(shape.size(), 0), within}, blank);
  return blank;
}

void ChunkMapping::Paste(const Voxels& from, const GridCell& from_cell, Voxels& to,
                         const GridCell& to_cell) const {
  VoxelBox box{GridCell(from_cell.size(), 0), GridCell(to_cell.size(), 0),
               GridCell(to_cell.size(), 1)};
  for (std::size_t axis = 0; axis < axes_.size(); ++axis) {
    const auto source = axes_[axis];
    if (!source) continue;
    const std::uint64_t from_begin = from_cell[*source] * this->from().chunk_shape[*source];
    const std::uint64_t to_begin = to_cell[axis] * this->to().chunk_shape[axis];
    const std::uint64_t begin = std::max(from_begin, to_begin);
    const std::uint64_t end = std::min(
        {from_begin + from.shape()[*source], to_begin + to.shape()[axis], this->to().shape[axis]});
    if (begin >= end) return;
    box.from[*source] = begin - from_begin;
    box.to[axis] = begin - to_begin;
    box.extent[axis] = end - begin;
  }
  CopyBox(from, axes_, box, to);
}

Result<Voxels> ChunkMapping::Map(Voxels from, const GridCell& from_cell,
                                 const GridCell& to_cell) const {
  const Shape shape = ToShape(to_cell);
  const bool same_bytes = KeepsOrder(axes_) && same_grid_ &&
                          MapList<std::uint64_t>(axes_, from.shape(), 1) == shape &&
                          to_grid().ClippedShape(to_cell) == shape;
  if (same_bytes) return Voxels::Make(to().data_type, shape, std::move(from).TakeBytes());
  UNSHARD_ASSIGN_OR_RETURN(Voxels to, Blank(to_cell));
  Paste(from, from_cell, to, to_cell);
  return to;
}

// Of the extents in the order of the axes of the N5 array.
ByteVector ChunkMapping::HeaderOf(const GridCell& to_cell) const {
  if (form_ == BlockForm::kStripHeader) {
    return MakeN5BlockHeader(MapList<std::uint64_t>(inverse_, ToShape(to_cell), 1));
  }
  return MakeN5BlockHeader(MapList<std::uint64_t>(axes_, FromShape(FirstSourceCell(to_cell)), 1));
}

std::optional<ByteVector> ChunkMapping::ChangeHeader(ByteSpan chunk,
                                                     const GridCell& to_cell) const {
  ByteVector header = HeaderOf(to_cell);
  if (form_ == BlockForm::kAddHeader) {
    header.insert(header.end(), chunk.begin(), chunk.end());
    return header;
  }
  if (chunk.size() < header.size() || !std::equal(header.begin(), header.end(), chunk.begin())) {
    return std::nullopt;
  }
  const ByteSpan rest = chunk.subspan(header.size());
  return ByteVector(rest.begin(), rest.end());
}

}  // namespace unshard
