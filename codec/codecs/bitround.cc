// bitround, and numcodecs' codec of this name: rounds floats to the nearest one with `keepbits`
// bits of the significand, ties to even, when it encodes, and changes nothing when it decodes.
// Other items are only decoded.
#include <array>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "codec/codecs/codecs.h"
#include "codec/codecs/item_values.h"
#include "codec/codecs/typed_codec.h"
#include "codec/core/float_format.h"

namespace unshard {
namespace {

class BitRound final : public TypedCodec {
 public:
  // Without a number of bits it cannot be encoded.
  BitRound(const CodecSpec& spec, const ArrayRepresentation& decoded,
           std::optional<int> dropped_bits)
      : TypedCodec(spec, decoded,
                   {{decoded.type, decoded.big_endian}, {decoded.type, decoded.big_endian}}, false),
        dropped_bits_(dropped_bits) {}

  [[nodiscard]] Status CanEncode() const override {
    if (dropped_bits_) return {};
    return EncodesOnlyFloats(name());
  }

 protected:
  [[nodiscard]] Result<Voxels> EncodeItems(Voxels plain) const override {
    if (*dropped_bits_ == 0) return plain;
    switch (plain.type().size) {
      case 2:
        Round<std::uint16_t>(plain.mutable_bytes());
        break;
      case 4:
        Round<std::uint32_t>(plain.mutable_bytes());
        break;
      default:
        Round<std::uint64_t>(plain.mutable_bytes());
    }
    return plain;
  }
  [[nodiscard]] Result<Voxels> DecodeItems(Voxels stored, ShapeSpan /*plain*/) const override {
    return stored;
  }

 private:
  template <class Bits>
  void Round(std::span<std::uint8_t> items) const {
    const int dropped = *dropped_bits_;
    const std::uint64_t half = (std::uint64_t{1} << (dropped - 1)) - 1;
    ReplaceItems<Bits>(items, [=](Bits item) {
      const std::uint64_t bits = item + (item >> dropped & 1) + half;
      return static_cast<Bits>(bits >> dropped << dropped);
    });
  }

  const std::optional<int> dropped_bits_;
};

Result<ArrayCodecPtr> BindBitRound(const CodecSpec& spec, const ArrayRepresentation& decoded) {
  UNSHARD_ASSIGN_OR_RETURN(const auto kept, spec.options().Find("keepbits"));
  std::optional<int> dropped_bits;
  if (kept && !decoded.big_endian && decoded.type.kind == DataType::Kind::kFloat) {
    const int fraction_bits = FloatFormatOfSize(decoded.type.size).fraction_bits;
    UNSHARD_ASSIGN_OR_RETURN(const int bits,
                             spec.options().Integer("keepbits", 0, 0, fraction_bits));
    dropped_bits = fraction_bits - bits;
  }
  return std::make_shared<BitRound>(spec, decoded, dropped_bits);
}

}  // namespace

const CodecDefinition& BitRoundCodec() {
  static constexpr CodecDefinition::Name kNames[] = {{Dialect::kZarr3, "bitround"},
                                                     {Dialect::kZarr2, "bitround"}};
  static constexpr CodecDefinition kDefinition{
      .names = kNames, .bind = &BindBitRound, .dependence = Dependence::kItem, .keeps_zero = true};
  return kDefinition;
}

}  // namespace unshard
