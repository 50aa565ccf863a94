#include "codec/pyramid/chunk_conversion.h"

#include <algorithm>
#include <string>
#include <utility>

#include "codec/codecs/n5_block.h"
#include "codec/pyramid/missing_values.h"

namespace unshard {
namespace {

constexpr std::size_t kChannels = 0;  // the first axis of a precomputed volume
// The most stored chunks of a presented one, which are looked up together.
constexpr std::uint64_t kMostParts = 1024;

// The number of stored chunks into which the channels of a presented chunk are divided. Fails where
// these are too many.
Result<std::uint64_t> PartsOf(const PresentedArray& array) {
  if (array.presented.dialect != ArrayDialect::kPrecomputed) return 1;  // may have no axis at all
  const auto& axis = array.axes[kChannels];
  if (!axis) return 1;
  const std::uint64_t channels = array.stored.shape[*axis];
  const std::uint64_t together = array.stored.chunk_shape[*axis];
  if (channels <= together || array.presented.chunk_shape[kChannels] != channels) return 1;
  const std::uint64_t parts = (channels - 1) / together + 1;
  if (parts <= kMostParts) return parts;
  return Fail(ErrorCode::kNotSupported, channels, " channels in chunks of ", together,
              ": each chunk of the view would consist of more than ", kMostParts, " stored chunks");
}

std::vector<ByteVector> One(ByteVector bytes) {
  std::vector<ByteVector> one;
  one.push_back(std::move(bytes));
  return one;
}

// Whether the chunks of both lie on one grid along an axis of `presented`. Where one chunk has the
// whole axis it does not matter how far it reaches beyond it: that is cut off, or padded.
bool IsAligned(const PresentedArray& array, std::size_t axis) {
  const auto& [stored, presented, axes, form] = array;
  const std::uint64_t extent = presented.shape[axis];
  if (!axes[axis]) return extent == 1;
  return stored.shape[*axes[axis]] == extent &&
         std::min(presented.chunk_shape[axis], extent) ==
             std::min(stored.chunk_shape[*axes[axis]], extent);
}

}  // namespace

Result<ChunkConversion> ChunkConversion::Make(PresentedArray array) {
  UNSHARD_ASSIGN_OR_RETURN(ChunkGrid stored_grid, GridOf(array.stored));
  UNSHARD_ASSIGN_OR_RETURN(ChunkGrid presented_grid, GridOf(array.presented));
  ChunkConversion made(std::move(array), std::move(stored_grid), std::move(presented_grid));
  const auto& [stored, presented, axes, form] = made.array_;
  UNSHARD_ASSIGN_OR_RETURN(made.parts_, PartsOf(made.array_));
  for (std::size_t axis = 0; axis < axes.size(); ++axis) {
    if (made.joins() && axis == kChannels) continue;
    if (!IsAligned(made.array_, axis)) {
      return Fail(ErrorCode::kNotSupported, "axis ", axis,
                  ": the source and the view divide it into different chunks");
    }
  }
  made.inverse_ = InverseMap(axes, stored.rank());
  made.fill_ = FillValueOf(stored);
  made.presents_absent_ = !AbsentReadsAlike(stored, presented);
  if (form == BlockForm::kTranscode || form == BlockForm::kStripHeader || made.presents_absent_) {
    UNSHARD_RETURN_IF_ERROR(stored.codec->CanDecode());
    UNSHARD_RETURN_IF_ERROR(presented.codec->CanEncode());
  }
  const ArrayMetadata& larger = made.joins() ? presented : stored;
  UNSHARD_ASSIGN_OR_RETURN(made.voxel_bytes_, VoxelBytes(larger.data_type, larger.chunk_shape));
  return made;
}

GridCell ChunkConversion::StoredCell(const GridCell& cell) const {
  return MapList<std::uint64_t>(inverse_, cell, 0);
}

GridCell ChunkConversion::PresentedCell(const GridCell& stored) const {
  GridCell presented = MapList<std::uint64_t>(array_.axes, stored, 0);
  if (joins()) presented[kChannels] = 0;
  return presented;
}

std::vector<GridCell> ChunkConversion::StoredCells(const GridCell& cell) const {
  std::vector<GridCell> cells(parts_, StoredCell(cell));
  if (!joins()) return cells;
  for (std::uint64_t part = 0; part < parts_; ++part) cells[part][*array_.axes[kChannels]] = part;
  return cells;
}

std::vector<std::uint64_t> ChunkConversion::BeginOf(const GridCell& stored_cell) const {
  std::vector<std::uint64_t> place(array_.axes.size(), 0);
  if (!joins()) return place;
  const std::size_t channels = *array_.axes[kChannels];
  place[kChannels] = stored_cell[channels] * array_.stored.chunk_shape[channels];
  return place;
}

std::optional<std::uint64_t> ChunkConversion::SizeOf(const GridCell& cell) const {
  if (form() != BlockForm::kTranscode && form() != BlockForm::kStripHeader) return std::nullopt;
  return array_.presented.codec->EncodedSize(ChunkShapeAt(array_.presented, presented_grid_, cell));
}

ByteVector ChunkConversion::HeaderOf(const GridCell& cell) const {
  const auto none = std::uint64_t{1};
  if (form() == BlockForm::kStripHeader) {
    const auto shape = ChunkShapeAt(array_.presented, presented_grid_, cell);
    return MakeN5BlockHeader(MapList(inverse_, shape, none));
  }
  const auto shape = ChunkShapeAt(array_.stored, stored_grid_, StoredCell(cell));
  return MakeN5BlockHeader(MapList(array_.axes, shape, none));
}

Result<ByteVector> ChunkConversion::Convert(ByteSpan stored, const GridCell& cell) const {
  const auto shape = ChunkShapeAt(array_.stored, stored_grid_, StoredCell(cell));
  UNSHARD_ASSIGN_OR_RETURN(const Voxels voxels, array_.stored.codec->Decode(stored, shape));
  return Encode(voxels, cell);
}

Result<ByteVector> ChunkConversion::Present(ByteSpan stored, const GridCell& cell) const {
  ByteVector presented;
  switch (form()) {
    case BlockForm::kCopy:
      return ByteVector(stored.begin(), stored.end());
    case BlockForm::kAddHeader:
      presented = HeaderOf(cell);
      presented.insert(presented.end(), stored.begin(), stored.end());
      return presented;
    case BlockForm::kStripHeader: {
      const ByteVector header = HeaderOf(cell);
      if (stored.size() < header.size()) break;
      const auto rest = stored.begin() + static_cast<std::ptrdiff_t>(header.size());
      if (std::equal(header.begin(), header.end(), stored.begin()))
        return ByteVector(rest, stored.end());
      break;
    }
    case BlockForm::kTranscode:
      break;
  }
  return Convert(stored, cell);
}

Result<ByteVector> ChunkConversion::Join(const PartReader& read, const GridCell& cell) const {
  const auto none = std::vector<std::uint64_t>(array_.stored.rank(), 0);
  const auto shape = ChunkShapeAt(array_.presented, presented_grid_, cell);
  UNSHARD_ASSIGN_OR_RETURN(Voxels presented,
                           Voxels::Filled(array_.presented.data_type, shape, fill_));
  const std::vector<GridCell> cells = StoredCells(cell);
  for (std::size_t part = 0; part < cells.size(); ++part) {
    UNSHARD_ASSIGN_OR_RETURN(const std::optional<Bytes> stored, read(part));
    if (!stored) continue;
    const auto part_shape = ChunkShapeAt(array_.stored, stored_grid_, cells[part]);
    UNSHARD_ASSIGN_OR_RETURN(const Voxels voxels,
                             array_.stored.codec->Decode(stored->span(), part_shape));
    VoxelBox box{none, BeginOf(cells[part]), {}};
    const auto extents = MapList<std::uint64_t>(array_.axes, voxels.shape(), 1);
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      box.extent.push_back(std::min(extents[axis], shape[axis] - box.to[axis]));
    }
    CopyBox(voxels, array_.axes, box, presented);
  }
  return array_.presented.codec->Encode(std::move(presented));
}

