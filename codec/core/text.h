// Parsing and writing of the small pieces that metadata, headers and settings are made of: digits,
// numbers, white space, hexadecimal, shapes. ASCII only. Pure; thread-safe.
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace unshard {

inline constexpr std::string_view kBlanks = " \t\r\n";

inline bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// Whether `text` is one digit or more.
inline bool IsDigits(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), IsDigit);
}

// The number that the whole of `text` spells, as std::from_chars reads it: without blanks and '+'.
// Nothing if it spells no number, or a number that `Number` cannot hold. `base`: of whole numbers,
// 10 unless it is given.
template <class Number, class... Base>
std::optional<Number> ParseNumber(std::string_view text, Base... base) {
  Number number{};
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, number, base...);
  if (error != std::errc() || at != end) return std::nullopt;
  return number;
}

// The shortest decimal that reads back as the same number: "8", "0.5", "1e+30". Requires: finite.
inline std::string ShortestDecimal(double number) {
  std::array<char, 32> text;
  const auto end = std::to_chars(text.data(), text.data() + text.size(), number).ptr;
  return {text.data(), end};
}

// At most six significant digits, as "%g" prints them: TensorStore's keys of scales and units.
inline std::string SixDigits(double number) {
  std::array<char, 32> text;
  const auto end =
      std::to_chars(text.data(), text.data() + text.size(), number, std::chars_format::general, 6)
          .ptr;
  return {text.data(), end};
}

// Without the `blanks` at both ends.
inline std::string_view Trimmed(std::string_view text, std::string_view blanks = kBlanks) {
  const std::size_t begin = text.find_first_not_of(blanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(blanks) + 1 - begin);
}

inline constexpr std::string_view kHexDigits = "0123456789abcdef";

// The last `digits` hexadecimal digits of a number: "00ff".
inline std::string HexText(std::uint64_t number, std::size_t digits) {
  std::string text(digits, '0');
  for (auto digit = text.rbegin(); digit != text.rend(); ++digit, number >>= 4) {
    *digit = kHexDigits[number & 15];
  }
  return text;
}

// Two digits a byte.
inline std::string HexText(std::span<const std::uint8_t> bytes) {
  std::string text;
  for (const std::uint8_t byte : bytes) text += HexText(byte, 2);
  return text;
}

template <class Names>
bool IsOneOf(const Names& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// "[2, 3]".
inline std::string ShapeText(const std::vector<std::uint64_t>& shape) {
  std::string text = "[";
  for (const std::uint64_t extent : shape) {
    if (text.size() > 1) text += ", ";
    text += std::to_string(extent);
  }
  return text + "]";
}

}  // namespace unshard
