// numcodecs' fixedscaleoffset: (value - offset) * scale, rounded to the nearest integer with ties
// to even, is stored as `astype`. It is computed in floats of 4 bytes where items are such, else of
// 8 bytes.
#include <array>
#include <cmath>
#include <memory>

#include "codec/codecs/codecs.h"
#include "codec/codecs/item_values.h"
#include "codec/codecs/typed_codec.h"
#include "codec/json/number.h"

namespace unshard {
namespace {

using Kind = DataType::Kind;

// Floats of 4 bytes: an operation in 8 bytes whose result is rounded to 4 has the result of one
// in 4.
double Rounded(double real, bool is_single) {
  return is_single ? static_cast<double>(static_cast<float>(real)) : real;
}

class FixedScaleOffset final : public TypedCodec {
 public:
  FixedScaleOffset(const CodecSpec& spec, const ArrayRepresentation& decoded,
                   const FilterTypes& types, double scale, double offset)
      : TypedCodec(spec, decoded, types, false), scale_(scale), offset_(offset) {}

  [[nodiscard]] bool may_refuse_encoded() const override { return IsInteger(plain_type()); }

 protected:
  [[nodiscard]] Result<Voxels> EncodeItems(Voxels plain) const override {
    const bool single = IsSingle(plain.type());
    const double offset = Rounded(offset_, single);
    const double scale = Rounded(scale_, single);
    const auto compute = [=](ValueBlock& values) {
      values.MakeReal();
      for (std::size_t i = 0; i < values.count; ++i) {
        const double moved = Rounded(values.reals[i] - offset, single);
        values.reals[i] = std::nearbyint(Rounded(moved * scale, single));
      }
    };
    return ConvertValues(plain, stored_type(), compute, ErrorCode::kInvalidArgument, name());
  }
  [[nodiscard]] Result<Voxels> DecodeItems(Voxels stored, ShapeSpan /*plain*/) const override {
    const bool single = IsSingle(stored.type());
    const double offset = Rounded(offset_, single);
    const double scale = Rounded(scale_, single);
    const auto compute = [=](ValueBlock& values) {
      values.MakeReal();
      for (std::size_t i = 0; i < values.count; ++i) {
        values.reals[i] = Rounded(Rounded(values.reals[i] / scale, single) + offset, single);
      }
    };
    return ConvertValues(stored, plain_type(), compute, ErrorCode::kDataLoss, name());
  }

 private:
  static bool IsSingle(const DataType& type) { return type.kind == Kind::kFloat && type.size == 4; }

  const double scale_;
  const double offset_;
};

Result<double> ParseReal(const CodecSpec& spec, const char* key) {
  UNSHARD_ASSIGN_OR_RETURN(const auto found, spec.options().Find(key));
  if (found) return FiniteNumberAt(*found);
  return Fail(ErrorCode::kDataLoss, spec.configuration_path(), ": expected the member \"", key,
              "\"");
}

Result<ArrayCodecPtr> BindFixedScaleOffset(const CodecSpec& spec,
                                           const ArrayRepresentation& decoded) {
  UNSHARD_ASSIGN_OR_RETURN(const NumpyType plain, ParseNumberType(spec, "dtype"));
  UNSHARD_ASSIGN_OR_RETURN(const NumpyType stored, ParseNumberType(spec, "astype", plain));
  UNSHARD_ASSIGN_OR_RETURN(const double scale, ParseReal(spec, "scale"));
  UNSHARD_ASSIGN_OR_RETURN(const double offset, ParseReal(spec, "offset"));
  if (scale == 0) {
    return Fail(ErrorCode::kDataLoss, spec.configuration_path(),
                ": expected a `scale` that is not 0");
  }
  UNSHARD_RETURN_IF_ERROR(RefuseOtherSize(spec, decoded, plain));
  return std::make_shared<FixedScaleOffset>(spec, decoded, FilterTypes{plain, stored}, scale,
                                            offset);
}

}  // namespace

const CodecDefinition& FixedScaleOffsetCodec() {
  static constexpr CodecDefinition::Name kNames[] = {{Dialect::kZarr2, "fixedscaleoffset"}};
  static constexpr CodecDefinition kDefinition{
      .names = kNames, .bind = &BindFixedScaleOffset, .dependence = Dependence::kItem};
  return kDefinition;
}

}  // namespace unshard
