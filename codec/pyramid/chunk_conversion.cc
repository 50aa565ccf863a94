#include "codec/pyramid/chunk_conversion.h"

#include <algorithm>
#include <utility>

namespace unshard {
namespace {

constexpr std::size_t kChannels = 0;  // the first axis of a precomputed volume
// The most stored chunks of a presented one, which are looked up together.
constexpr std::uint64_t kMostParts = 1024;

std::vector<ByteVector> One(ByteVector bytes) {
  std::vector<ByteVector> one;
  one.push_back(std::move(bytes));
  return one;
}

// Whether the chunks of both lie on one grid along an axis of `to`. Where one chunk has the whole
// axis it does not matter how far it reaches beyond it: that is cut off, or padded.
bool IsAligned(const ChunkMapping& mapping, std::size_t axis) {
  const ArrayMetadata& stored = mapping.from();
  const ArrayMetadata& presented = mapping.to();
  const std::uint64_t extent = presented.shape[axis];
  const auto source = mapping.axes()[axis];
  if (!source) return extent == 1;
  return stored.shape[*source] == extent && std::min(presented.chunk_shape[axis], extent) ==
                                                std::min(stored.chunk_shape[*source], extent);
}

// Whether the axis is that of the channels of a volume, which are stored in several chunks. Fails
// where these are too many.
Result<bool> JoinsChannels(const ChunkMapping& mapping, std::size_t axis) {
  const ArrayMetadata& stored = mapping.from();
  const ArrayMetadata& presented = mapping.to();
  const auto source = mapping.axes()[axis];
  const bool is_channels = presented.dialect == ArrayDialect::kPrecomputed && axis == kChannels;
  if (!is_channels || !source) return false;
  const std::uint64_t channels = stored.shape[*source];
  const std::uint64_t together = stored.chunk_shape[*source];
  if (presented.chunk_shape[axis] != channels) return false;
  if ((channels - 1) / together < kMostParts) return true;
  return Fail(ErrorCode::kNotSupported, channels, " channels in chunks of ", together,
              ": each chunk of the view would consist of more than ", kMostParts, " stored chunks");
}

}  // namespace

Result<ChunkConversion> ChunkConversion::Make(PresentedArray array) {
  UNSHARD_ASSIGN_OR_RETURN(ChunkMapping mapping,
                           ChunkMapping::Make(std::move(array.stored), std::move(array.presented),
                                              std::move(array.axes), array.form));
  ChunkConversion made(std::move(mapping));
  const ArrayMetadata& stored = made.stored();
  const ArrayMetadata& presented = made.presented();
  for (std::size_t axis = 0; axis < presented.rank(); ++axis) {
    if (IsAligned(made.present_, axis)) continue;
    UNSHARD_ASSIGN_OR_RETURN(made.joins_, JoinsChannels(made.present_, axis));
    if (made.joins_) continue;
    return Fail(ErrorCode::kNotSupported, "axis ", axis,
                ": the source and the view divide it into different chunks");
  }
  const bool encodes = made.form() == BlockForm::kTranscode ||
                       made.form() == BlockForm::kStripHeader || made.presents_absent();
  if (encodes) {
    UNSHARD_RETURN_IF_ERROR(stored.codec->CanDecode());
    UNSHARD_RETURN_IF_ERROR(presented.codec->CanEncode());
  }
  const ArrayMetadata& larger = made.joins() ? presented : stored;
  UNSHARD_ASSIGN_OR_RETURN(made.voxel_bytes_, VoxelBytes(larger.data_type, larger.chunk_shape));
  return made;
}

std::optional<std::uint64_t> ChunkConversion::SizeOf(const GridCell& cell) const {
  if (form() != BlockForm::kTranscode && form() != BlockForm::kStripHeader) return std::nullopt;
  return FixedSize(cell);
}

Result<ByteVector> ChunkConversion::Convert(ByteSpan stored, const GridCell& cell) const {
  const GridCell stored_cell = StoredCell(cell);
  UNSHARD_ASSIGN_OR_RETURN(Voxels voxels, present_.Decode(stored, stored_cell));
  UNSHARD_ASSIGN_OR_RETURN(voxels, present_.Map(std::move(voxels), stored_cell, cell));
  return presented().codec->Encode(std::move(voxels));
}

Result<ByteVector> ChunkConversion::Present(ByteSpan stored, const GridCell& cell) const {
  if (form() == BlockForm::kCopy) return ByteVector(stored.begin(), stored.end());
  if (form() != BlockForm::kTranscode) {
    if (auto changed = present_.ChangeHeader(stored, cell)) return *std::move(changed);
  }
  return Convert(stored, cell);
}

Result<ByteVector> ChunkConversion::Join(const PartReader& read, const GridCell& cell) const {
  UNSHARD_ASSIGN_OR_RETURN(Voxels voxels, present_.Blank(cell));
  const std::vector<GridCell> cells = StoredCells(cell);
  for (std::size_t part = 0; part < cells.size(); ++part) {
    UNSHARD_ASSIGN_OR_RETURN(const std::optional<Bytes> stored, read(part));
    if (!stored) continue;
    UNSHARD_ASSIGN_OR_RETURN(const Voxels decoded, present_.Decode(stored->span(), cells[part]));
    present_.Paste(decoded, cells[part], voxels, cell);
  }
  return presented().codec->Encode(std::move(voxels));
}

Result<ByteVector> ChunkConversion::Absent(const GridCell& cell) const {
  UNSHARD_ASSIGN_OR_RETURN(Voxels voxels, present_.Blank(cell));
  return presented().codec->Encode(std::move(voxels));
}

Result<std::vector<ByteVector>> ChunkConversion::EncodeStored(const Voxels* voxels,
                                                              const GridCell& cell) const {
  std::vector<ByteVector> encoded;
  for (const GridCell& part : StoredCells(cell)) {
    UNSHARD_ASSIGN_OR_RETURN(Voxels made, store_.Blank(part));
    if (voxels != nullptr) store_.Paste(*voxels, cell, made, part);
    UNSHARD_ASSIGN_OR_RETURN(encoded.emplace_back(), stored().codec->Encode(std::move(made)));
  }
  return encoded;
}

Status ChunkConversion::CanHold(const Voxels& presented) const {
  if (stored().data_type.kind != DataType::Kind::kBool) return {};
  const ByteSpan bytes = presented.bytes();
  const auto other =
      std::find_if(bytes.begin(), bytes.end(), [](std::uint8_t value) { return value > 1; });
  if (other == bytes.end()) return {};
  return Fail(ErrorCode::kInvalidArgument, "an array of bool: expected voxels of 0 and 1, found ",
              *other);
}

Result<std::vector<ByteVector>> ChunkConversion::Restore(ByteSpan presented,
                                                         const GridCell& cell) const {
  // Damaged bytes must not be stored.
  auto voxels = store_.Decode(presented, cell);
  if (!voxels) {
    Error error = std::move(voxels).error();
    if (error.code == ErrorCode::kDataLoss) error.code = ErrorCode::kInvalidArgument;
    return tl::unexpected<Error>(std::move(error));
  }
  UNSHARD_RETURN_IF_ERROR(CanHold(*voxels));
  if (form() == BlockForm::kCopy) return One(ByteVector(presented.begin(), presented.end()));
  if (form() != BlockForm::kTranscode) {
    if (auto changed = store_.ChangeHeader(presented, StoredCell(cell))) {
      return One(*std::move(changed));
    }
  }
  return EncodeStored(&*voxels, cell);
}

// Where the view presents absent chunks, a removed one reads as the fill value of the view.
Result<std::vector<ByteVector>> ChunkConversion::RestoreRemoved(const GridCell& cell) const {
  if (!presents_absent()) return EncodeStored(nullptr, cell);
  UNSHARD_ASSIGN_OR_RETURN(
      const Voxels removed,
      Voxels::Filled(presented().data_type, present_.ToShape(cell), FillValueOf(presented())));
  return EncodeStored(&removed, cell);
}

Status ChunkConversion::CanRestore() const {
  UNSHARD_RETURN_IF_ERROR(presented().codec->CanDecode());
  return form() == BlockForm::kCopy ? Status() : stored().codec->CanEncode();
}

bool ChunkConversion::is_lossy() const {
  return form() == BlockForm::kTranscode && stored().codec->is_lossy();
}

std::optional<std::uint64_t> ChunkConversion::FixedSize(const GridCell& cell) const {
  return presented().codec->EncodedSize(present_.ToShape(cell));
}

}  // namespace unshard
