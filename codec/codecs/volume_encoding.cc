#include "codec/codecs/volume_encoding.h"

#include <algorithm>
#include <utility>

#include "codec/chain/codec_chain.h"
#include "codec/grid/chunk_check.h"

namespace unshard {

std::string ExtentText(const VolumeExtent& extent) {
  return Message({extent[0], " x ", extent[1], " x ", extent[2]});
}

Result<EncodedVolume> EncodedVolumeOf(const CodecSpec& spec, const ArrayRepresentation& decoded) {
  EncodedVolume volume{spec.name, MemberPath(spec.json_path, "encoding"), spec.DecodingKey(),
                       decoded.type};
  UNSHARD_ASSIGN_OR_RETURN(const auto channels, spec.options().Find(kNumChannels));
  if (!channels) return volume;
  UNSHARD_ASSIGN_OR_RETURN(volume.channels, channels->Unsigned(0, ~std::uint64_t{0}));
  return volume;
}

tl::unexpected<Error> RefuseVolume(const EncodedVolume& volume, const std::string& expected) {
  return Fail(ErrorCode::kDataLoss, volume.path, ": encoding \"", volume.encoding, "\": expected ",
              expected, ", found ", DataTypeName(volume.type), " and ", volume.channels,
              " channels");
}

Status VolumeEncoding::CanDecode() const {
  if (library_ == nullptr || library_->in_build()) return {};
  return NotInBuild(*library_, "the encoding \"" + volume_.encoding + "\"");
}

tl::unexpected<Error> VolumeEncoding::OnlyRead() const {
  return Fail(ErrorCode::kNotSupported, "chunks of encoding \"", volume_.encoding,
              "\" can only be read");
}

Result<Voxels> VolumeEncoding::Decode(ByteSpan encoded, ShapeSpan shape) const {
  UNSHARD_RETURN_IF_ERROR(CanDecode());
  UNSHARD_ASSIGN_OR_RETURN(const VolumeExtent extent, ExtentOf(shape));
  auto bytes = DecodeChunk(encoded, extent);
  if (bytes) return Voxels::Make(volume_.type, {shape.begin(), shape.end()}, *std::move(bytes));
  Error error = std::move(bytes).error();
  if (error.code == ErrorCode::kInvalidArgument) error.code = ErrorCode::kDataLoss;
  return tl::unexpected<Error>(std::move(error));
}

Result<ByteVector> VolumeEncoding::Encode(Voxels voxels) const {
  UNSHARD_RETURN_IF_ERROR(CanEncode());
  UNSHARD_ASSIGN_OR_RETURN(const VolumeExtent extent, ExtentOf(voxels.shape()));
  return EncodeChunk(voxels.bytes(), extent);
}

Result<ByteVector> VolumeEncoding::EncodeChunk(ByteSpan /*voxels*/,
                                               const VolumeExtent& /*extent*/) const {
  return OnlyRead();
}

std::uint64_t VolumeEncoding::NeededBytes(std::uint64_t size) const {
  return std::min(size, kMaxCheckedBytes);
}

Status VolumeEncoding::CheckStart(ByteSpan start, std::uint64_t size, ShapeSpan shape) const {
  const auto extent = ExtentOf(shape);
  return extent ? CheckChunk(start, size, *extent) : Status();
}

Result<VolumeExtent> VolumeEncoding::ExtentOf(ShapeSpan shape) const {
  UNSHARD_ASSIGN_OR_RETURN(const std::uint64_t size, VoxelBytes(volume_.type, shape));
  if (shape.size() != 4 || shape[0] != volume_.channels || size == 0) {
    return Fail(ErrorCode::kInvalidArgument,
                "expected a 4-D chunk (channel, z, y, x), number of channels: ", volume_.channels);
  }
  return VolumeExtent{shape[3], shape[2], shape[1]};
}

}  // namespace unshard
