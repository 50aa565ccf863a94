// The codecs of a chain, each bound to what reaches it: the three kinds of the Zarr v3
// specification. All are immutable, thread-safe and pure.
//
// Failures: kDataLoss: damage. kInvalidArgument: voxels that the codec cannot take.
// kResourceExhausted: limits. kNotSupported: what CanDecode or CanEncode returns.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "codec/chain/voxels.h"
#include "codec/core/bytes.h"
#include "codec/core/bytes_digest.h"
#include "codec/core/error.h"
#include "codec/json/json.h"
#include "codec/types/data_type.h"

namespace unshard {

class CodecChain;

// What the three kinds have in common.
class Codec {
 public:
  virtual ~Codec() = default;
  // Whether Decode is supported: else kNotSupported, naming the codec by its path in the document,
  // and the library that this build lacks.
  [[nodiscard]] virtual Status CanDecode() const { return {}; }
  // Whether Encode is supported: else kNotSupported, naming the codec. Fails where CanDecode does.
  [[nodiscard]] virtual Status CanEncode() const { return CanDecode(); }
  // Whether decoding gives back what was encoded, bit by bit, for every item of the type.
  [[nodiscard]] virtual bool is_lossless() const { return true; }
};

// --- Array-to-array codecs

// What flows from one array codec to the next.
struct ArrayRepresentation {
  DataType type;
  std::size_t rank = 0;
  // Filters of numcodecs work on bytes: whether they find those of these items big-endian. Voxels
  // are little-endian in any case.
  bool big_endian = false;
  // Whether the next codec may take the bytes of items for items of another size, as in Zarr v2.
  bool may_change_size = false;

  friend bool operator==(const ArrayRepresentation&, const ArrayRepresentation&) = default;
};

class ArrayToArrayCodec : public Codec {
 public:
  // What it makes of the items that it is bound to.
  [[nodiscard]] virtual const ArrayRepresentation& encoded() const = 0;
  // The shape of an encoded chunk. Fails with kInvalidArgument where it cannot encode such a chunk.
  [[nodiscard]] virtual Result<Shape> EncodedShape(ShapeSpan decoded) const = 0;
  // Where the definition says kMovedItem: dimension i of an encoded chunk is axis order()[i]. Else
  // empty.
  [[nodiscard]] virtual std::vector<std::size_t> order() const { return {}; }

  // To voxels of the type of encoded(), and of EncodedShape.
  [[nodiscard]] virtual Result<Voxels> Encode(Voxels decoded) const = 0;
  // The inverse, for voxels of that type and shape.
  [[nodiscard]] virtual Result<Voxels> Decode(Voxels encoded, ShapeSpan decoded) const = 0;

  // Whether it may encode voxels to items that it cannot decode: a chain decodes them as a proof.
  [[nodiscard]] virtual bool may_refuse_encoded() const { return false; }
  // Whether a changed item makes others unreadable: no lossy codec may come after it.
  [[nodiscard]] virtual bool needs_exact_items() const { return false; }
};
using ArrayCodecPtr = std::shared_ptr<const ArrayToArrayCodec>;

// --- Array-to-bytes codecs

class ArrayToBytesCodec : public Codec {
 public:
  // The size of an encoded chunk of `shape`; nothing where it depends on the voxels.
  [[nodiscard]] virtual std::optional<std::uint64_t> EncodedSize(ShapeSpan shape) const {
    (void)shape;
    return std::nullopt;
  }
  // Whether a chunk of any other size than that is damaged.
  [[nodiscard]] virtual bool has_fixed_size() const { return true; }
  // The bytes of an encoded item, which compressors may shuffle; 0: not one item after the other.
  [[nodiscard]] virtual std::uint32_t item_size() const { return 0; }
  [[nodiscard]] virtual Result<ByteVector> Encode(Voxels decoded) const = 0;
  // The voxels of a chunk of `shape`. Requires: EncodedSize bytes, where that is fixed.
  [[nodiscard]] virtual Result<Voxels> Decode(ByteSpan encoded, ShapeSpan shape) const = 0;
  // The same of bytes that may be changed.
  [[nodiscard]] virtual Result<Voxels> DecodeInPlace(ByteVector encoded, ShapeSpan shape) const {
    return Decode(encoded, shape);
  }

  // What the start of an encoded chunk of `shape`, of `size` bytes in all, tells without decoding
  // it: its headers. `start`: the first NeededBytes(size) of them. Fails with kInvalidArgument.
  [[nodiscard]] virtual std::uint64_t NeededBytes(std::uint64_t size) const {
    (void)size;
    return 0;
  }
  [[nodiscard]] virtual Status CheckStart(ByteSpan start, std::uint64_t size,
                                          ShapeSpan shape) const {
    (void)start, (void)size, (void)shape;
    return {};
  }
  // What messages call its chunks.
  [[nodiscard]] virtual std::string_view subject() const { return "chunk"; }

  // What decides how bytes are decoded: where it has the same meaning, and the items that reach
  // both codecs are the same, each decodes what the other one encodes to the same voxels.
  [[nodiscard]] virtual JsonValue DecodingKey() const = 0;
  // Of a block, a header and then items: the chain of the items. Null for other codecs.
  [[nodiscard]] virtual const CodecChain* block() const { return nullptr; }
};
using ArrayToBytesCodecPtr = std::shared_ptr<const ArrayToBytesCodec>;

// --- Bytes-to-bytes codecs

// Compressors and checksums of chunks, of shards and of their indexes.
class BytesToBytesCodec : public Codec {
 public:
  // Its name in Zarr v3: "zstd", "numcodecs.lz4".
  [[nodiscard]] virtual const std::string& name() const = 0;
  // The number of bytes that encoding adds, where it does not depend on the data; else nothing.
  [[nodiscard]] virtual std::optional<std::uint64_t> fixed_overhead() const { return std::nullopt; }
  // How many of those bytes precede the data; the others follow it.
  [[nodiscard]] virtual std::uint64_t leading_overhead() const { return 0; }
  // Undoes the codec. Fails with kResourceExhausted beyond `max_bytes`.
  [[nodiscard]] virtual Result<ByteVector> Decode(ByteSpan stored,
                                                  std::uint64_t max_bytes) const = 0;
  // Gives the same bytes for the same input and the same version of the library. Fails with
  // kResourceExhausted where the codec cannot take so many bytes.
  [[nodiscard]] virtual Result<ByteVector> Encode(ByteSpan plain) const = 0;
  // For a codec with fixed overhead: computes the bytes that it adds. A null pointer for others.
  [[nodiscard]] virtual std::unique_ptr<BytesDigest> MakeDigest() const { return nullptr; }
};
using BytesCodecPtr = std::shared_ptr<const BytesToBytesCodec>;

}  // namespace unshard
