// A set of keys in bounded memory, which only grows.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

namespace unshard {

// A Bloom filter: a key that was added is always found; of others a few are found as well, the more
// the more were added (1 in 100 after 100 000 keys, nearly all after some millions). Takes no
// memory while it is empty, and 128 KiB then.
class KeyFilter {
 public:
  void Add(std::string_view key) {
    if (words_.empty()) words_.resize(kBits / 64);
    for (const std::uint64_t bit : BitsOf(key)) words_[bit / 64] |= std::uint64_t{1} << (bit % 64);
  }
  [[nodiscard]] bool MayHold(std::string_view key) const {
    if (words_.empty()) return false;
    for (const std::uint64_t bit : BitsOf(key)) {
      if ((words_[bit / 64] >> (bit % 64) & 1) == 0) return false;
    }
    return true;
  }

 private:
  static constexpr std::uint64_t kBits = std::uint64_t{1} << 20;

  static std::array<std::uint64_t, 4> BitsOf(std::string_view key) {
    const std::uint64_t hash = std::hash<std::string_view>{}(key);
    const std::uint64_t step = (hash >> 32) | 1;  // odd: all four differ
    std::array<std::uint64_t, 4> bits{};
    for (std::size_t i = 0; i < bits.size(); ++i) bits[i] = (hash + i * step) % kBits;
    return bits;
  }

  std::vector<std::uint64_t> words_;
};

}  // namespace unshard
