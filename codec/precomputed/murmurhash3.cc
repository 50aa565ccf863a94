// For keys of exactly 8 bytes only the tail and the finaliser of the general algorithm run.
#include "codec/precomputed/murmurhash3.h"

#include <bit>

namespace unshard {
namespace {

std::uint32_t Mix(std::uint32_t h) {
  h ^= h >> 16;
  h *= 0x85ebca6bU;
  h ^= h >> 13;
  h *= 0xc2b2ae35U;
  return h ^ h >> 16;
}

}  // namespace

std::uint64_t MurmurHash3X86_128Of64(std::uint64_t value) {
  constexpr std::uint32_t kLength = 8;
  constexpr std::uint32_t kC1 = 0x239b961bU;
  constexpr std::uint32_t kC2 = 0xab0e9789U;
  constexpr std::uint32_t kC3 = 0x38b34ae5U;
  const auto low = static_cast<std::uint32_t>(value);
  const auto high = static_cast<std::uint32_t>(value >> 32);

  std::uint32_t h1 = std::rotl(low * kC1, 15) * kC2 ^ kLength;
  std::uint32_t h2 = std::rotl(high * kC2, 16) * kC3 ^ kLength;
  // The third and fourth lane have no input and stay equal.
  std::uint32_t h34 = kLength;
  h1 += h2 + h34 + h34;
  h2 += h1;
  h34 += h1;

  h1 = Mix(h1);
  h2 = Mix(h2);
  h34 = Mix(h34);
  h1 += h2 + h34 + h34;
  h2 += h1;
  return static_cast<std::uint64_t>(h2) << 32 | h1;
}

}  // namespace unshard
