// How one chunk of an array is encoded: voxels to the bytes of a chunk file and back, for all
// formats. codec/FORMATS.md, "Chunks".
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "codec/core/bytes.h"
#include "codec/core/error.h"
#include "codec/json/json.h"
#include "codec/voxel/data_type.h"

namespace unshard {

// The voxels of one chunk: little-endian items in C order, `shape` slowest axis first. Precomputed
// and N5 list their axes fastest first: there `shape` is the reverse of what documents say, and the
// order of the items is the same.
struct Voxels {
  DataType type;
  std::vector<std::uint64_t> shape;
  ByteVector bytes;  // exactly type.size × the product of `shape`
};

// The bytes of so many voxels. Fails with kResourceExhausted above 2^47, which no chunk needs.
Result<std::uint64_t> VoxelBytes(const DataType& type, std::span<const std::uint64_t> shape);

// What the transforms of a codec are, in one vocabulary for all formats, so that a view can decide
// whether the stored bytes of one format are those of another.
struct ChunkEncoding {
  // A bytes-to-bytes codec. The name is that of the Zarr v3 registry ("gzip", "zstd", "blosc",
  // "crc32c", "numcodecs.zlib", "numcodecs.bz2", …) and decides how to decode, for compressors
  // alone; the configuration, in Zarr v3's form, decides what encoding gives. Null: none.
  struct Step {
    std::string name;
    JsonValue configuration;
  };

  // "raw": items one after the other. Else the name of what encodes voxels in another way: "jpeg",
  // "png", "compressed_segmentation", …, or of array-to-array codecs before the items ("filters").
  std::string items = "raw";
  bool big_endian = false;         // raw items of more than one byte; else false
  std::vector<std::size_t> order;  // the stored dimension i is axis order[i]; empty: C order
  bool n5_header = false;          // an N5 block header precedes what `steps` give
  std::vector<Step> steps;         // in the order of encoding
};

// Whether whatever one codec encodes, the other decodes to the same voxels: the same items, order,
// header and formats of compression; levels and the like may differ.
bool SameFormat(const ChunkEncoding& a, const ChunkEncoding& b);

// Immutable; thread-safe; pure.
class ChunkCodec {
 public:
  virtual ~ChunkCodec() = default;

  // The voxels of a chunk, whose shape is `shape`, slowest axis first: in Zarr the chunk shape, in
  // precomputed volumes clipped at the volume's end. The header of an N5 block may say another
  // shape than that: its voxels are clipped, or extended by zeros. Fails with kDataLoss where
  // `encoded` is damaged, and with kResourceExhausted before it would decode to much more than the
  // chunk has.
  [[nodiscard]] virtual Result<Voxels> Decode(ByteSpan encoded,
                                              std::span<const std::uint64_t> shape) const = 0;
  // Whether Encode is supported: else kNotSupported, naming the codec.
  [[nodiscard]] virtual Status CanEncode() const { return {}; }
  // The same bytes for the same voxels and version of the libraries. Fails as CanEncode does, with
  // kInvalidArgument where type or shape are not those of a chunk of the array, and with
  // kResourceExhausted where the format cannot take so many bytes.
  [[nodiscard]] virtual Result<ByteVector> Encode(const Voxels& voxels) const = 0;
  // Whether decoding does not give exactly what was encoded.
  [[nodiscard]] virtual bool is_lossy() const { return false; }
  // The size of an encoded chunk of `shape`, where it does not depend on the voxels.
  [[nodiscard]] virtual std::optional<std::uint64_t> EncodedSize(
      std::span<const std::uint64_t> shape) const {
    (void)shape;
    return std::nullopt;
  }
  [[nodiscard]] virtual const DataType& type() const = 0;
  [[nodiscard]] virtual const ChunkEncoding& encoding() const = 0;
};
using ChunkCodecPtr = std::shared_ptr<const ChunkCodec>;

}  // namespace unshard