Result<ByteVector> ChunkConversion::Absent(const GridCell& cell) const {
  UNSHARD_ASSIGN_OR_RETURN(
      Voxels presented,
      Voxels::Filled(array_.presented.data_type,
                     ChunkShapeAt(array_.presented, presented_grid_, cell), fill_));
  return array_.presented.codec->Encode(std::move(presented));
}

Result<ByteVector> ChunkConversion::Encode(const Voxels& voxels, const GridCell& cell) const {
  UNSHARD_ASSIGN_OR_RETURN(Voxels presented,
                           Reshape(voxels, array_.axes, array_.presented.data_type,
                                   ChunkShapeAt(array_.presented, presented_grid_, cell), fill_));
  return array_.presented.codec->Encode(std::move(presented));
}

Result<std::vector<ByteVector>> ChunkConversion::EncodeStored(const Voxels& voxels,
                                                              const GridCell& cell) const {
  std::vector<ByteVector> encoded;
  for (const GridCell& part : StoredCells(cell)) {
    const auto shape = ChunkShapeAt(array_.stored, stored_grid_, part);
    UNSHARD_ASSIGN_OR_RETURN(Voxels stored, Voxels::Filled(array_.stored.data_type, shape, fill_));
    VoxelBox box{BeginOf(part), std::vector<std::uint64_t>(shape.size(), 0), {}};
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      const auto from = inverse_[axis];
      const std::uint64_t begin = from ? std::min(box.from[*from], voxels.shape()[*from]) : 0;
      box.extent.push_back(std::min(from ? voxels.shape()[*from] - begin : 1, shape[axis]));
    }
    if (!voxels.bytes().empty()) CopyBox(voxels, inverse_, box, stored);
    UNSHARD_ASSIGN_OR_RETURN(encoded.emplace_back(),
                             array_.stored.codec->Encode(std::move(stored)));
  }
  return encoded;
}

