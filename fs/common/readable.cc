#include "fs/common/readable.h"

#include <array>

namespace unshard {
namespace {

// With one decimal below ten, rounded down, so that no more is reported than there is.
std::string Shortened(std::uint64_t tenths) {
  if (tenths >= 100 || tenths % 10 == 0) return std::to_string(tenths / 10);
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10);
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

}  // namespace unshard
