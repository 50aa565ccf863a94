// cast_value (zarr-extensions, codecs/cast_value): items are stored as those of another type. The
// same rules hold in both directions. Of each item, in this order:
//
//   1. The first entry of scalar_map that has its value decides. NaN is equal to NaN there.
//   2. A value that the other type has is stored as it is: NaN and infinities in floats.
//   3. A finite value is rounded to the type.
//   4. If the result lies outside of the type's range, out_of_range decides.
//   5. All else cannot be stored.
#include <array>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "codec/chain/codec_spec.h"
#include "codec/codecs/codecs.h"
#include "codec/codecs/item_values.h"
#include "codec/codecs/real_items.h"
#include "codec/types/data_type.h"
#include "codec/types/fill_value.h"

namespace unshard {
namespace {

enum class OutOfRange : std::uint8_t { kError, kClamp, kWrap };

// What the codec does to items of one type, in one direction.
struct CastRules {
  DataType from, to;
  Rounding rounding = Rounding::kNearestEven;
  OutOfRange out_of_range = OutOfRange::kError;
  std::vector<std::pair<Real, ByteVector>> map{};
};

bool IsSame(Real a, Real b) { return a == b || (std::isnan(a) && std::isnan(b)); }

class CastItems {
 public:
  explicit CastItems(const CastRules& rules) : rules_(rules), range_(RangeOf(rules.to)) {}

  // False where the item cannot be stored.
  bool Cast(const std::uint8_t* from, std::uint8_t* to) const {
    const Real value = LoadReal(from, rules_.from);
    for (const auto& [key, mapped] : rules_.map) {  // 1
      if (!IsSame(key, value)) continue;
      std::copy(mapped.begin(), mapped.end(), to);
      return true;
    }
    if (!std::isfinite(value)) {  // 2
      if (IsInteger(rules_.to)) return false;
      StoreReal(value, rules_.to, to);
      return true;
    }
    Real rounded = RoundTo(rules_.to, value, rules_.rounding);                // 3
    if (!range_.Contains(rounded) && !BringIntoRange(rounded)) return false;  // 4
    // The sign of 0 survives in floats alone.
    StoreReal(rounded, rules_.to, to);
    return true;
  }

 private:
  bool BringIntoRange(Real& value) const {
    if (rules_.out_of_range == OutOfRange::kError) return false;
    if (rules_.out_of_range == OutOfRange::kWrap) {
      const Real count = range_.most - range_.least + 1;
      value = std::fmod(value, count);
      if (value < range_.least) value += count;
      if (value > range_.most) value -= count;
      return true;
    }
    if (IsInteger(rules_.to)) {
      value = value < range_.least ? range_.least : range_.most;
    } else {
      value = std::copysign(std::numeric_limits<Real>::infinity(), value);
    }
    return true;
  }

  const CastRules& rules_;
  const RealRange range_;
};

Result<Voxels> CastAll(const CastRules& rules, const Voxels& from, ErrorCode code,
                       const std::string& codec) {
  const std::size_t count = from.bytes().size() / rules.from.size;
  ByteVector converted(count * rules.to.size);
  const CastItems cast(rules);
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint8_t* const item = from.bytes().data() + i * rules.from.size;
    if (cast.Cast(item, converted.data() + i * rules.to.size)) continue;
    return Fail(code, codec, ": item ", i, ": ",
                std::to_string(static_cast<double>(LoadReal(item, rules.from))),
                " does not fit in ", DataTypeName(rules.to));
  }
  return Voxels::Make(rules.to, from.shape(), std::move(converted));
}

class CastValue final : public ArrayToArrayCodec {
 public:
  CastValue(std::string name, std::size_t rank, CastRules encode, CastRules decode)
      : name_(std::move(name)),
        encode_(std::move(encode)),
        decode_(std::move(decode)),
        encoded_{encode_.to, rank} {}

  [[nodiscard]] const ArrayRepresentation& encoded() const override { return encoded_; }
  // For integers that all are in the other type. Of NaNs only the sign is kept. The largest integer
  // has as many binary digits as any.
  [[nodiscard]] bool is_lossless() const override {
    const RealRange from = RangeOf(encode_.from), to = RangeOf(encode_.to);
    return encode_.map.empty() && decode_.map.empty() && IsInteger(encode_.from) &&
           to.Contains(from.least) && to.Contains(from.most) &&
           RoundTo(encode_.to, from.most, Rounding::kNearestEven) == from.most;
  }
  [[nodiscard]] bool may_refuse_encoded() const override { return true; }
  [[nodiscard]] Result<Shape> EncodedShape(ShapeSpan decoded) const override {
    return Shape(decoded.begin(), decoded.end());
  }
  [[nodiscard]] Result<Voxels> Encode(Voxels decoded) const override {
    return CastAll(encode_, decoded, ErrorCode::kInvalidArgument, name_);
  }
  [[nodiscard]] Result<Voxels> Decode(Voxels encoded, ShapeSpan /*decoded*/) const override {
    return CastAll(decode_, encoded, ErrorCode::kDataLoss, name_);
  }

