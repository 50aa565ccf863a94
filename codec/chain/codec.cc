#include "codec/chain/codec.h"

#include <utility>

namespace unshard {

std::optional<ByteVector> EncodeFillValue(const ArrayToArrayCodec& codec, const DataType& type,
                                          const ByteVector& item) {
  if (std::holds_alternative<Permutes>(codec.dependence())) return item;
  if (!std::holds_alternative<Elementwise>(codec.dependence())) return std::nullopt;
  const auto decoded = Voxels::Make(type, {1}, item);
  if (!decoded) return std::nullopt;
  auto encoded = codec.Encode(*decoded);
  if (!encoded || codec.Decode(*encoded, decoded->shape()) != *decoded) return std::nullopt;
  return std::move(*encoded).TakeBytes();
}

}  // namespace unshard