Status ChunkConversion::CanHold(const Voxels& presented) const {
  if (array_.stored.data_type.kind != DataType::Kind::kBool) return {};
  const ByteSpan bytes = presented.bytes();
  const auto other =
      std::find_if(bytes.begin(), bytes.end(), [](std::uint8_t value) { return value > 1; });
  if (other == bytes.end()) return {};
  return Fail(ErrorCode::kInvalidArgument, "an array of bool: expected voxels of 0 and 1, found ",
              *other);
}

Result<std::vector<ByteVector>> ChunkConversion::Restore(ByteSpan presented,
                                                         const GridCell& cell) const {
  const ByteVector header = form() == BlockForm::kAddHeader || form() == BlockForm::kStripHeader
                                ? HeaderOf(cell)
                                : ByteVector();
  // Damaged bytes must not be stored.
  const auto shape = ChunkShapeAt(array_.presented, presented_grid_, cell);
  auto voxels = array_.presented.codec->Decode(presented, shape);
  if (!voxels) {
    Error error = std::move(voxels).error();
    if (error.code == ErrorCode::kDataLoss) error.code = ErrorCode::kInvalidArgument;
    return tl::unexpected<Error>(std::move(error));
  }
  UNSHARD_RETURN_IF_ERROR(CanHold(*voxels));
  if (form() == BlockForm::kCopy) return One(ByteVector(presented.begin(), presented.end()));
  if (form() == BlockForm::kAddHeader && presented.size() > header.size() &&
      std::equal(header.begin(), header.end(), presented.begin())) {
    return One({presented.begin() + static_cast<std::ptrdiff_t>(header.size()), presented.end()});
  }
  if (form() != BlockForm::kStripHeader) return EncodeStored(*voxels, cell);
  ByteVector block = header;
  block.insert(block.end(), presented.begin(), presented.end());
  return One(std::move(block));
}

Result<std::vector<ByteVector>> ChunkConversion::RestoreRemoved(const GridCell& cell) const {
  auto shape = ChunkShapeAt(array_.presented, presented_grid_, cell);
  if (!presents_absent_) std::fill(shape.begin(), shape.end(), 0);
  UNSHARD_ASSIGN_OR_RETURN(
      const Voxels removed,
      Voxels::Filled(array_.presented.data_type, std::move(shape), FillValueOf(array_.presented)));
  return EncodeStored(removed, cell);
}

Status ChunkConversion::CanRestore() const {
  UNSHARD_RETURN_IF_ERROR(array_.presented.codec->CanDecode());
  return form() == BlockForm::kCopy ? Status() : array_.stored.codec->CanEncode();
}

bool ChunkConversion::is_lossy() const {
  return form() == BlockForm::kTranscode && array_.stored.codec->is_lossy();
}

std::optional<std::uint64_t> ChunkConversion::FixedSize(const GridCell& cell) const {
  return array_.presented.codec->EncodedSize(ChunkShapeAt(array_.presented, presented_grid_, cell));
}

}  // namespace unshard
