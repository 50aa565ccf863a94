// Byte vocabulary: spans, shared immutable buffers, and loads and stores of fixed-width integers.
#pragma once

#include <cstddef>
#include <cstdint>
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

// Loads at any alignment. Requires: `at` has as many bytes as the integer.
inline std::uint32_t LoadU32Le(const std::uint8_t* at) {
  return static_cast<std::uint32_t>(at[0]) | static_cast<std::uint32_t>(at[1]) << 8 |
         static_cast<std::uint32_t>(at[2]) << 16 | static_cast<std::uint32_t>(at[3]) << 24;
}

inline std::uint32_t LoadU16Be(const std::uint8_t* at) {
  return static_cast<std::uint32_t>(at[0]) << 8 | at[1];
}

inline std::uint32_t LoadU32Be(const std::uint8_t* at) {
  return LoadU16Be(at) << 16 | LoadU16Be(at + 2);
}

inline std::uint64_t LoadU64Le(const std::uint8_t* at) {
  return static_cast<std::uint64_t>(LoadU32Le(at)) | static_cast<std::uint64_t>(LoadU32Le(at + 4))
                                                         << 32;
}

inline void StoreU32Le(std::uint8_t* at, std::uint32_t value) {
  for (int i = 0; i < 4; ++i) at[i] = static_cast<std::uint8_t>(value >> (8 * i));
}

inline void StoreU64Le(std::uint8_t* at, std::uint64_t value) {
  for (int i = 0; i < 8; ++i) at[i] = static_cast<std::uint8_t>(value >> (8 * i));
}

inline void AppendU32Le(ByteVector& to, std::uint32_t value) {
  to.resize(to.size() + 4);
  StoreU32Le(to.data() + to.size() - 4, value);
}

inline void AppendU64Le(ByteVector& to, std::uint64_t value) {
  to.resize(to.size() + 8);
  StoreU64Le(to.data() + to.size() - 8, value);
}

}  // namespace unshard
