// The compressed_segmentation encoding of precomputed volumes: of uint32 and uint64, with any
// number of channels.
#include <memory>
#include <string>
#include <utility>

#include "codec/chain/codec_chain.h"
#include "codec/codecs/codecs.h"
#include "codec/codecs/segmentation_format.h"
#include "codec/codecs/volume_encoding.h"

namespace unshard {
namespace {

constexpr const char* kBlockSize = "compressed_segmentation_block_size";

class CompressedSegmentation final : public VolumeEncoding {
 public:
  CompressedSegmentation(EncodedVolume volume, const VolumeExtent& block)
      : VolumeEncoding(std::move(volume)), block_(block) {}

 protected:
  [[nodiscard]] Result<ByteVector> DecodeChunk(ByteSpan encoded,
                                               const VolumeExtent& extent) const override {
    return DecodeCompressedSegmentation(encoded, FormOf(extent));
  }
  [[nodiscard]] Result<ByteVector> EncodeChunk(ByteSpan voxels,
                                               const VolumeExtent& extent) const override {
    return EncodeCompressedSegmentation(voxels, FormOf(extent));
  }
  [[nodiscard]] Status CheckChunk(ByteSpan start, std::uint64_t size,
                                  const VolumeExtent& extent) const override {
    return CheckCompressedSegmentation(start, size, FormOf(extent));
  }

 private:
  [[nodiscard]] SegmentationForm FormOf(const VolumeExtent& extent) const {
    return {extent, block_, volume().channels, volume().type.size / 4};
  }

  const VolumeExtent block_;
};

Result<ArrayToBytesCodecPtr> BindSegmentation(const CodecSpec& spec,
                                              const ArrayRepresentation& decoded) {
  UNSHARD_ASSIGN_OR_RETURN(EncodedVolume volume, EncodedVolumeOf(spec, decoded));
  UNSHARD_ASSIGN_OR_RETURN(
      const auto block,
      ParseSegmentationBlock(JsonCursor(*spec.configuration(), spec.configuration_path())));
  if (!(volume.type == kUint32 || volume.type == kUint64) || !block) {
    return RefuseVolume(volume,
                        "uint32 or uint64 and a compressed_segmentation_block_size of three "
                        "positive numbers");
  }
  return std::make_shared<CompressedSegmentation>(std::move(volume), *block);
}

}  // namespace

Result<std::optional<VolumeExtent>> ParseSegmentationBlock(const JsonCursor& scale) {
  UNSHARD_ASSIGN_OR_RETURN(const auto found, scale.OptionalMember(kBlockSize));
  if (!found) return std::nullopt;
  UNSHARD_ASSIGN_OR_RETURN(const auto extents, found->UnsignedItems(1, ~std::uint64_t{0} >> 1));
  if (extents.size() != 3) return found->Expected("three numbers");
  return VolumeExtent{extents[0], extents[1], extents[2]};
}

const CodecDefinition& CompressedSegmentationCodec() {
  static constexpr CodecDefinition::Name kNames[] = {
      {Dialect::kPrecomputed, "compressed_segmentation", kInSchemas}};
  static constexpr CodecOption kOptions[] = {{kBlockSize}};
  static constexpr CodecDefinition kDefinition{kNames, &BindSegmentation, kOptions};
  return kDefinition;
}

}  // namespace unshard
