// numcodecs' quantize: rounds floats to a multiple of a power of two when it encodes, and changes
// nothing when it decodes. Other items are only decoded.
#include <array>
#include <cmath>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "codec/codecs/codecs.h"
#include "codec/codecs/item_values.h"
#include "codec/codecs/typed_codec.h"

namespace unshard {
namespace {

class Quantize final : public TypedCodec {
 public:
  // Without a scale it cannot be encoded.
  Quantize(const CodecSpec& spec, const ArrayRepresentation& decoded, const NumpyType& type,
           std::optional<double> scale)
      : TypedCodec(spec, decoded, {type, type}, false), scale_(scale) {}

  [[nodiscard]] Status CanEncode() const override {
    if (scale_) return {};
    return EncodesOnlyFloats(name());
  }

 protected:
  [[nodiscard]] Result<Voxels> EncodeItems(Voxels plain) const override {
    if (plain.type().size == 4) {
      Round(plain.mutable_bytes(), static_cast<float>(*scale_));
    } else {
      Round(plain.mutable_bytes(), *scale_);
    }
    return plain;
  }
  [[nodiscard]] Result<Voxels> DecodeItems(Voxels stored, ShapeSpan /*plain*/) const override {
    return stored;
  }

 private:
  // To multiples of 1 / scale.
  template <class Real>
  static void Round(std::span<std::uint8_t> items, Real scale) {
    ReplaceItems<Real>(items, [=](Real item) { return std::nearbyint(scale * item) / scale; });
  }

  const std::optional<double> scale_;
};

// As in numcodecs: the power of two with enough bits for so many decimal digits after the point.
double ScaleOf(int digits) {
  const double exponent = std::log10(std::pow(10.0, -digits));
  const double whole = exponent < 0 ? std::floor(exponent) : std::ceil(exponent);
  return std::exp2(std::ceil(std::log2(std::pow(10.0, -whole))));
}

constexpr int kMaxDigits = 300;

Result<ArrayCodecPtr> BindQuantize(const CodecSpec& spec, const ArrayRepresentation& decoded) {
  UNSHARD_ASSIGN_OR_RETURN(const NumpyType plain, ParseItemType(spec, "dtype"));
  UNSHARD_ASSIGN_OR_RETURN(const NumpyType stored, ParseItemType(spec, "astype", plain));
  if (!(plain.type == stored.type) || plain.big_endian != stored.big_endian) {
    return Fail(ErrorCode::kNotSupported, spec.configuration_path(),
                ": quantize from one type to another is not supported");
  }
  UNSHARD_ASSIGN_OR_RETURN(const auto digits, spec.options().Find("digits"));
  std::optional<double> scale;
  if (digits) {
    UNSHARD_ASSIGN_OR_RETURN(const int number,
                             spec.options().Integer("digits", 0, -kMaxDigits, kMaxDigits));
    const bool is_float = plain.type.kind == DataType::Kind::kFloat && plain.type.size >= 4;
    if (is_float) scale = ScaleOf(number);
  }
  UNSHARD_RETURN_IF_ERROR(RefuseOtherSize(spec, decoded, plain));
  return std::make_shared<Quantize>(spec, decoded, plain, scale);
}

}  // namespace

const CodecDefinition& QuantizeCodec() {
  static constexpr CodecDefinition::Name kNames[] = {{Dialect::kZarr2, "quantize"}};
  static constexpr CodecDefinition kDefinition{
      .names = kNames, .bind = &BindQuantize, .dependence = Dependence::kItem, .keeps_zero = true};
  return kDefinition;
}

}  // namespace unshard
