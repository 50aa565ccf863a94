// scale_offset (zarr-extensions, codecs/scale_offset): (item - offset) * scale is stored, computed
// in the type of the items. Integers that overflow are refused, and stored integers that `scale`
// does not divide are damage.
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "codec/chain/codec_spec.h"
#include "codec/codecs/codecs.h"
#include "codec/codecs/item_values.h"
#include "codec/codecs/real_items.h"
#include "codec/core/float_format.h"
#include "codec/types/fill_value.h"

namespace unshard {
namespace {

using Kind = DataType::Kind;

// Nothing where the result does not fit.
template <class Item>
std::optional<Item> EncodedItem(Item item, Item scale, Item offset) {
  if constexpr (std::is_floating_point_v<Item>) {
    return (item - offset) * scale;
  } else {
    Item moved = 0, scaled = 0;
    if (__builtin_sub_overflow(item, offset, &moved)) return std::nullopt;
    if (__builtin_mul_overflow(moved, scale, &scaled)) return std::nullopt;
    return scaled;
  }
}

template <class Item>
std::optional<Item> DecodedItem(Item item, Item scale, Item offset) {
  if constexpr (std::is_floating_point_v<Item>) {
    return item / scale + offset;
  } else {
    Item moved = 0, divided = item;
    if (std::is_signed_v<Item> && scale == static_cast<Item>(-1)) {
      if (__builtin_sub_overflow(Item{0}, item, &divided)) return std::nullopt;
    } else {
      if (item % scale != 0) return std::nullopt;
      divided = static_cast<Item>(item / scale);
    }
    if (__builtin_add_overflow(divided, offset, &moved)) return std::nullopt;
    return moved;
  }
}

// Floats of 2 bytes: a result in 8 bytes, rounded to 2, is that of the operation in 2.
double RoundedTo(const FloatFormat& format, double value) {
  return format.ValueOf(format.Round(value));
}

class ScaleOffset final : public ArrayToArrayCodec {
 public:
  ScaleOffset(std::string name, const ArrayRepresentation& decoded, ByteVector scale,
              ByteVector offset)
      : name_(std::move(name)),
        encoded_{decoded.type, decoded.rank},
        scale_(std::move(scale)),
        offset_(std::move(offset)) {}

  [[nodiscard]] const ArrayRepresentation& encoded() const override { return encoded_; }
  // Integers that overflow are refused.
  [[nodiscard]] bool is_lossless() const override { return !IsFloat(); }
  // After a lossy codec an integer may be no multiple of the scale.
  [[nodiscard]] bool may_refuse_encoded() const override { return !IsFloat(); }
  [[nodiscard]] Result<Shape> EncodedShape(ShapeSpan decoded) const override {
    return Shape(decoded.begin(), decoded.end());
  }
  [[nodiscard]] Result<Voxels> Encode(Voxels decoded) const override {
    return Convert(
        std::move(decoded), ErrorCode::kInvalidArgument,
        [](auto item, auto scale, auto offset) { return EncodedItem(item, scale, offset); });
  }
  [[nodiscard]] Result<Voxels> Decode(Voxels encoded, ShapeSpan /*decoded*/) const override {
    return Convert(
        std::move(encoded), ErrorCode::kDataLoss,
        [](auto item, auto scale, auto offset) { return DecodedItem(item, scale, offset); });
  }

 private:
  [[nodiscard]] bool IsFloat() const {
    return encoded_.type.kind == Kind::kFloat || encoded_.type.kind == Kind::kBrainFloat;
  }

  template <class Compute>
  Result<Voxels> Convert(Voxels voxels, ErrorCode code, const Compute& compute) const {
    std::optional<std::size_t> refused;
    if (IsFloat() && encoded_.type.size == 2) {
      const bool is_brain = encoded_.type.kind == Kind::kBrainFloat;
      ConvertShortFloats(voxels.mutable_bytes(), is_brain ? kBrainFloat16 : kFloat16, code);
      return voxels;
    }
    VisitItemType(encoded_.type, [&](auto type) {
      using Item = decltype(type);
      const Item scale = LoadLe<Item>(scale_.data());
      const Item offset = LoadLe<Item>(offset_.data());
      std::size_t at = 0;
      ReplaceItems<Item>(voxels.mutable_bytes(), [&](Item item) {
        const std::optional<Item> result = compute(item, scale, offset);
        if (!result && !refused) refused = at;
        ++at;
        return result.value_or(item);
      });
    });
    if (!refused) return voxels;
    return Fail(code, name_, ": item ", *refused, " cannot be ",
                code == ErrorCode::kDataLoss ? "decoded to " : "stored as ",
                DataTypeName(encoded_.type));
  }

  void ConvertShortFloats(std::span<std::uint8_t> items, const FloatFormat& format,
                          ErrorCode code) const {
    const double scale = format.ValueOf(LoadLe<std::uint16_t>(scale_.data()));
    const double offset = format.ValueOf(LoadLe<std::uint16_t>(offset_.data()));
    ReplaceItems<std::uint16_t>(items, [&](std::uint16_t bits) {
      const double item = format.ValueOf(bits);
      const double result = code == ErrorCode::kDataLoss ? RoundedTo(format, item / scale) + offset
                                                         : RoundedTo(format, item - offset) * scale;
      return static_cast<std::uint16_t>(format.Round(result));
    });
  }

  const std::string name_;
  const ArrayRepresentation encoded_;
  const ByteVector scale_, offset_;  // an item each
};

Result<ArrayCodecPtr> BindScaleOffset(const CodecSpec& spec, const ArrayRepresentation& decoded) {
  const DataType& type = decoded.type;
  if (!IsRealType(type)) {
    return Fail(ErrorCode::kNotSupported, spec.at(), " takes integers and floats, not ",
                DataTypeName(type));
  }
  ByteVector scale(type.size), offset(type.size);
  StoreReal(1, type, scale.data());
  if (const JsonValue* const configuration = spec.configuration()) {
    const auto into = [&](ByteVector& item) {
      return [&](const JsonCursor& member) { return Assign(item, ParseFillValue(member, type)); };
    };
    UNSHARD_RETURN_IF_ERROR(JsonCursor(*configuration, spec.configuration_path())
                                .ReadMembers({{"scale", into(scale)}, {"offset", into(offset)}}));
  }
  if (LoadReal(scale.data(), type) == 0) {
    return Fail(ErrorCode::kDataLoss, spec.configuration_path(),
                ": expected a `scale` that is not 0");
  }
  return std::make_shared<ScaleOffset>(spec.name, decoded, std::move(scale), std::move(offset));
}

}  // namespace

const CodecDefinition& ScaleOffsetCodec() {
  static constexpr CodecDefinition::Name kNames[] = {{Dialect::kZarr3, "scale_offset"}};
  static constexpr CodecDefinition kDefinition{.names = kNames,
                                               .bind = &BindScaleOffset,
                                               .dependence = Dependence::kItem,
                                               .encodes_fill_value = true};
  return kDefinition;
}

}  // namespace unshard
