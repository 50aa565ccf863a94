// The encoding of one chunk of an array: voxels to the bytes of a chunk file and back, for all
// formats. codec/FORMATS.md, "Chunk encodings", "Chunks of Zarr and N5 arrays".
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "codec/chain/voxels.h"
#include "codec/core/bytes.h"
#include "codec/core/error.h"
#include "codec/json/json.h"
#include "codec/types/data_type.h"

namespace unshard {

// The transforms of a codec in one vocabulary for all formats, by which a view decides whether the
// stored bytes of one format are those of another.
struct ChunkEncoding {
  // A bytes-to-bytes codec, by its name in the Zarr v3 registry ("gzip", "zstd", "blosc", "crc32c",
  // "numcodecs.zlib", "numcodecs.bz2", …), or "n5.lz4". The name of a compressor is enough to
  // decode; the configuration, in the form of Zarr v3, is needed to encode. Null: none.
  struct Step {
    std::string name;
    JsonValue configuration;
  };

  // "raw": items one after the other. Else what encodes voxels in another way: "jpeg", "png",
  // "compressed_segmentation 8 x 8 x 8", …, or "raw" followed by the filters before the items.
  std::string items = "raw";
  bool big_endian = false;         // raw items of more than one byte; else false
  std::vector<std::size_t> order;  // the stored dimension i is axis order[i]; empty: C order
  bool n5_header = false;          // an N5 block header precedes what `steps` give
  std::vector<Step> steps;         // in the order of encoding
};

// Whether each of two codecs decodes what the other one encodes to the same voxels: they have the
// same items, order, header and compressors; levels and other options of encoding may differ.
bool SameFormat(const ChunkEncoding& a, const ChunkEncoding& b);

// kInvalidArgument where voxels of a chunk have another type than those of the array.
Status RefuseOtherType(const Voxels& voxels, const DataType& expected);

// The codec of the chunks of one array. Immutable; thread-safe; pure.
class ChunkCodec {
 public:
  virtual ~ChunkCodec() = default;

  // Whether Decode is supported: else kNotSupported, naming the codec and the library that this
  // build lacks.
  [[nodiscard]] virtual Status CanDecode() const { return {}; }
  // The voxels of a chunk of `shape`, slowest axis first: in Zarr the chunk shape, in precomputed
  // volumes clipped to the volume. The header of an N5 block may have another shape: its voxels are
  // clipped to `shape`, or extended by zeros. Fails as CanDecode does, with kDataLoss where
  // `encoded` is damaged, and with kResourceExhausted before it would decode to much more than the
  // chunk has.
  [[nodiscard]] virtual Result<Voxels> Decode(ByteSpan encoded,
                                              std::span<const std::uint64_t> shape) const = 0;
  // Whether Encode is supported: else kNotSupported, naming the codec. Fails where CanDecode does.
  [[nodiscard]] virtual Status CanEncode() const { return {}; }
  // The same bytes for the same voxels and version of the libraries. Fails as CanEncode does, with
  // kInvalidArgument where type or shape are not those of a chunk of the array, and with
  // kResourceExhausted where the format cannot take so many bytes.
  [[nodiscard]] virtual Result<ByteVector> Encode(Voxels voxels) const = 0;
  // Whether voxels that are encoded and decoded may differ from those before.
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
