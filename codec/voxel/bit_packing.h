// The codec "packbits" of Zarr v3: some bits of each item, one item after the other, the lowest
// bits of a byte first. codec/FORMATS.md, "Chunks of Zarr and N5 arrays".
#pragma once

#include <cstdint>
#include <string>

#include "codec/compression/codec_options.h"
#include "codec/core/bytes.h"
#include "codec/types/data_type.h"

namespace unshard {

// Bits are counted from the lowest one of a component: an item, or one of the two floats of a
// complex value. Immutable; thread-safe; pure.
class BitPacking {
 public:
  // Fails with kDataLoss, naming the member, where the type has no such bits, and with
  // kNotSupported for raw bits.
  static Result<BitPacking> Parse(const DataType& type, const CodecOptions& options,
                                  const std::string& json_path);

  // The packed size of so many items in bytes. Requires: items that fit in memory.
  [[nodiscard]] std::uint64_t PackedSize(std::uint64_t item_count) const;
  // Packs little-endian items. Requires: a whole number of items.
  [[nodiscard]] ByteVector Pack(ByteSpan items) const;
  // The inverse. Bits that are not packed are 0, but those of signed integers above the packed ones
  // repeat the highest of these. Fails with kDataLoss unless `packed` has the size of so many
  // items.
  [[nodiscard]] Result<ByteVector> Unpack(ByteSpan packed, std::uint64_t item_count) const;
  // Whether some bits of the items are not packed.
  [[nodiscard]] bool is_lossy() const { return first_bit_ > 0 || last_bit_ + 1 < ComponentBits(); }

 private:
  enum class Padding : std::uint8_t { kNotEncoded, kFirstByte, kLastByte };

  explicit BitPacking(const DataType& type) : type_(type) {}
  [[nodiscard]] unsigned ComponentBits() const {
    return type_.kind == DataType::Kind::kBool ? 1 : 8 * type_.ordered_size();
  }
  [[nodiscard]] unsigned PackedBits() const { return last_bit_ - first_bit_ + 1; }
  [[nodiscard]] std::uint64_t BitsOf(std::uint64_t item_count) const;
  [[nodiscard]] std::uint64_t Component(std::uint64_t packed) const;

  DataType type_;
  unsigned first_bit_ = 0;
  unsigned last_bit_ = 0;
  Padding padding_ = Padding::kNotEncoded;
};

}  // namespace unshard
