// `packbits` of Zarr v3: some bits of each item, one item after the other, the lowest bits of a
// byte first. codec/FORMATS.md, "Chunks of Zarr and N5 arrays".
#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "codec/chain/codec_chain.h"
#include "codec/chain/transpose.h"
#include "codec/codecs/codecs.h"
#include "codec/json/writer.h"

namespace unshard {
namespace {

// A bit of a component; `absent` where the member is absent or null.
Result<unsigned> ParseBit(const CodecOptions& options, const char* key, unsigned absent,
                          unsigned first, unsigned last) {
  UNSHARD_ASSIGN_OR_RETURN(const auto found, options.Find(key));
  if (!found || found->value().is_null()) return absent;
  UNSHARD_ASSIGN_OR_RETURN(const std::uint64_t bit, found->Unsigned(first, last));
  return static_cast<unsigned>(bit);
}

// Calls `visit` with an unsigned integer of `size` bytes.
template <class Visit>
void VisitSize(std::uint32_t size, const Visit& visit) {
  switch (size) {
    case 1:
      return visit(std::uint8_t());
    case 2:
      return visit(std::uint16_t());
    case 4:
      return visit(std::uint32_t());
    default:
      return visit(std::uint64_t());
  }
}

// Bits, the lowest ones of a byte first. Requires: not more bits are written than there is room
// for, and that is 0.
class BitWriter {
 public:
  explicit BitWriter(std::span<std::uint8_t> to) : to_(to) {}
  void Put(std::uint64_t bits, unsigned count) {
    while (count > 0) {
      const auto shift = static_cast<unsigned>(at_ % 8);
      const unsigned part = std::min(count, 8 - shift);
      const std::uint64_t low = bits & ((1U << part) - 1);
      to_[at_ / 8] = static_cast<std::uint8_t>(to_[at_ / 8] | low << shift);
      bits >>= part;
      count -= part;
      at_ += part;
    }
  }

 private:
  const std::span<std::uint8_t> to_;
  std::size_t at_ = 0;
};

// Requires: not more bits are read than there are.
class BitReader {
 public:
  explicit BitReader(ByteSpan from) : from_(from) {}
  std::uint64_t Get(unsigned count) {
    std::uint64_t bits = 0;
    for (unsigned got = 0; got < count;) {
      const auto shift = static_cast<unsigned>(at_ % 8);
      const unsigned part = std::min(count - got, 8 - shift);
      const std::uint64_t low = from_[at_ / 8] >> shift & ((1U << part) - 1);
      bits |= low << got;
      got += part;
      at_ += part;
    }
    return bits;
  }

 private:
  const ByteSpan from_;
  std::size_t at_ = 0;
};

// Bits are counted from the lowest one of a component: an item, or one of the two floats of a
// complex value.
class BitPacking final : public ArrayToBytesCodec {
 public:
  // Fails with kDataLoss, naming the member, where the type has no such bits, and with
  // kNotSupported for raw bits.
  static Result<ArrayToBytesCodecPtr> Bind(const CodecSpec& spec,
                                           const ArrayRepresentation& decoded);

  [[nodiscard]] bool is_lossless() const override {
    return first_bit_ == 0 && last_bit_ + 1 == ComponentBits();
  }
  [[nodiscard]] std::uint32_t item_size() const override { return type_.size; }
  [[nodiscard]] std::optional<std::uint64_t> EncodedSize(ShapeSpan shape) const override {
    const auto bytes = VoxelBytes(type_, shape);
    if (!bytes) return std::nullopt;
    return SizeOf(*bytes / type_.size);
  }
  [[nodiscard]] Result<ByteVector> Encode(Voxels decoded) const override;
  // Bits that are not packed are 0, but those of signed integers above the packed ones repeat the
  // highest of these.
  [[nodiscard]] Result<Voxels> Decode(ByteSpan packed, ShapeSpan shape) const override;
  [[nodiscard]] JsonValue DecodingKey() const override {
    return JsonValue::Array(
        {configuration_, JsonValue::String(DataTypeName(type_)), JsonValue::Boolean(swaps_)});
  }

 private:
  enum class Padding : std::uint8_t { kNotEncoded, kFirstByte, kLastByte };

  explicit BitPacking(const ArrayRepresentation& decoded)
      : type_(decoded.type), swaps_(decoded.big_endian && decoded.type.ordered_size() > 1) {}
  [[nodiscard]] unsigned ComponentBits() const {
    return type_.kind == DataType::Kind::kBool ? 1 : 8 * type_.ordered_size();
  }
  [[nodiscard]] unsigned PackedBits() const { return last_bit_ - first_bit_ + 1; }
  [[nodiscard]] std::uint64_t BitsOf(std::uint64_t item_count) const {
    return item_count * (type_.kind == DataType::Kind::kComplex ? 2 : 1) * PackedBits();
  }
  [[nodiscard]] std::uint64_t SizeOf(std::uint64_t item_count) const {
    return (BitsOf(item_count) + 7) / 8 + (padding_ == Padding::kNotEncoded ? 0 : 1);
  }
  [[nodiscard]] std::uint8_t LeftOver(std::uint64_t item_count) const {
    return static_cast<std::uint8_t>((8 - BitsOf(item_count) % 8) % 8);
  }
  [[nodiscard]] std::uint64_t Component(std::uint64_t packed) const;
  // Leaves out the byte that says how many bits are left over.
  [[nodiscard]] Result<ByteSpan> WithoutPadding(ByteSpan packed, std::uint64_t item_count) const;

