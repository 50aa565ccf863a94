// What the encodings of precomputed volumes have in common, except for raw: chunks have the axes
// channel, z, y, x, and all channels of the volume. codec/FORMATS.md, "Chunk encodings".
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "codec/chain/codec_spec.h"
#include "codec/core/library.h"

namespace unshard {

// x, y, z of a chunk.
using VolumeExtent = std::array<std::uint64_t, 3>;

// "8 x 8 x 4".
std::string ExtentText(const VolumeExtent& extent);

// The option of each encoding that has the number of channels, which an `info` has elsewhere.
inline constexpr const char* kNumChannels = "num_channels";

// What an encoding is bound to.
struct EncodedVolume {
  std::string encoding;
  std::string path;  // of the encoding in its document
  JsonValue key;     // its DecodingKey
  DataType type;
  std::uint64_t channels = 1;
};

// Fails with kDataLoss unless the option kNumChannels is a number.
Result<EncodedVolume> EncodedVolumeOf(const CodecSpec& spec, const ArrayRepresentation& decoded);
// kDataLoss: the encoding does not have the type or the channels of `volume`, only `expected`:
// "uint8".
tl::unexpected<Error> RefuseVolume(const EncodedVolume& volume, const std::string& expected);

// The member compressed_segmentation_block_size of a scale; nothing: it has none. Fails with
// kDataLoss.
Result<std::optional<VolumeExtent>> ParseSegmentationBlock(const JsonCursor& scale);

// Immutable; thread-safe; pure.
class VolumeEncoding : public ArrayToBytesCodec {
 public:
  // `library` decodes and encodes; null: none that a build may lack.
  explicit VolumeEncoding(EncodedVolume volume, const Library* library = nullptr)
      : volume_(std::move(volume)), library_(library) {}

  [[nodiscard]] Status CanDecode() const final;
  [[nodiscard]] JsonValue DecodingKey() const final { return volume_.key; }
  [[nodiscard]] Result<Voxels> Decode(ByteSpan encoded, ShapeSpan shape) const final;
  [[nodiscard]] Result<ByteVector> Encode(Voxels voxels) const final;
  [[nodiscard]] std::uint64_t NeededBytes(std::uint64_t size) const override;
  // A chunk of more bytes than are decoded is not checked.
  [[nodiscard]] Status CheckStart(ByteSpan start, std::uint64_t size, ShapeSpan shape) const final;

 protected:
  // To the bytes of the voxels of all channels, and back. No extent is 0, and VoxelBytes succeeds.
  // Where the check of a chunk fails in DecodeChunk, with kInvalidArgument, Decode has kDataLoss.
  [[nodiscard]] virtual Result<ByteVector> DecodeChunk(ByteSpan encoded,
                                                       const VolumeExtent& extent) const = 0;
  [[nodiscard]] virtual Result<ByteVector> EncodeChunk(ByteSpan voxels,
                                                       const VolumeExtent& extent) const;
  // CheckStart, of such a chunk.
  [[nodiscard]] virtual Status CheckChunk(ByteSpan start, std::uint64_t size,
                                          const VolumeExtent& extent) const = 0;

  [[nodiscard]] const EncodedVolume& volume() const { return volume_; }
  // kNotSupported: unshard does not write the encoding.
  [[nodiscard]] tl::unexpected<Error> OnlyRead() const;

 private:
  [[nodiscard]] Result<VolumeExtent> ExtentOf(ShapeSpan shape) const;

  const EncodedVolume volume_;
  const Library* const library_;
};

}  // namespace unshard
