// numcodecs' astype: values of `decode_dtype` are stored as `encode_dtype`.
#include <array>
#include <memory>

#include "codec/codecs/codecs.h"
#include "codec/codecs/item_values.h"
#include "codec/codecs/typed_codec.h"

namespace unshard {
namespace {

using Kind = DataType::Kind;

class AsType final : public TypedCodec {
 public:
  using TypedCodec::TypedCodec;

  [[nodiscard]] bool may_refuse_encoded() const override {
    return stored_type().kind == Kind::kFloat && IsInteger(plain_type());
  }

 protected:
  [[nodiscard]] Result<Voxels> EncodeItems(Voxels plain) const override {
    return ConvertValues(plain, stored_type(), Keep, ErrorCode::kInvalidArgument, name());
  }
  [[nodiscard]] Result<Voxels> DecodeItems(Voxels stored, ShapeSpan /*plain*/) const override {
    return ConvertValues(stored, plain_type(), Keep, ErrorCode::kDataLoss, name());
  }

 private:
  static void Keep(ValueBlock& /*values*/) {}
};

// Whether every value of `from` is unchanged after a conversion to `to` and back.
bool HoldsEach(const DataType& from, const DataType& to) {
  if (from == to || from.kind == Kind::kBool) return true;
  if (to.kind == Kind::kBool) return false;
  if (to.kind == Kind::kFloat) {
    const unsigned digits = to.size == 4 ? 24 : 53;
    return from.kind != Kind::kFloat ? 8 * from.size <= digits : from.size <= to.size;
  }
  if (from.kind == Kind::kFloat) return false;
  if (from.kind == to.kind) return from.size <= to.size;
  // Integers keep their lower bits: those of the same width are unchanged after both conversions.
  return from.kind == Kind::kUnsigned ? from.size <= to.size : from.size == to.size;
}

Result<ArrayCodecPtr> BindAsType(const CodecSpec& spec, const ArrayRepresentation& decoded) {
  UNSHARD_ASSIGN_OR_RETURN(const NumpyType plain, ParseNumberType(spec, "decode_dtype"));
  UNSHARD_ASSIGN_OR_RETURN(const NumpyType stored, ParseNumberType(spec, "encode_dtype"));
  UNSHARD_RETURN_IF_ERROR(RefuseOtherSize(spec, decoded, plain));
  return std::make_shared<AsType>(spec, decoded, FilterTypes{plain, stored},
                                  HoldsEach(plain.type, stored.type));
}

}  // namespace

const CodecDefinition& AsTypeCodec() {
  static constexpr CodecDefinition::Name kNames[] = {{Dialect::kZarr2, "astype"}};
  static constexpr CodecDefinition kDefinition{
      .names = kNames, .bind = &BindAsType, .dependence = Dependence::kItem, .keeps_zero = true};
  return kDefinition;
}

}  // namespace unshard
