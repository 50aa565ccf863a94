// Items as real numbers, for codecs that convert between types by rules of their own. Pure;
// thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <string_view>

#include "codec/types/data_type.h"

namespace unshard {

// Holds every integer of 64 bits and every float of up to 8 bytes exactly.
using Real = long double;
static_assert(std::numeric_limits<Real>::digits >= 64);

// Whether items are integers or floats.
bool IsRealType(const DataType& type);
// An item of such a type.
Real LoadReal(const std::uint8_t* item, const DataType& type);
// The inverse, for a value that the type has. A NaN keeps its sign alone.
void StoreReal(Real value, const DataType& type, std::uint8_t* item);

// The smallest and the largest finite value of a type.
struct RealRange {
  Real least, most;
  [[nodiscard]] bool Contains(Real value) const { return value >= least && value <= most; }
};
RealRange RangeOf(const DataType& type);

enum class Rounding : std::uint8_t {
  kNearestEven,
  kTowardsZero,
  kTowardsPositive,
  kTowardsNegative,
  kNearestAway
};
// Their names in Zarr v3, in this order.
inline constexpr std::array<std::string_view, 5> kRoundings = {
    "nearest-even", "towards-zero", "towards-positive", "towards-negative", "nearest-away"};

// The neighbour of a finite value that the type would have if its range had no end.
Real RoundTo(const DataType& type, Real value, Rounding rounding);

}  // namespace unshard
