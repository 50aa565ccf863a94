#include "codec/core/float_format.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace unshard {
namespace {

int BiasOf(const FloatFormat& format) { return (1 << (format.exponent_bits - 1)) - 1; }

}  // namespace

std::uint64_t FloatFormat::Round(double value) const {
  const std::uint64_t signed_zero = std::signbit(value) ? sign() : 0;
  if (std::isnan(value)) return signed_zero | nan();
  if (std::isinf(value)) return signed_zero | infinity();
  if (value == 0) return signed_zero;
  int exponent = 0;
  std::frexp(value, &exponent);  // |value| in [2^(exponent-1), 2^exponent)
  exponent = std::max(exponent - 1, 1 - BiasOf(*this));
  // In units of the last place. A mantissa that rounds up to the next power of two carries into the
  // exponent by itself; so do subnormal values that become normal.
  const double units = std::nearbyint(std::ldexp(std::fabs(value), fraction_bits - exponent));
  const auto biased = static_cast<std::uint64_t>(exponent + BiasOf(*this) - 1);
  const auto magnitude = (biased << fraction_bits) + static_cast<std::uint64_t>(units);
  return signed_zero | std::min(magnitude, infinity());
}

double FloatFormat::ValueOf(std::uint64_t value) const {
  const std::uint64_t fraction = value & ((std::uint64_t{1} << fraction_bits) - 1);
  const auto biased = static_cast<int>((value & infinity()) >> fraction_bits);
  const std::uint64_t units = biased == 0 ? fraction : fraction | std::uint64_t{1} << fraction_bits;
  double magnitude =
      std::ldexp(static_cast<double>(units), std::max(biased, 1) - BiasOf(*this) - fraction_bits);
  if ((value & infinity()) == infinity()) {
    magnitude = fraction == 0 ? std::numeric_limits<double>::infinity()
                              : std::numeric_limits<double>::quiet_NaN();
  }
  return (value & sign()) != 0 ? -magnitude : magnitude;
}

}  // namespace unshard
