// What texts of metadata, headers and settings are looked at for, ASCII only. Pure; thread-safe.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace unshard {

inline constexpr std::string_view kBlanks = " \t\r\n";

inline bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// Without the `blanks` at both ends.
inline std::string_view Trimmed(std::string_view text, std::string_view blanks = kBlanks) {
  const std::size_t begin = text.find_first_not_of(blanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(blanks) + 1 - begin);
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
