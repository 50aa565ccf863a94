#include "codec/codecs/real_items.h"

#include <algorithm>
#include <cmath>

#include "codec/core/bytes.h"
#include "codec/core/float_format.h"

namespace unshard {
namespace {

using Kind = DataType::Kind;

bool IsFloat(const DataType& type) {
  return type.kind == Kind::kFloat || type.kind == Kind::kBrainFloat;
}

const FloatFormat& FormatOf(const DataType& type) {
  return type.kind == Kind::kBrainFloat ? kBrainFloat16 : FloatFormatOfSize(type.size);
}

Real RoundToWhole(Real value, Rounding rounding) {
  switch (rounding) {
    case Rounding::kTowardsZero:
      return std::trunc(value);
    case Rounding::kTowardsPositive:
      return std::ceil(value);
    case Rounding::kTowardsNegative:
      return std::floor(value);
    case Rounding::kNearestAway:
      return std::round(value);
    case Rounding::kNearestEven:
      break;
  }
  const Real away = std::round(value);
  const bool is_tie = std::abs(away - value) == 0.5L;
  return is_tie && std::fmod(away, 2.0L) != 0 ? away - std::copysign(1.0L, value) : away;
}

}  // namespace

bool IsRealType(const DataType& type) {
  return IsFloat(type) || type.kind == Kind::kSigned || type.kind == Kind::kUnsigned;
}

Real LoadReal(const std::uint8_t* item, const DataType& type) {
  const std::uint64_t bits = LoadLe(item, type.size);
  if (IsFloat(type)) return static_cast<Real>(FormatOf(type).ValueOf(bits));
  if (type.kind == Kind::kUnsigned) return static_cast<Real>(bits);
  const unsigned unused = 64 - 8 * type.size;
  return static_cast<Real>(static_cast<std::int64_t>(bits << unused) >> unused);
}

void StoreReal(Real value, const DataType& type, std::uint8_t* item) {
  std::uint64_t bits = 0;
  if (IsFloat(type)) {
    bits = FormatOf(type).Round(static_cast<double>(value));
  } else if (value < 0) {
    bits = static_cast<std::uint64_t>(static_cast<std::int64_t>(value));
  } else {
    bits = static_cast<std::uint64_t>(value);
  }
  for (std::uint32_t i = 0; i < type.size; ++i) item[i] = static_cast<std::uint8_t>(bits >> 8 * i);
}

RealRange RangeOf(const DataType& type) {
  if (IsFloat(type)) {
    const FloatFormat& format = FormatOf(type);
    const auto most = static_cast<Real>(format.ValueOf(format.infinity() - 1));
    return {-most, most};
  }
  const int bits = 8 * static_cast<int>(type.size);
  if (type.kind == Kind::kUnsigned) return {0, std::ldexp(1.0L, bits) - 1};
  const Real end = std::ldexp(1.0L, bits - 1);
  return {-end, end - 1};
}

Real RoundTo(const DataType& type, Real value, Rounding rounding) {
  if (!IsFloat(type)) return RoundToWhole(value, rounding);
  const FloatFormat& format = FormatOf(type);
  const int least_exponent = 2 - (1 << (format.exponent_bits - 1));
  const int exponent = value == 0 ? least_exponent : std::max(std::ilogb(value), least_exponent);
  const int step = exponent - format.fraction_bits;
  return std::ldexp(RoundToWhole(std::ldexp(value, -step), rounding), step);
}

}  // namespace unshard
