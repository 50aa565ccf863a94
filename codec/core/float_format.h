// Binary floating-point formats: rounding to them, and back. Pure; thread-safe.
#pragma once

#include <cstdint>

namespace unshard {

// A format with the layout of IEEE 754. Its values are in the lowest bits().
struct FloatFormat {
  std::uint32_t size;  // bytes
  int exponent_bits;
  int fraction_bits;

  [[nodiscard]] int bits() const { return 1 + exponent_bits + fraction_bits; }
  [[nodiscard]] std::uint64_t infinity() const {
    return ((std::uint64_t{1} << exponent_bits) - 1) << fraction_bits;
  }
  // The NaN without a sign and with one bit in its fraction, which Zarr v3 prescribes.
  [[nodiscard]] std::uint64_t nan() const {
    return infinity() | std::uint64_t{1} << (fraction_bits - 1);
  }
  [[nodiscard]] std::uint64_t sign() const { return std::uint64_t{1} << (bits() - 1); }

  // The bits of the nearest value, with ties to even: an infinity beyond the largest one, nan()
  // with the sign of `value` for a NaN.
  [[nodiscard]] std::uint64_t Round(double value) const;
  // The inverse; exact, but that a NaN keeps nothing except its sign.
  [[nodiscard]] double ValueOf(std::uint64_t value) const;
};

inline constexpr FloatFormat kFloat16 = {2, 5, 10};
inline constexpr FloatFormat kBrainFloat16 = {2, 8, 7};
inline constexpr FloatFormat kFloat32 = {4, 8, 23};
inline constexpr FloatFormat kFloat64 = {8, 11, 52};

// IEEE 754 of 2, 4 or 8 bytes.
inline const FloatFormat& FloatFormatOfSize(std::uint32_t size) {
  return size == 2 ? kFloat16 : size == 4 ? kFloat32 : kFloat64;
}

}  // namespace unshard
