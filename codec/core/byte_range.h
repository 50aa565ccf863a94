// Half-open byte ranges and arithmetic on untrusted 64-bit offsets that cannot overflow.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace unshard {

// The bytes [begin, begin + size) of one stored object. Made by MakeByteRange, or from checked
// numbers, so that end() does not overflow.
struct ByteRange {
  std::uint64_t begin = 0;
  std::uint64_t size = 0;

  [[nodiscard]] std::uint64_t end() const { return begin + size; }
  friend bool operator==(const ByteRange&, const ByteRange&) = default;
};

// a + b, or nothing on overflow.
inline std::optional<std::uint64_t> CheckedAdd(std::uint64_t a, std::uint64_t b) {
  std::uint64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) return std::nullopt;
  return sum;
}

// a * b, or nothing on overflow.
inline std::optional<std::uint64_t> CheckedMultiply(std::uint64_t a, std::uint64_t b) {
  std::uint64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) return std::nullopt;
  return product;
}

// The product of all `factors`, or nothing on overflow.
inline std::optional<std::uint64_t> CheckedProduct(std::span<const std::uint64_t> factors) {
  std::optional<std::uint64_t> product = 1;
  for (const std::uint64_t factor : factors) {
    if (product) product = CheckedMultiply(*product, factor);
  }
  return product;
}

// The range of `size` bytes at `begin`, or nothing where it ends beyond `limit`.
inline std::optional<ByteRange> MakeByteRange(std::uint64_t begin, std::uint64_t size,
                                              std::uint64_t limit) {
  const auto end = CheckedAdd(begin, size);
  if (!end || *end > limit) return std::nullopt;
  return ByteRange{begin, size};
}

}  // namespace unshard
