#include "fs/common/readable.h"

#include <algorithm>
#include <array>
#include <vector>

namespace unshard {
namespace {

// With one decimal below ten, rounded down, so that no more is reported than there is.
std::string Shortened(std::uint64_t tenths) {
  if (tenths >= 100 || tenths % 10 == 0) return std::to_string(tenths / 10);
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10);
}

// How many letters are inserted, left out, replaced or swapped with the next one between two words.
std::size_t Misspellings(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> count(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) {
    for (std::size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        count[i][j] = i + j;
        continue;
      }
      const std::size_t replaced = count[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      count[i][j] = std::min({replaced, count[i - 1][j] + 1, count[i][j - 1] + 1});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) count[i][j] = std::min(count[i][j], count[i - 2][j - 2] + 1);
    }
  }
  return count[a.size()][b.size()];
}

}  // namespace

std::string ReadableBytes(std::uint64_t bytes) {
  if (bytes < 1000) return Counted(bytes, "byte");
  constexpr std::array<const char*, 6> kUnits = {" kB", " MB", " GB", " TB", " PB", " EB"};
  std::uint64_t unit = 1000;
  std::size_t i = 0;
  for (; i + 1 < kUnits.size() && bytes / unit >= 1000; ++i) unit *= 1000;
  return Shortened(bytes / (unit / 10)) + kUnits[i];
}

std::string ReadableAge(std::uint64_t milliseconds) {
  const std::uint64_t seconds = milliseconds / 1000;
  if (seconds < 120) return Shortened(milliseconds / 100) + " s";
  if (seconds < 7200) return std::to_string(seconds / 60) + " min";
  return std::to_string(seconds / 3600) + " h";
}

std::string Replaced(std::string text, std::string_view word, const std::string& by) {
  for (std::size_t at = text.find(word); at != std::string::npos;
       at = text.find(word, at + by.size())) {
    text.replace(at, word.size(), by);
  }
  return text;
}

std::string Counted(std::uint64_t count, const std::string& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

std::string DidYouMean(std::string_view word, std::span<const std::string_view> names) {
  constexpr std::size_t kMostLetters = 32;
  if (word.size() > kMostLetters) return "";
  std::size_t least = word.size() / 3 + 1;  // more misspellings than this make another word
  std::string_view nearest;
  for (const std::string_view name : names) {
    const std::size_t count = Misspellings(word, name);
    if (count > least || (count == least && !nearest.empty()) || count >= name.size()) continue;
    least = count;
    nearest = name;
  }
  return nearest.empty() ? "" : "; did you mean " + std::string(nearest) + "?";
}

}  // namespace unshard
