// The encoding npz of precomputed volumes, of old versions of CloudVolume: a file of numpy.save
// with the axes x, y, z, channel, in the form of zlib.
#include <algorithm>
#include <utility>
#include <vector>

#include "codec/codecs/codecs.h"
#include "codec/codecs/compressor.h"
#include "codec/codecs/deflate.h"
#include "codec/codecs/volume_encoding.h"
#include "codec/core/strided_copy.h"
#include "codec/grid/chunk_check.h"
#include "codec/types/npy_header.h"

namespace unshard {
namespace {

constexpr const char* kNpzChunk = "npz chunk";
constexpr int kNpzLevel = 6;
constexpr std::uint64_t kZlibHeader = 2;

class Npz final : public VolumeEncoding {
 public:
  using VolumeEncoding::VolumeEncoding;

  [[nodiscard]] std::uint64_t NeededBytes(std::uint64_t size) const override {
    return std::min(size, kZlibHeader);
  }

 protected:
  [[nodiscard]] Result<ByteVector> DecodeChunk(ByteSpan encoded,
                                               const VolumeExtent& extent) const override {
    const std::vector<std::uint64_t> shape = ShapeOf(extent);
    const std::uint64_t size = *VoxelBytes(volume().type, shape);
    auto file = Inflate(DeflateContainer::kZlib, encoded, size + kMaxNpyHeader);
    if (!file) return Damaged(kNpzChunk, file.error().message);
    UNSHARD_ASSIGN_OR_RETURN(const ParsedNpyHeader npy, ParseNpyHeader(*file));
    if (npy.header.shape != shape || !(npy.header.type.type == volume().type) ||
        file->size() - npy.size != size) {
      return Damaged(kNpzChunk, "expected an array of ", ExtentText(extent), " x ",
                     volume().channels, " items of ", DataTypeName(volume().type));
    }
    file->erase(file->begin(), file->begin() + static_cast<std::ptrdiff_t>(npy.size));
    if (npy.header.type.big_endian) SwapItems(*file);
    return npy.header.first_is_fastest ? *std::move(file) : FromLastFastest(*file, shape);
  }
  [[nodiscard]] Result<ByteVector> EncodeChunk(ByteSpan voxels,
                                               const VolumeExtent& extent) const override {
    ByteVector file = MakeNpyHeader({{volume().type}, true, ShapeOf(extent)});
    file.insert(file.end(), voxels.begin(), voxels.end());
    return DeflateInUse().deflate(DeflateContainer::kZlib, file, kNpzLevel);
  }
  // The header of zlib.
  [[nodiscard]] Status CheckChunk(ByteSpan start, std::uint64_t /*size*/,
                                  const VolumeExtent& /*extent*/) const override {
    const bool is_zlib =
        start.size() >= kZlibHeader && (start[0] & 15) == 8 && (start[0] << 8 | start[1]) % 31 == 0;
    return is_zlib ? Status() : RefuseChunk(kNpzChunk, "expected the header of zlib");
  }

 private:
  [[nodiscard]] std::vector<std::uint64_t> ShapeOf(const VolumeExtent& extent) const {
    return {extent[0], extent[1], extent[2], volume().channels};
  }
  void SwapItems(ByteVector& items) const {
    const auto size = static_cast<std::ptrdiff_t>(volume().type.size);
    for (auto item = items.begin(); item != items.end(); item += size) {
      std::reverse(item, item + size);
    }
  }
  [[nodiscard]] ByteVector FromLastFastest(ByteSpan items,
                                           const std::vector<std::uint64_t>& shape) const {
    const std::vector<std::uint64_t> reversed(shape.rbegin(), shape.rend());
    const auto from = StridesOf(shape, volume().type.size);
    const auto to = StridesOf(reversed, volume().type.size);
    std::vector<StridedAxis> axes;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      axes.push_back({reversed[d], from[shape.size() - 1 - d], to[d]});
    }
    ByteVector voxels(items.size());
    CopyStrided(items.data(), voxels.data(), axes, volume().type.size);
    return voxels;
  }
};

Result<ArrayToBytesCodecPtr> BindNpz(const CodecSpec& spec, const ArrayRepresentation& decoded) {
  UNSHARD_ASSIGN_OR_RETURN(EncodedVolume volume, EncodedVolumeOf(spec, decoded));
  return std::make_shared<Npz>(std::move(volume));
}

}  // namespace

const CodecDefinition& NpzCodec() {
  static constexpr CodecDefinition::Name kNames[] = {{Dialect::kPrecomputed, "npz"}};
  static constexpr CodecDefinition kDefinition{kNames, &BindNpz};
  return kDefinition;
}

}  // namespace unshard
