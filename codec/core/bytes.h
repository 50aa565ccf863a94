// Byte vocabulary: spans, shared immutable buffers, and loads and stores of numbers in both byte
// orders.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace unshard {

using ByteSpan = std::span<const std::uint8_t>;
using ByteVector = std::vector<std::uint8_t>;

// An immutable, shared slice of bytes. Copies are cheap and safe to read from any thread.
class Bytes {
 public:
  Bytes() = default;
  explicit Bytes(ByteVector bytes)
      : owner_(std::make_shared<const ByteVector>(std::move(bytes))), span_(*owner_) {}

  [[nodiscard]] ByteSpan span() const { return span_; }
  [[nodiscard]] const std::uint8_t* data() const { return span_.data(); }
  [[nodiscard]] std::size_t size() const { return span_.size(); }
  [[nodiscard]] bool empty() const { return span_.empty(); }

  // The bytes [begin, begin + size) of this slice. Requires: they lie within it.
  [[nodiscard]] Bytes Slice(std::size_t begin, std::size_t size) const {
    Bytes slice = *this;
    slice.span_ = span_.subspan(begin, size);
    return slice;
  }

 private:
  std::shared_ptr<const ByteVector> owner_;
  ByteSpan span_;
};

inline ByteSpan AsBytes(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

inline std::string_view AsText(ByteSpan bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Loads and stores at any alignment. Requires: `at` has as many bytes as the number.

static_assert(std::endian::native == std::endian::little, "numbers in memory are little-endian");

// A little-endian number of the type Number: an integer, or a float of IEEE 754.
template <class Number>
Number LoadLe(const std::uint8_t* at) {
  Number number;
  std::memcpy(&number, at, sizeof(Number));
  return number;
}

template <class Number>
void StoreLe(std::uint8_t* at, Number number) {
  std::memcpy(at, &number, sizeof(Number));
}

// A little-endian integer of `size` bytes, at most 8.
inline std::uint64_t LoadLe(const std::uint8_t* at, std::size_t size) {
  std::uint64_t value = 0;
  for (std::size_t i = size; i-- > 0;) value = value << 8 | at[i];
  return value;
}

inline void StoreLe(std::uint8_t* at, std::uint64_t value, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) at[i] = static_cast<std::uint8_t>(value >> (8 * i));
}

inline void AppendLe(ByteVector& to, std::uint64_t value, std::size_t size) {
  to.resize(to.size() + size);
  StoreLe(to.data() + to.size() - size, value, size);
}

inline std::uint32_t LoadU32Le(const std::uint8_t* at) { return LoadLe<std::uint32_t>(at); }
inline std::uint64_t LoadU64Le(const std::uint8_t* at) { return LoadLe<std::uint64_t>(at); }
inline void StoreU32Le(std::uint8_t* at, std::uint32_t value) { StoreLe(at, value); }
inline void StoreU64Le(std::uint8_t* at, std::uint64_t value) { StoreLe(at, value); }
inline void AppendU32Le(ByteVector& to, std::uint32_t value) { AppendLe(to, value, 4); }
inline void AppendU64Le(ByteVector& to, std::uint64_t value) { AppendLe(to, value, 8); }

inline std::uint32_t LoadU16Be(const std::uint8_t* at) {
  return static_cast<std::uint32_t>(at[0]) << 8 | at[1];
}

inline std::uint32_t LoadU32Be(const std::uint8_t* at) {
  return LoadU16Be(at) << 16 | LoadU16Be(at + 2);
}

inline void AppendU16Be(ByteVector& to, std::uint32_t value) {
  to.push_back(static_cast<std::uint8_t>(value >> 8));
  to.push_back(static_cast<std::uint8_t>(value));
}

inline void AppendU32Be(ByteVector& to, std::uint32_t value) {
  AppendU16Be(to, value >> 16);
  AppendU16Be(to, value);
}

}  // namespace unshard