 private:
  const std::string name_;
  const CastRules encode_, decode_;
  const ArrayRepresentation encoded_;
};

constexpr std::array<std::string_view, 2> kOutOfRange = {"clamp", "wrap"};

// Pairs of an item of `from` and one of `to`.
Status ReadMap(const JsonCursor& pairs, CastRules& rules) {
  UNSHARD_ASSIGN_OR_RETURN(const auto items, pairs.Items());
  for (const JsonCursor& each : items) {
    UNSHARD_ASSIGN_OR_RETURN(const auto pair, each.Items());
    if (pair.size() != 2) return each.Expected("a pair of an item and what it becomes");
    const bool has_sign = pair[0].value().is_string() && pair[0].value().text() == "+Infinity";
    const JsonValue spelled = has_sign ? JsonValue::String("Infinity") : pair[0].value();
    UNSHARD_ASSIGN_OR_RETURN(const ByteVector key,
                             ParseFillValue(JsonCursor(spelled, pair[0].path()), rules.from));
    UNSHARD_ASSIGN_OR_RETURN(ByteVector mapped, ParseFillValue(pair[1], rules.to));
    rules.map.emplace_back(LoadReal(key.data(), rules.from), std::move(mapped));
  }
  return {};
}

// The position of a word in a list.
template <std::size_t count>
Result<std::size_t> PositionOf(const JsonCursor& word,
                               const std::array<std::string_view, count>& words) {
  UNSHARD_ASSIGN_OR_RETURN(const std::string text, word.String());
  std::string expected;
  for (std::size_t i = 0; i < count; ++i) {
    if (words[i] == text) return i;
    expected += (i == 0 ? "\"" : i + 1 == count ? " or \"" : ", \"") + std::string(words[i]) + "\"";
  }
  return word.Expected(expected);
}

Result<DataType> RealTypeAt(const JsonCursor& member) {
  UNSHARD_ASSIGN_OR_RETURN(const JsonValue json, NormaliseExtension(member));
  const std::string name = TextOf(json, "name");
  const auto type = FindDataType(DataTypeDialect::kZarr, name);
  if (type && IsRealType(*type)) return *type;
  return Fail(ErrorCode::kNotSupported, member.path(), ": unsupported data type \"", name, "\"");
}

Result<ArrayCodecPtr> BindCastValue(const CodecSpec& spec, const ArrayRepresentation& decoded) {
  if (!IsRealType(decoded.type)) {
    return Fail(ErrorCode::kNotSupported, spec.at(), " takes integers and floats, not ",
                DataTypeName(decoded.type));
  }
  CastRules encode{decoded.type, decoded.type}, decode{decoded.type, decoded.type};
  UNSHARD_ASSIGN_OR_RETURN(const JsonCursor type, spec.options().Member("data_type"));
  UNSHARD_ASSIGN_OR_RETURN(encode.to, RealTypeAt(type));
  decode.from = encode.to;
  const auto read_rounding = [&](const JsonCursor& member) -> Status {
    UNSHARD_ASSIGN_OR_RETURN(const std::size_t position, PositionOf(member, kRoundings));
    encode.rounding = decode.rounding = static_cast<Rounding>(position);
    return {};
  };
  const auto read_range = [&](const JsonCursor& member) -> Status {
    UNSHARD_ASSIGN_OR_RETURN(const std::size_t position, PositionOf(member, kOutOfRange));
    encode.out_of_range = decode.out_of_range =
        position == 0 ? OutOfRange::kClamp : OutOfRange::kWrap;
    if (position == 0 || IsInteger(encode.to)) return {};
    return Fail(ErrorCode::kDataLoss, member.path(), ": \"wrap\" is of integers, not of ",
                DataTypeName(encode.to));
  };
  const auto read_maps = [&](const JsonCursor& member) -> Status {
    return member.ReadMembers({{"encode", [&](const auto& map) { return ReadMap(map, encode); }},
                               {"decode", [&](const auto& map) { return ReadMap(map, decode); }}});
  };
  UNSHARD_RETURN_IF_ERROR(JsonCursor(*spec.configuration(), spec.configuration_path())
                              .ReadMembers({{"data_type", [](const auto&) { return Status(); }},
                                            {"rounding", read_rounding},
                                            {"out_of_range", read_range},
                                            {"scalar_map", read_maps}}));
  return std::make_shared<CastValue>(spec.name, decoded.rank, std::move(encode), std::move(decode));
}

}  // namespace

const CodecDefinition& CastValueCodec() {
  static constexpr CodecDefinition::Name kNames[] = {{Dialect::kZarr3, "cast_value"}};
  static constexpr CodecDefinition kDefinition{.names = kNames,
                                               .bind = &BindCastValue,
                                               .dependence = Dependence::kItem,
                                               .encodes_fill_value = true};
  return kDefinition;
}

}  // namespace unshard
