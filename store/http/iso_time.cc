#include "store/http/iso_time.h"

#include <string_view>

#include "codec/core/text.h"

namespace unshard {

std::optional<std::time_t> ParseIsoTime(std::string_view text) {
  if (text.size() < 20 || text[4] != '-' || text[7] != '-' || text[10] != 'T' || text[13] != ':' ||
      text[16] != ':') {
    return std::nullopt;
  }
  const auto number = [](std::string_view digits) -> std::optional<int> {
    return IsDigits(digits) ? ParseNumber<int>(digits) : std::nullopt;
  };
  const auto part = [&](std::size_t at, std::size_t size) { return number(text.substr(at, size)); };
  const auto year = part(0, 4), month = part(5, 2), day = part(8, 2);
  const auto hour = part(11, 2), minute = part(14, 2), second = part(17, 2);
  if (!year || !month || !day || !hour || !minute || !second || *month < 1 || *month > 12 ||
      *day < 1 || *day > 31 || *hour > 23 || *minute > 59 || *second > 60) {
    return std::nullopt;
  }
  std::string_view zone = text.substr(19);
  if (zone[0] == '.') {
    const std::size_t end = zone.find_first_not_of("0123456789", 1);
    zone = end == std::string_view::npos ? "" : zone.substr(end);
  }
  std::time_t offset = 0;
  if (zone != "Z") {
    if (zone.size() != 6 || (zone[0] != '+' && zone[0] != '-') || zone[3] != ':')
      return std::nullopt;
    const auto hours = number(zone.substr(1, 2)), minutes = number(zone.substr(4, 2));
    if (!hours || !minutes) return std::nullopt;
    offset = (zone[0] == '+' ? 1 : -1) * (*hours * 3600 + *minutes * 60);
  }
  std::tm broken{};
  broken.tm_year = *year - 1900;
  broken.tm_mon = *month - 1;
  broken.tm_mday = *day;
  broken.tm_hour = *hour;
  broken.tm_min = *minute;
  broken.tm_sec = *second;
  return timegm(&broken) - offset;
}

}  // namespace unshard
