#include "codec/pyramid/array_copy.h"

#include <algorithm>
#include <utility>

#include "codec/chain/transpose.h"
#include "codec/codecs/n5_block.h"
#include "codec/core/lower_case.h"
#include "codec/core/text.h"
#include "codec/json/meaning.h"
#include "codec/pyramid/missing_values.h"

namespace unshard {
namespace {

bool SameTypes(const DataType& from, const DataType& to) {
  if (from == to) return true;
  return from.kind == DataType::Kind::kBool && to.kind == DataType::Kind::kUnsigned && to.size == 1;
}

std::vector<std::string> NamesOf(std::span<const PyramidAxis> axes) {
  std::vector<std::string> names;
  for (const PyramidAxis& axis : axes) names.push_back(LowerCase(axis.name));
  return names;
}

// Empty unless every axis has one.
std::vector<std::string> NamesOf(const ArrayMetadata& array) {
  std::vector<std::string> names;
  for (const auto& name : array.axis_names) {
    if (!name || name->empty()) return {};
    names.push_back(LowerCase(*name));
  }
  return names.size() == array.rank() ? names : std::vector<std::string>();
}

bool AreDistinct(std::vector<std::string> names) {
  std::sort(names.begin(), names.end());
  return !names.empty() && !names.front().empty() &&
         std::adjacent_find(names.begin(), names.end()) == names.end();
}

// Nothing unless both have the same names, each once.
std::optional<AxisMap> MapByName(const std::vector<std::string>& from,
                                 const std::vector<std::string>& to) {
  if (from.size() != to.size() || !AreDistinct(from)) return std::nullopt;
  AxisMap map;
  for (const std::string& name : to) {
    const auto found = std::find(from.begin(), from.end(), name);
    if (found == from.end()) return std::nullopt;
    map.emplace_back(static_cast<std::size_t>(found - from.begin()));
  }
  return map;
}

// Axis by axis in order, where axes of extent 1 are added and dropped.
std::optional<AxisMap> MapInOrder(const std::vector<std::uint64_t>& from,
                                  const std::vector<std::uint64_t>& to) {
  AxisMap map;
  std::size_t next = 0;
  for (const std::uint64_t extent : to) {
    while (next < from.size() && from[next] == 1 && extent != 1) ++next;
    if (next < from.size() && from[next] == extent) {
      map.emplace_back(next++);
    } else if (extent == 1) {
      map.emplace_back();
    } else {
      return std::nullopt;
    }
  }
  while (next < from.size() && from[next] == 1) ++next;
  return next == from.size() ? std::optional(std::move(map)) : std::nullopt;
}

// Whether `map` leads from every extent of `from` but 1 to the same one of `to`.
bool Fits(const AxisMap& map, const std::vector<std::uint64_t>& from,
          const std::vector<std::uint64_t>& to) {
  if (map.size() != to.size()) return false;
  std::vector<bool> used(from.size(), false);
  for (std::size_t axis = 0; axis < map.size(); ++axis) {
    if (to[axis] != (map[axis] ? from[*map[axis]] : 1)) return false;
    if (map[axis]) used[*map[axis]] = true;
  }
  for (std::size_t axis = 0; axis < from.size(); ++axis) {
    if (!used[axis] && from[axis] != 1) return false;
  }
  return true;
}

tl::unexpected<Error> ShapesDiffer(const ArrayMetadata& from, const ArrayMetadata& to,
                                   const std::vector<std::uint64_t>& expected) {
  std::string message = "expected the shape " + ShapeText(expected) + " of the source (" +
                        std::string(DialectName(from.dialect)) + "), slowest axis first, found " +
                        ShapeText(to.shape) + " (" + std::string(DialectName(to.dialect)) + ")";
  for (std::size_t axis = 0; expected.size() == to.rank() && axis < to.rank(); ++axis) {
    if (expected[axis] == to.shape[axis]) continue;
    const bool named = axis < to.axis_names.size() && to.axis_names[axis];
    message += ": axis " + (named ? *to.axis_names[axis] : std::to_string(axis)) + " has " +
               std::to_string(to.shape[axis]) + " voxels instead of " +
               std::to_string(expected[axis]);
    break;
  }
  return Fail(ErrorCode::kInvalidArgument, message);
}

// Whether each of the `rank` axes of the one array is the same axis of the other.
bool KeepsAxes(const AxisMap& map, std::size_t rank) {
  if (map.size() != rank) return false;
  for (std::size_t axis = 0; axis < rank; ++axis) {
    if (map[axis] != axis) return false;
  }
  return true;
}

}  // namespace

Result<AxisMap> MatchArrays(const ArrayMetadata& from, std::span<const PyramidAxis> from_axes,
                            const ArrayMetadata& to) {
  if (!SameTypes(from.data_type, to.data_type)) {
    return Fail(ErrorCode::kInvalidArgument, "expected the data type ",
                DataTypeName(from.data_type), " of the source, found ", DataTypeName(to.data_type));
  }
  if (auto map = MapByName(NamesOf(from_axes), NamesOf(to))) {
    if (Fits(*map, from.shape, to.shape)) return *std::move(map);
    return ShapesDiffer(from, to, MapList<std::uint64_t>(*map, from.shape, 1));
  }
  auto ruled = MapAxes(from_axes, from.shape, from.dialect, to.dialect);
  if (ruled && Fits(*ruled, from.shape, to.shape)) return ruled;
  if (auto map = MapInOrder(from.shape, to.shape)) return *std::move(map);
  if (!ruled) {
    return Fail(ErrorCode::kInvalidArgument, std::move(ruled).error().message);
  }
  return ShapesDiffer(from, to, MapList<std::uint64_t>(*ruled, from.shape, 1));
}

Result<ArrayCopy> ArrayCopy::Make(ArrayMetadata from, ArrayMetadata to, AxisMap axes) {
  ArrayCopy copy(std::move(from), std::move(to), std::move(axes));
  UNSHARD_ASSIGN_OR_RETURN(copy.from_grid_, GridOf(copy.from_));
  UNSHARD_ASSIGN_OR_RETURN(copy.to_grid_, GridOf(copy.to_));
  copy.from_fill_ = FillValueOf(copy.from_);
  copy.to_fill_ = FillValueOf(copy.to_);
  copy.writes_absent_ = !AbsentReadsAlike(copy.from_, copy.to_);
  copy.same_grid_ = copy.HasSameGrid();
  copy.form_ = copy.FormOfChunks();
  const bool encodes = copy.form_ == BlockForm::kTranscode ||
                       copy.form_ == BlockForm::kStripHeader || copy.writes_absent_;
  if (encodes) {
    UNSHARD_RETURN_IF_ERROR(copy.from_.codec->CanDecode());
    UNSHARD_RETURN_IF_ERROR(copy.to_.codec->CanEncode());
  }
  return copy;
}

bool ArrayCopy::HasSameGrid() const {
  std::vector<bool> used(from_.rank(), false);
  for (std::size_t axis = 0; axis < axes_.size(); ++axis) {
    const auto source = axes_[axis];
    if (source) used[*source] = true;
    if (to_.chunk_shape[axis] != (source ? from_.chunk_shape[*source] : 1)) return false;
  }
  for (std::size_t axis = 0; axis < from_.rank(); ++axis) {
    if (!used[axis] && from_.chunk_shape[axis] != 1) return false;
  }
  return true;
}

// Whether the bytes of the voxels are the same in both, but for the header of an N5 block.
bool ArrayCopy::HasSameItems() const {
  ChunkEncoding from = from_.codec->encoding();
  ChunkEncoding to = to_.codec->encoding();
  from.n5_header = to.n5_header = false;
  if (IsIdentity(from.order)) from.order.clear();
  if (IsIdentity(to.order)) to.order.clear();
  if (!SameFormat(from, to)) return false;
  const bool same_axes = KeepsAxes(axes_, from_.rank());
  if (!from.order.empty() && !same_axes) return false;
  if (from.items == "raw") return KeepsOrder(axes_);
  // Images describe themselves. How labels are encoded, and what filters do, only the metadata say.
  if (from_.dialect != to_.dialect || !same_axes) return false;
  const bool says_itself = from.items == "jpeg" || from.items == "png" || from.items == "jxl";
  return says_itself || SameMeaning(from_.codec_json, to_.codec_json);
}

BlockForm ArrayCopy::FormOfChunks() const {
  const bool same_edges = ClipsChunks(from_.dialect) == ClipsChunks(to_.dialect) || IsEven(from_);
  if (!same_grid_ || !same_edges || !HasSameItems()) return BlockForm::kTranscode;
  const bool from_header = from_.codec->encoding().n5_header;
  if (from_header == to_.codec->encoding().n5_header) {
    // The header of an N5 block lists the extents in the order of the axes.
    const bool same_axes = KeepsAxes(axes_, from_.rank());
    return from_header && !same_axes ? BlockForm::kTranscode : BlockForm::kCopy;
  }
  return from_header ? BlockForm::kStripHeader : BlockForm::kAddHeader;
}

std::vector<GridCell> ArrayCopy::SourceCells(const GridCell& to_cell) const {
  GridCell first(from_.rank(), 0);
  GridCell last(from_.rank(), 0);
  for (std::size_t axis = 0; axis < axes_.size(); ++axis) {
    if (!axes_[axis]) continue;
    const std::uint64_t begin = to_cell[axis] * to_.chunk_shape[axis];
    const std::uint64_t end = std::min(begin + to_.chunk_shape[axis], to_.shape[axis]);
    first[*axes_[axis]] = begin / from_.chunk_shape[*axes_[axis]];
    last[*axes_[axis]] = (end - 1) / from_.chunk_shape[*axes_[axis]];
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

Status ArrayCopy::Check(ByteSpan chunk, const GridCell& from_cell) const {
  const auto shape = ChunkShapeAt(from_, from_grid_, from_cell);
  if (from_.codec->EncodedSize(shape) == chunk.size()) {
    // Raw items of the right size can be decoded.
    const ChunkEncoding& encoding = from_.codec->encoding();
    if (encoding.items == "raw" && encoding.steps.empty() && !encoding.n5_header) return {};
  }
  if (!from_.codec->CanDecode()) return {};
  UNSHARD_RETURN_IF_ERROR(from_.codec->Decode(chunk, shape));
  return {};
}

Result<Voxels> ArrayCopy::Decode(ByteSpan chunk, const GridCell& from_cell) const {
  return from_.codec->Decode(chunk, ChunkShapeAt(from_, from_grid_, from_cell));
}

std::optional<ByteVector> ArrayCopy::ChangeHeader(ByteSpan chunk, const GridCell& to_cell) const {
  const auto shape = ChunkShapeAt(to_, to_grid_, to_cell);
  if (form_ == BlockForm::kAddHeader) {
    ByteVector changed = MakeN5BlockHeader(shape);
    changed.insert(changed.end(), chunk.begin(), chunk.end());
    return changed;
  }
  const AxisMap inverse = InverseMap(axes_, from_.rank());
  const ByteVector header = MakeN5BlockHeader(MapList<std::uint64_t>(inverse, shape, 1));
  if (chunk.size() < header.size() || !std::equal(header.begin(), header.end(), chunk.begin())) {
    return std::nullopt;
  }
  const auto rest = chunk.subspan(header.size());
  return ByteVector(rest.begin(), rest.end());
}

Result<Voxels> ArrayCopy::Blank(const GridCell& to_cell) const {
  UNSHARD_ASSIGN_OR_RETURN(
      Voxels blank, Voxels::Filled(to_.data_type, ChunkShapeAt(to_, to_grid_, to_cell), to_fill_));
  if (!writes_absent_) return blank;
  // What lies beyond the array has the fill value of `to`, what is absent in `from` that of `from`.
  VoxelBox box{{}, std::vector<std::uint64_t>(to_.rank(), 0), {}};
  for (std::size_t axis = 0; axis < to_.rank(); ++axis) {
    const CellExtent extent = to_grid_.Extent(to_cell, axis);
    box.extent.push_back(static_cast<std::uint64_t>(extent.end - extent.begin));
  }
  UNSHARD_ASSIGN_OR_RETURN(const Voxels one, Voxels::Make(to_.data_type, {}, from_fill_));
  CopyBox(one, AxisMap(to_.rank()), box, blank);
  return blank;
}

void ArrayCopy::Paste(const Voxels& from, const GridCell& from_cell, Voxels& to,
                      const GridCell& to_cell) const {
  VoxelBox box{GridCell(from_.rank(), 0), GridCell(to_.rank(), 0), GridCell(to_.rank(), 1)};
  for (std::size_t axis = 0; axis < axes_.size(); ++axis) {
    const auto source = axes_[axis];
    if (!source) continue;
    const std::uint64_t from_begin = from_cell[*source] * from_.chunk_shape[*source];
    const std::uint64_t to_begin = to_cell[axis] * to_.chunk_shape[axis];
    const std::uint64_t begin = std::max(from_begin, to_begin);
    const std::uint64_t end = std::min(
        {from_begin + from.shape()[*source], to_begin + to.shape()[axis], to_.shape[axis]});
    if (begin >= end) return;
    box.from[*source] = begin - from_begin;
    box.to[axis] = begin - to_begin;
    box.extent[axis] = end - begin;
  }
  CopyBox(from, axes_, box, to);
}

bool ArrayCopy::IsFill(const Voxels& voxels) const {
  if (!DefinesAbsent(to_)) return false;
  const ByteSpan bytes = voxels.bytes();
  const auto item = static_cast<std::ptrdiff_t>(to_fill_.size());
  const bool begins = bytes.size() >= to_fill_.size() &&
                      std::equal(to_fill_.begin(), to_fill_.end(), bytes.begin());
  // Then each item is the fill value if it is the one before it.
  return bytes.empty() || (begins && std::equal(bytes.begin() + item, bytes.end(), bytes.begin()));
}

Result<Voxels> ArrayCopy::DecodeCopied(ByteSpan chunk, const GridCell& to_cell) const {
  UNSHARD_ASSIGN_OR_RETURN(Voxels voxels,
                           to_.codec->Decode(chunk, ChunkShapeAt(to_, to_grid_, to_cell)));
  const GridCell begin(to_.rank(), 0);
  VoxelBox box{begin, begin, {}};
  AxisMap same(to_.rank());
  for (std::size_t axis = 0; axis < to_.rank(); ++axis) {
    const CellExtent extent = to_grid_.Extent(to_cell, axis);
    box.extent.push_back(static_cast<std::uint64_t>(extent.end - extent.begin));
    same[axis] = axis;
  }
  if (box.extent == voxels.shape()) return voxels;
  UNSHARD_ASSIGN_OR_RETURN(Voxels within, Voxels::Filled(voxels.type(), voxels.shape(), to_fill_));
  CopyBox(voxels, same, box, within);
  return within;
}

Result<std::optional<ByteVector>> ArrayCopy::Encode(Voxels voxels) const {
  if (IsFill(voxels)) return std::nullopt;
  UNSHARD_ASSIGN_OR_RETURN(ByteVector encoded, to_.codec->Encode(std::move(voxels)));
  return std::optional<ByteVector>(std::move(encoded));
}

}  // namespace unshard
