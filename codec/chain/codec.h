// The array-to-array codecs of a chain, each bound to the items that reach it. All are immutable,
// thread-safe and pure.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include "codec/chain/voxels.h"
#include "codec/core/error.h"
#include "codec/types/data_type.h"

namespace unshard {

// What flows from one array codec to the next.
struct ArrayRepresentation {
  DataType type;
  std::size_t rank = 0;
  // Filters of numcodecs work on bytes: whether they find those of these items big-endian. Voxels
  // are little-endian in any case.
  bool big_endian = false;

  friend bool operator==(const ArrayRepresentation&, const ArrayRepresentation&) = default;
};

// What one encoded item depends on: on any items of the chunk; on the item at its position; or on
// the item that the rearranged axes have there, where dimension i is axis order[i].
struct WholeChunk {};
struct Elementwise {};
struct Permutes {
  std::vector<std::size_t> order;
};
using Dependence = std::variant<WholeChunk, Elementwise, Permutes>;

// kInvalidArgument: voxels that the codec cannot take. kDataLoss: damage.
class ArrayToArrayCodec {
 public:
  virtual ~ArrayToArrayCodec() = default;

  // What it makes of the items that it is bound to.
  [[nodiscard]] virtual const ArrayRepresentation& encoded() const = 0;
  // The shape of an encoded chunk. Fails with kInvalidArgument where it cannot encode such a chunk.
  [[nodiscard]] virtual Result<Shape> EncodedShape(ShapeSpan decoded) const = 0;
  [[nodiscard]] virtual Dependence dependence() const = 0;

  // To voxels of the type of encoded(), and of EncodedShape. Fails as CanEncode does.
  [[nodiscard]] virtual Result<Voxels> Encode(Voxels decoded) const = 0;
  // The inverse, for voxels of that type and shape.
  [[nodiscard]] virtual Result<Voxels> Decode(Voxels encoded, ShapeSpan decoded) const = 0;

  // Whether Encode is supported: else kNotSupported, naming the codec.
  [[nodiscard]] virtual Status CanEncode() const { return {}; }
  // Whether decoding gives back what was encoded, bit by bit, for every item of the type.
  [[nodiscard]] virtual bool is_lossless() const = 0;
  // Whether it may encode voxels to items that it cannot decode: a chain decodes them as a proof.
  [[nodiscard]] virtual bool may_refuse_encoded() const { return false; }
  // Whether a changed item makes others unreadable: no lossy codec may come after it.
  [[nodiscard]] virtual bool needs_exact_items() const { return false; }
};
using ArrayCodecPtr = std::shared_ptr<const ArrayToArrayCodec>;

// The fill value, an item, as the codec encodes it; nothing unless each item is encoded by itself,
// and the codec gives this one back bit by bit.
std::optional<ByteVector> EncodeFillValue(const ArrayToArrayCodec& codec, const DataType& type,
                                          const ByteVector& item);

}  // namespace unshard
