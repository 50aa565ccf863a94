#include "codec/voxel/volume_functions.h"

#include <memory>
#include <span>
#include <utility>

namespace unshard {
namespace {

using Extent = std::array<std::uint64_t, 3>;

class FunctionCodec final : public ArrayToBytesCodec {
 public:
  FunctionCodec(const VolumeEncoding& volume, VolumeFunctions functions)
      : volume_(volume), functions_(std::move(functions)) {}

  [[nodiscard]] bool is_lossless() const override { return !functions_.is_lossy; }
  void Describe(ChunkEncoding& encoding) const override { encoding.items = functions_.items; }

  [[nodiscard]] Status CanDecode() const override {
    if (functions_.library == nullptr || functions_.library->in_build()) return {};
    return NotInBuild(*functions_.library, "the encoding \"" + volume_.encoding + "\"");
  }

  [[nodiscard]] Status CanEncode() const override {
    if (functions_.encode) return CanDecode();
    return Fail(ErrorCode::kNotSupported, "chunks of encoding \"", volume_.encoding,
                "\" can only be read");
  }

  [[nodiscard]] Result<Voxels> Decode(ByteSpan encoded, ShapeSpan shape) const override {
    UNSHARD_RETURN_IF_ERROR(CanDecode());
    UNSHARD_ASSIGN_OR_RETURN(const Extent extent, ExtentOf(shape));
    UNSHARD_ASSIGN_OR_RETURN(ByteVector bytes, functions_.decode(encoded, extent));
    return Voxels::Make(volume_.type, {shape.begin(), shape.end()}, std::move(bytes));
  }

  [[nodiscard]] Result<ByteVector> Encode(Voxels voxels) const override {
    UNSHARD_RETURN_IF_ERROR(CanEncode());
    UNSHARD_ASSIGN_OR_RETURN(const Extent extent, ExtentOf(voxels.shape()));
    return functions_.encode(voxels.bytes(), extent);
  }

 private:
  // x, y, z of the shape of a chunk.
  [[nodiscard]] Result<Extent> ExtentOf(std::span<const std::uint64_t> shape) const {
    UNSHARD_ASSIGN_OR_RETURN(const std::uint64_t size, VoxelBytes(volume_.type, shape));
    if (shape.size() != 4 || shape[0] != volume_.channels || size == 0) {
      return Fail(
          ErrorCode::kInvalidArgument,
          "expected a 4-D chunk (channel, z, y, x), number of channels: ", volume_.channels);
    }
    return Extent{shape[3], shape[2], shape[1]};
  }

  const VolumeEncoding volume_;
  const VolumeFunctions functions_;
};

}  // namespace

ChunkCodecPtr MakeFunctionCodec(const VolumeEncoding& volume, VolumeFunctions functions) {
  return CodecChain::Of(volume.type, std::make_shared<FunctionCodec>(volume, std::move(functions)));
}

tl::unexpected<Error> RefuseVolume(const VolumeEncoding& volume, const std::string& expected) {
  return Fail(ErrorCode::kDataLoss, "encoding \"", volume.encoding, "\": expected ", expected,
              ", found ", DataTypeName(volume.type), " and ", volume.channels, " channels");
}

ImageForm ImageFormOf(const VolumeEncoding& volume, const Extent& shape) {
  return {shape[0] * shape[1] * shape[2], volume.channels, volume.type.size};
}

}  // namespace unshard
