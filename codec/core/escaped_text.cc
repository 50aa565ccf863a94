#include "codec/core/escaped_text.h"

#include <array>
#include <cstddef>
#include <cstdint>

#include "codec/core/text.h"

namespace unshard {
namespace {

constexpr std::string_view kNul("\0", 1);
constexpr std::uint32_t kFirstSurrogate = 0xD800;
constexpr std::uint32_t kLastSurrogate = 0xDFFF;
constexpr std::uint32_t kLastCodePoint = 0x10FFFF;
constexpr std::uint32_t kLastControl = 0x9F;  // of the C1 controls, which follow DEL

// The UTF-8 character at the front of `text`; size 0 where there is none: a stray or truncated
// sequence, an overlong encoding, a surrogate, a number above U+10FFFF.
struct Character {
  std::size_t size = 0;
  std::uint32_t code = 0;
};
Character FrontCharacter(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const std::uint32_t first = byte(0);
  if (first < 0x80) return {1, first};
  const std::size_t size = first < 0xC0   ? 0
                           : first < 0xE0 ? 2
                           : first < 0xF0 ? 3
                           : first < 0xF8 ? 4
                                          : 0;
  if (size == 0 || text.size() < size) return {};
  std::uint32_t code = first & (0x7FU >> size);
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xC0U) != 0x80) return {};
    code = code << 6 | (byte(i) & 0x3FU);
  }
  constexpr std::array<std::uint32_t, 5> kSmallest = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code >= kFirstSurrogate && code <= kLastSurrogate;
  if (code < kSmallest.at(size) || surrogate || code > kLastCodePoint) return {};
  return {size, code};
}

// `text` with `prefix` and two hexadecimal digits in place of each byte that belongs to no
// character, or to a character that is not `is_plain`.
template <typename IsPlain>
std::string Escaped(std::string_view text, std::string_view prefix, const IsPlain& is_plain) {
  std::string escaped;
  escaped.reserve(text.size());
  while (!text.empty()) {
    const Character front = FrontCharacter(text);
    const std::size_t size = front.size == 0 ? 1 : front.size;
    if (front.size != 0 && is_plain(front.code)) {
      escaped += text.substr(0, size);
    } else {
      for (const char byte : text.substr(0, size)) {
        escaped.append(prefix).append(HexText(static_cast<unsigned char>(byte), 2));
      }
    }
    text.remove_prefix(size);
  }
  return escaped;
}

}  // namespace

std::string EscapeBytes(std::string_view text) {
  return Escaped(text, kNul, [](std::uint32_t code) { return code != 0; });
}

std::string UnescapeBytes(std::string_view text) {
  std::string bytes;
  bytes.reserve(text.size());
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '\0') {
      bytes += text[at];
      continue;
    }
    const std::string_view digits = text.substr(at + 1, 2);
    const auto byte = ParseNumber<unsigned char>(digits, 16);
    if (!byte || HexText(*byte, 2) != digits) return std::string(text);
    bytes += static_cast<char>(*byte);
    at += 2;
  }
  return bytes;
}

std::string Printable(std::string_view text) {
  return Escaped(text, "\\x", [](std::uint32_t code) {
    return code >= ' ' && (code < 0x7F || code > kLastControl);
  });
}

}  // namespace unshard
