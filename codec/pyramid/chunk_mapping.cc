#include "codec/pyramid/chunk_mapping.h"

#include <algorithm>
#include <utility>

#include "codec/codecs/n5_block.h"
#include "codec/pyramid/missing_values.h"
#include "codec/pyramid/passed_chunks.h"

namespace unshard {
namespace {

BlockForm InverseOf(BlockForm form) {
  if (form == BlockForm::kAddHeader) return BlockForm::kStripHeader;
  return form == BlockForm::kStripHeader ? BlockForm::kAddHeader : form;
}

// Whether two axes of one extent have the same cells.
bool DivideAlike(const GridAxis& a, const GridAxis& b) {
  return a.cells() == b.cells() && (a.cells() <= 1 || a == b);
}

// The same along all axes. What has no axis in `axes` has the extent 1.
bool DivideAlike(const ChunkGrid& from, const ChunkGrid& to, const AxisMap& axes) {
  for (std::size_t axis = 0; axis < axes.size(); ++axis) {
    if (axes[axis] && !DivideAlike(from.axis(*axes[axis]), to.axis(axis))) return false;
  }
  return true;
}

// The cell of `in` with the first voxel of a cell of `of`. `map`: for each axis of `in`, that of
// `of`.
GridCell CellWithFirst(const ChunkGrid& of, const GridCell& cell, const ChunkGrid& in,
                       const AxisMap& map) {
  GridCell found(in.rank(), 0);
  for (std::size_t axis = 0; axis < found.size(); ++axis) {
    if (!map[axis]) continue;
    found[axis] = in.axis(axis).CellAt(of.axis(*map[axis]).Begin(cell[*map[axis]]));
  }
  return found;
}

// Whether a chunk of a view, of the grid `to`, is made of few enough whole stored chunks: of
// several where a precomputed volume has all channels in each chunk, or stored chunks differ in
// shape.
Status CanJoin(const ChunkGrid& from, const ChunkGrid& to, const AxisMap& axes) {
  std::uint64_t parts = 1;
  for (std::size_t axis = 0; axis < axes.size(); ++axis) {
    if (!axes[axis]) continue;
    const GridAxis& stored = from.axis(*axes[axis]);
    if (DivideAlike(stored, to.axis(axis))) continue;
    const std::uint64_t extent = to.chunk_shape()[axis];
    if (!stored.DividesRegular(extent)) {
      return Fail(ErrorCode::kNotSupported, "axis ", axis,
                  ": the source and the view divide it into different chunks");
    }
    const std::uint64_t most = stored.MostCellsIn(extent);
    if (most <= kMostStoredChunks / parts) {
      parts *= std::max<std::uint64_t>(most, 1);
      continue;
    }
    return Fail(ErrorCode::kNotSupported, "axis ", axis, ", of extent ", stored.extent(),
                ": each chunk of the view would consist of more than ", kMostStoredChunks,
                " stored chunks; copy the dataset into regular chunks");
  }
  return {};
}

// The chunk of `to`, of this shape, with the coded data of one of `from`. Nothing where that is
// damaged or of another form, which decoding it will name.
std::optional<ByteVector> Repacked(const Array& from, const Array& to, ByteSpan chunk,
                                   ShapeSpan shape) {
  if (!from.codec->Check(chunk, chunk.size(), shape)) return std::nullopt;
  auto made = RepackingOf(from, to)(chunk, shape);
  if (made && !to.codec->Check(*made, made->size(), shape)) return std::nullopt;
  return made;
}

}  // namespace

// Chunks of one extent in the array differ only in how far they reach beyond it, which the first
// and the last one show.
bool HasSameChunks(const Array& from, const Array& to, const AxisMap& axes) {
  const auto from_grid = GridOf(from);
  const auto to_grid = GridOf(to);
  if (!from_grid || !to_grid || !DivideAlike(*from_grid, *to_grid, axes)) return false;
  const AxisMap inverse = InverseMap(axes, from.rank());
  const auto have_one_shape = [&](const GridCell& from_cell, const GridCell& to_cell) {
    const Shape from_shape = ChunkShapeAt(from, *from_grid, from_cell);
    const Shape to_shape = ChunkShapeAt(to, *to_grid, to_cell);
    return MapList<std::uint64_t>(axes, from_shape, 1) == to_shape &&
           MapList<std::uint64_t>(inverse, to_shape, 1) == from_shape;
  };
  if (to_grid->cell_count() == 0) return true;
  GridCell last = to_grid->grid_shape();
  for (std::uint64_t& index : last) --index;
  return have_one_shape(GridCell(from.rank(), 0), GridCell(to.rank(), 0)) &&
         have_one_shape(MapList<std::uint64_t>(inverse, last, 0), last);
}

Result<ChunkMapping::SidePtr> ChunkMapping::Side::Make(Array metadata) {
  UNSHARD_ASSIGN_OR_RETURN(ChunkGrid grid, GridOf(metadata));
  ByteVector fill = FillValueOf(metadata);
  return std::make_shared<const Side>(Side{std::move(metadata), std::move(grid), std::move(fill)});
}

ChunkMapping::ChunkMapping(SidePtr from, SidePtr to, AxisMap axes, BlockForm form)
    : from_(std::move(from)),
      to_(std::move(to)),
      axes_(std::move(axes)),
      inverse_(InverseMap(axes_, from_->metadata.rank())),
      form_(form),
      same_grid_(DivideAlike(from_->grid, to_->grid, axes_)),
      writes_absent_(!AbsentReadsAlike(from_->metadata, to_->metadata)) {}

Result<ChunkMapping> ChunkMapping::Make(Array from, Array to, AxisMap axes, BlockForm form) {
  UNSHARD_ASSIGN_OR_RETURN(SidePtr from_side, Side::Make(std::move(from)));
  UNSHARD_ASSIGN_OR_RETURN(SidePtr to_side, Side::Make(std::move(to)));
  return ChunkMapping(std::move(from_side), std::move(to_side), std::move(axes), form);
}

Result<ChunkMapping> ChunkMapping::ForCopy(Array from, Array to, AxisMap axes) {
  if (OnlyPasses(from) || OnlyPasses(to)) {
    UNSHARD_RETURN_IF_ERROR(CanPassChunks(from, to, axes));
    UNSHARD_ASSIGN_OR_RETURN(ChunkMapping passing, Make(std::move(from), std::move(to),
                                                        std::move(axes), BlockForm::kCopy));
    passing.writes_absent_ = false;
    return passing;
  }
  const BlockForm form = FormOfCopy(from, to, axes);
  UNSHARD_ASSIGN_OR_RETURN(ChunkMapping mapping,
                           Make(std::move(from), std::move(to), std::move(axes), form));
  UNSHARD_RETURN_IF_ERROR(mapping.CanEncode());
  return mapping;
}

Result<ChunkMapping> ChunkMapping::ForView(PresentedArray array) {
  const BlockForm form = FormOfView(array.stored, array.presented, array.axes);
  UNSHARD_ASSIGN_OR_RETURN(
      ChunkMapping mapping,
      Make(std::move(array.stored), std::move(array.presented), std::move(array.axes), form));
  UNSHARD_RETURN_IF_ERROR(CanJoin(mapping.from_grid(), mapping.to_grid(), mapping.axes()));
  UNSHARD_RETURN_IF_ERROR(mapping.CanEncode());
  for (const Array* const each : {&mapping.from(), &mapping.to()}) {
    UNSHARD_RETURN_IF_ERROR(VoxelBytes(each->data_type, each->chunk_shape));
  }
  return mapping;
}

ChunkMapping ChunkMapping::Inverse() const { return {to_, from_, inverse_, InverseOf(form_)}; }

Status ChunkMapping::CanEncode() const {
  const bool encodes = form_ == BlockForm::kTranscode || form_ == BlockForm::kRepack ||
                       form_ == BlockForm::kStripHeader || writes_absent_;
  if (!encodes) return {};
  UNSHARD_RETURN_IF_ERROR(from().codec->CanDecode());
  return to().codec->CanEncode();
}

std::uint64_t ChunkMapping::voxel_bytes() const {
  return std::max(VoxelBytes(from().data_type, from().chunk_shape).value_or(0),
                  VoxelBytes(to().data_type, to().chunk_shape).value_or(0));
}

// --- Cells

GridCell ChunkMapping::FirstSourceCell(const GridCell& to_cell) const {
  return CellWithFirst(to_grid(), to_cell, from_grid(), inverse_);
}

GridCell ChunkMapping::TargetCell(const GridCell& from_cell) const {
  return CellWithFirst(from_grid(), from_cell, to_grid(), axes_);
}

std::vector<GridCell> ChunkMapping::SourceCells(const GridCell& to_cell) const {
  const GridCell first = FirstSourceCell(to_cell);
  GridCell last = first;
  for (std::size_t axis = 0; axis < last.size(); ++axis) {
    if (!inverse_[axis]) continue;
    const std::uint64_t end = to_grid().axis(*inverse_[axis]).End(to_cell[*inverse_[axis]]);
    last[axis] = from_grid().axis(axis).CellAt(end - 1);
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

// --- Voxels

Result<Voxels> ChunkMapping::Decode(ByteSpan chunk, const GridCell& from_cell) const {
  return from().codec->Decode(chunk, from_->ShapeAt(from_cell));
}

Result<Voxels> ChunkMapping::Blank(const GridCell& to_cell) const {
  const Shape shape = to_->ShapeAt(to_cell);
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
    const GridAxis& of_from = from_grid().axis(*source);
    const GridAxis& of_to = to_grid().axis(axis);
    const std::uint64_t from_begin = of_from.Begin(from_cell[*source]);
    const std::uint64_t to_begin = of_to.Begin(to_cell[axis]);
    const std::uint64_t begin = std::max(from_begin, to_begin);
    const std::uint64_t end = std::min(of_from.End(from_cell[*source]), of_to.End(to_cell[axis]));
    if (begin >= end) return;
    box.from[*source] = begin - from_begin;
    box.to[axis] = begin - to_begin;
    box.extent[axis] = end - begin;
  }
  CopyBox(from, axes_, box, to);
}

Result<Voxels> ChunkMapping::Map(Voxels from, const GridCell& from_cell,
                                 const GridCell& to_cell) const {
  const Shape shape = to_->ShapeAt(to_cell);
  const bool same_bytes = KeepsOrder(axes_) && same_grid_ &&
                          MapList<std::uint64_t>(axes_, from.shape(), 1) == shape &&
                          MapList<std::uint64_t>(inverse_, shape, 1) == from.shape() &&
                          to_grid().ClippedShape(to_cell) == shape;
  if (same_bytes) return Voxels::Make(to().data_type, shape, std::move(from).TakeBytes());
  UNSHARD_ASSIGN_OR_RETURN(Voxels to, Blank(to_cell));
  Paste(from, from_cell, to, to_cell);
  return to;
}

bool ChunkMapping::IsFill(const Voxels& voxels) const {
  if (!DefinesAbsent(to())) return false;
  const ByteSpan bytes = voxels.bytes();
  const ByteVector& fill = to_->fill;
  const bool begins =
      bytes.size() >= fill.size() && std::equal(fill.begin(), fill.end(), bytes.begin());
  // Then each item is the fill value if it is the one before it.
  return bytes.empty() ||
         (begins && std::equal(bytes.begin() + static_cast<std::ptrdiff_t>(fill.size()),
                               bytes.end(), bytes.begin()));
}

Result<Voxels> ChunkMapping::DecodeTarget(ByteSpan chunk, const GridCell& to_cell) const {
  UNSHARD_ASSIGN_OR_RETURN(Voxels voxels, to().codec->Decode(chunk, to_->ShapeAt(to_cell)));
  const Shape within = to_grid().ClippedShape(to_cell);
  if (within == voxels.shape()) return voxels;
  UNSHARD_ASSIGN_OR_RETURN(Voxels clipped,
                           Voxels::Filled(voxels.type(), voxels.shape(), to_->fill));
  const GridCell begin(within.size(), 0);
  CopyBox(voxels, SameAxes(within.size()), {begin, begin, within}, clipped);
  return clipped;
}

// --- Chunks of `to`

Status ChunkMapping::Check(ByteSpan chunk, const GridCell& from_cell) const {
  if (OnlyPasses(from())) return {};
  const CodecChain& codec = *from().codec;
  if (codec.EncodedSize(from_->ShapeAt(from_cell)) == chunk.size()) {
    // Raw items of the right size can be decoded.
    const auto plain = PlainItemsOf(codec);
    if (plain && plain->compression.empty()) return {};
  }
  if (!codec.CanDecode()) return {};
  UNSHARD_RETURN_IF_ERROR(Decode(chunk, from_cell));
  return {};
}

// Of the extents in the order of the axes of the N5 array.
ByteVector ChunkMapping::HeaderOf(const GridCell& to_cell) const {
  if (form_ == BlockForm::kStripHeader) {
    return MakeN5BlockHeader(MapList<std::uint64_t>(inverse_, to_->ShapeAt(to_cell), 1));
  }
  const Shape from_shape = from_->ShapeAt(FirstSourceCell(to_cell));
  return MakeN5BlockHeader(MapList<std::uint64_t>(axes_, from_shape, 1));
}

std::optional<ByteVector> ChunkMapping::FromBytes(ByteSpan chunk, const GridCell& to_cell) const {
  if (form_ == BlockForm::kTranscode) return std::nullopt;
  if (form_ == BlockForm::kCopy) return ByteVector(chunk.begin(), chunk.end());
  if (form_ == BlockForm::kRepack) return Repacked(from(), to(), chunk, to_->ShapeAt(to_cell));
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

Result<ByteVector> ChunkMapping::FromChunks(const PartReader& read, const GridCell& to_cell) const {
  const std::vector<GridCell> cells = SourceCells(to_cell);
  std::optional<Voxels> made;
  for (std::size_t part = 0; part < cells.size(); ++part) {
    UNSHARD_ASSIGN_OR_RETURN(const std::optional<Bytes> stored, read(part));
    if (!stored) continue;
    UNSHARD_ASSIGN_OR_RETURN(Voxels decoded, Decode(stored->span(), cells[part]));
    if (made) {
      Paste(decoded, cells[part], *made, to_cell);
    } else {
      UNSHARD_ASSIGN_OR_RETURN(made, Map(std::move(decoded), cells[part], to_cell));
    }
  }
  if (!made) {
    UNSHARD_ASSIGN_OR_RETURN(made, Blank(to_cell));
  }
  return to().codec->Encode(*std::move(made));
}

Result<ByteVector> ChunkMapping::FromChunk(const std::optional<Bytes>& chunk,
                                           const GridCell& to_cell) const {
  if (auto made = chunk ? FromBytes(chunk->span(), to_cell) : std::nullopt) return *std::move(made);
  return FromChunks([&](std::size_t /*part*/) { return chunk; }, to_cell);
}

// --- Writing into a view

Status ChunkMapping::CanHold(const Voxels& written) const {
  if (from().data_type.kind != DataType::Kind::kBool) return {};
  const ByteSpan bytes = written.bytes();
  const auto other =
      std::find_if(bytes.begin(), bytes.end(), [](std::uint8_t value) { return value > 1; });
  if (other == bytes.end()) return {};
  return Fail(ErrorCode::kInvalidArgument, "an array of bool: expected voxels of 0 and 1, found ",
              *other);
}

Result<std::vector<ByteVector>> ChunkMapping::EncodeSources(const Voxels* voxels,
                                                            const GridCell& to_cell) const {
  const ChunkMapping inverse = Inverse();
  std::vector<ByteVector> encoded;
  for (const GridCell& cell : SourceCells(to_cell)) {
    UNSHARD_ASSIGN_OR_RETURN(Voxels made, inverse.Blank(cell));
    if (voxels != nullptr) inverse.Paste(*voxels, to_cell, made, cell);
    UNSHARD_ASSIGN_OR_RETURN(encoded.emplace_back(), from().codec->Encode(std::move(made)));
  }
  return encoded;
}

Result<std::vector<ByteVector>> ChunkMapping::Restore(ByteSpan written,
                                                      const GridCell& to_cell) const {
  // Damaged bytes must not be stored.
  auto voxels = to().codec->Decode(written, to_->ShapeAt(to_cell));
  if (!voxels) {
    Error error = std::move(voxels).error();
    if (error.code == ErrorCode::kDataLoss) error.code = ErrorCode::kInvalidArgument;
    return tl::unexpected<Error>(std::move(error));
  }
  UNSHARD_RETURN_IF_ERROR(CanHold(*voxels));
  auto bytes = Inverse().FromBytes(written, FirstSourceCell(to_cell));
  if (!bytes) return EncodeSources(&*voxels, to_cell);
  std::vector<ByteVector> one;
  one.push_back(*std::move(bytes));
  return one;
}

Result<std::vector<ByteVector>> ChunkMapping::RestoreRemoved(const GridCell& to_cell) const {
  return EncodeSources(nullptr, to_cell);
}

Status ChunkMapping::CanRestore() const {
  UNSHARD_RETURN_IF_ERROR(to().codec->CanDecode());
  return form_ == BlockForm::kCopy ? Status() : from().codec->CanEncode();
}

bool ChunkMapping::is_lossy() const {
  return form_ == BlockForm::kTranscode && from().codec->is_lossy();
}

}  // namespace unshard