  const DataType type_;
  const bool swaps_;  // whether the bits are those of big-endian items
  JsonValue configuration_;
  unsigned first_bit_ = 0;
  unsigned last_bit_ = 0;
  Padding padding_ = Padding::kNotEncoded;
};

Result<ArrayToBytesCodecPtr> BitPacking::Bind(const CodecSpec& spec,
                                              const ArrayRepresentation& decoded) {
  if (decoded.type.kind == DataType::Kind::kRaw) {
    return Fail(ErrorCode::kNotSupported, spec.at(), " does not support the data type ",
                DataTypeName(decoded.type));
  }
  const std::shared_ptr<BitPacking> packing(new BitPacking(decoded));
  packing->configuration_ = spec.own_options();
  const CodecOptions options = spec.options();
  const unsigned last = packing->ComponentBits() - 1;
  UNSHARD_ASSIGN_OR_RETURN(packing->first_bit_, ParseBit(options, "first_bit", 0, 0, last));
  UNSHARD_ASSIGN_OR_RETURN(packing->last_bit_,
                           ParseBit(options, "last_bit", last, packing->first_bit_, last));
  UNSHARD_ASSIGN_OR_RETURN(const auto paddings, options.Find("padding_encoding"));
  if (!paddings || paddings->value().is_null()) return packing;
  UNSHARD_ASSIGN_OR_RETURN(const std::string padding, paddings->String());
  if (padding == "first_byte") {
    packing->padding_ = Padding::kFirstByte;
  } else if (padding == "last_byte") {
    packing->padding_ = Padding::kLastByte;
  } else if (padding != "none") {
    return paddings->Expected("\"first_byte\", \"last_byte\" or \"none\"");
  }
  return packing;
}

Result<ByteVector> BitPacking::Encode(Voxels decoded) const {
  ByteVector items = std::move(decoded).TakeBytes();
  if (swaps_) ReverseBytes(items, type_.ordered_size());
  const std::uint64_t count = items.size() / type_.size;
  ByteVector packed(SizeOf(count));
  std::span<std::uint8_t> room(packed);
  if (padding_ != Padding::kNotEncoded) {
    const bool at_start = padding_ == Padding::kFirstByte;
    (at_start ? packed.front() : packed.back()) = LeftOver(count);
    room = room.subspan(at_start ? 1 : 0, room.size() - 1);
  }
  BitWriter writer(room);
  const std::uint64_t mask = ~std::uint64_t{0} >> (64 - PackedBits());
  VisitSize(type_.ordered_size(), [&](auto component) {
    for (std::size_t at = 0; at < items.size(); at += sizeof(component)) {
      std::uint64_t bits = LoadLe<decltype(component)>(&items[at]);
      if (type_.kind == DataType::Kind::kBool) bits = bits != 0 ? 1 : 0;
      writer.Put(bits >> first_bit_ & mask, PackedBits());
    }
  });
  return packed;
}

std::uint64_t BitPacking::Component(std::uint64_t packed) const {
  const std::uint64_t bits = packed << first_bit_;
  const bool negative = type_.kind == DataType::Kind::kSigned && (bits >> last_bit_ & 1) != 0;
  return negative ? bits | ~std::uint64_t{0} << last_bit_ : bits;
}

Result<ByteSpan> BitPacking::WithoutPadding(ByteSpan packed, std::uint64_t item_count) const {
  if (padding_ == Padding::kNotEncoded) return packed;
  const bool at_start = padding_ == Padding::kFirstByte;
  const std::uint8_t found = at_start ? packed.front() : packed.back();
  const std::uint8_t expected = LeftOver(item_count);
  if (found == expected) return packed.subspan(at_start ? 1 : 0, packed.size() - 1);
  return Fail(ErrorCode::kDataLoss, "packbits: expected ", expected, " bits left over, found ",
              found);
}

Result<Voxels> BitPacking::Decode(ByteSpan packed, ShapeSpan shape) const {
  UNSHARD_ASSIGN_OR_RETURN(const std::uint64_t bytes, VoxelBytes(type_, shape));
  UNSHARD_ASSIGN_OR_RETURN(packed, WithoutPadding(packed, bytes / type_.size));
  ByteVector items(bytes);
  BitReader reader(packed);
  VisitSize(type_.ordered_size(), [&](auto component) {
    for (std::size_t at = 0; at < items.size(); at += sizeof(component)) {
      StoreLe(&items[at], static_cast<decltype(component)>(Component(reader.Get(PackedBits()))));
    }
  });
  if (swaps_) ReverseBytes(items, type_.ordered_size());
  return Voxels::Make(type_, {shape.begin(), shape.end()}, std::move(items));
}

}  // namespace

const CodecDefinition& PackBitsCodec() {
  static constexpr CodecDefinition::Name kNames[] = {{Dialect::kZarr3, "packbits"}};
  static constexpr CodecDefinition kDefinition{kNames, &BitPacking::Bind};
  return kDefinition;
}

}  // namespace unshard
