#include "store/http/response.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "codec/core/lower_case.h"
#include "codec/core/text.h"

namespace unshard {
namespace {

constexpr std::array<std::string_view, 12> kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                      "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
constexpr std::array<std::string_view, 7> kDays = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};

template <std::size_t kCount>
std::optional<int> IndexOf(const std::array<std::string_view, kCount>& names,
                           std::string_view name) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) return std::nullopt;
  return static_cast<int>(found - names.begin());
}

tl::unexpected<Error> ServerFault(const std::string& what) {
  return FailWith(EPROTO, ErrorCode::kUnavailable, "the server breaks HTTP: ", what);
}

}  // namespace

std::optional<std::string_view> FindHeader(const HttpHeaders& headers, std::string_view name) {
  const std::string wanted = LowerCase(std::string(name));
  for (const HttpHeader& header : headers) {
    if (LowerCase(header.name) == wanted) return header.value;
  }
  return std::nullopt;
}

std::optional<HttpHeader> ParseHeaderLine(std::string_view line) {
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos || colon == 0) return std::nullopt;
  const std::string_view name = line.substr(0, colon);
  if (name.find_first_of(kBlanks) != std::string_view::npos) return std::nullopt;
  return HttpHeader{std::string(name), std::string(Trimmed(line.substr(colon + 1)))};
}

std::optional<ContentRange> ParseContentRange(std::string_view value) {
  value = Trimmed(value);
  if (LowerCase(std::string(value.substr(0, 6))) != "bytes ") return std::nullopt;
  value = Trimmed(value.substr(6));
  const std::size_t slash = value.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const std::string_view range = value.substr(0, slash);
  const std::string_view total = value.substr(slash + 1);
  ContentRange parsed;
  if (total != "*") {
    parsed.total = ParseNumber<std::uint64_t>(total);
    if (!parsed.total) return std::nullopt;
  }
  if (range == "*") return parsed;
  const std::size_t dash = range.find('-');
  if (dash == std::string_view::npos) return std::nullopt;
  const auto first = ParseNumber<std::uint64_t>(range.substr(0, dash));
  const auto last = ParseNumber<std::uint64_t>(range.substr(dash + 1));
  if (!first || !last || *last < *first) return std::nullopt;
  const auto end = CheckedAdd(*last, 1);
  if (!end || (parsed.total && *end > *parsed.total)) return std::nullopt;
  parsed.range = ByteRange{*first, *end - *first};
  return parsed;
}

std::optional<std::uint64_t> ParseContentLength(std::string_view value) {
  return ParseNumber<std::uint64_t>(Trimmed(value));
}

std::optional<EntityTag> ParseEntityTag(std::string_view value) {
  value = Trimmed(value);
  EntityTag tag;
  tag.weak = value.starts_with("W/");
  if (tag.weak) value.remove_prefix(2);
  if (value.size() < 2 || value.front() != '"' || value.back() != '"') return std::nullopt;
  const std::string_view opaque = value.substr(1, value.size() - 2);
  // Goes back to the server inside a header field: no quote or control character may end it early.
  const bool legal = std::all_of(opaque.begin(), opaque.end(), [](char byte) {
    const auto code = static_cast<unsigned char>(byte);
    return code > 0x20 && code != 0x7f && byte != '"';
  });
  if (!legal) return std::nullopt;
  tag.quoted = std::string(value);
  return tag;
}

std::optional<std::time_t> ParseHttpDate(std::string_view value) {
  value = Trimmed(value);
  if (value.size() != 29 || value.substr(3, 2) != ", " || value[7] != ' ' || value[11] != ' ' ||
      value[16] != ' ' || value[19] != ':' || value[22] != ':' || value.substr(25) != " GMT") {
    return std::nullopt;
  }
  const auto number = [&](std::size_t begin, std::size_t size) {
    return ParseNumber<std::uint64_t>(value.substr(begin, size));
  };
  const auto day = number(5, 2);
  const auto month = IndexOf(kMonths, value.substr(8, 3));
  const auto year = number(12, 4);
  const auto hour = number(17, 2);
  const auto minute = number(20, 2);
  const auto second = number(23, 2);
  if (!IndexOf(kDays, value.substr(0, 3)) || !day || !month || !year || !hour || !minute ||
      !second) {
    return std::nullopt;
  }
  if (*day < 1 || *day > 31 || *hour > 23 || *minute > 59 || *second > 60) return std::nullopt;
  std::tm broken{};
  broken.tm_mday = static_cast<int>(*day);
  broken.tm_mon = *month;
  broken.tm_year = static_cast<int>(*year) - 1900;
  broken.tm_hour = static_cast<int>(*hour);
  broken.tm_min = static_cast<int>(*minute);
  broken.tm_sec = static_cast<int>(*second);
  return timegm(&broken);
}

std::optional<std::uint64_t> ParseRetryAfter(std::string_view value, std::time_t now) {
  if (const auto seconds = ParseNumber<std::uint64_t>(Trimmed(value))) return seconds;
  const auto date = ParseHttpDate(value);
  if (!date) return std::nullopt;
  return *date > now ? static_cast<std::uint64_t>(*date - now) : 0;
}

std::vector<std::string> ContentEncodings(const HttpHeaders& headers) {
  std::vector<std::string> encodings;
  for (const HttpHeader& header : headers) {
    if (LowerCase(header.name) != "content-encoding") continue;
    std::string_view rest = header.value;
    while (!rest.empty()) {
      const std::size_t comma = std::min(rest.find(','), rest.size());
      std::string token = LowerCase(std::string(Trimmed(rest.substr(0, comma))));
      const bool changes = !token.empty() && token != "identity" && token != "aws-chunked";
      if (changes) encodings.push_back(std::move(token));
      rest.remove_prefix(std::min(comma + 1, rest.size()));
    }
  }
  return encodings;
}

Validators ParseValidators(const HttpHeaders& headers) {
  Validators validators;
  if (const auto tag = FindHeader(headers, "ETag")) validators.tag = ParseEntityTag(*tag);
  if (const auto text = FindHeader(headers, "Last-Modified")) {
    if (const auto date = ParseHttpDate(*text)) {
      validators.modified_text = std::string(*text);
      validators.modified = *date;
    }
  }
  return validators;
}

Result<PartialContent> CheckPartialContent(const HttpHeaders& headers, const AskedRange& asked,
                                           std::uint64_t body_size) {
  const auto field = FindHeader(headers, "Content-Range");
  if (!field) return ServerFault("an answer 206 needs exactly one Content-Range");
  const auto content = ParseContentRange(*field);
  if (!content || !content->range) return ServerFault("an answer 206 with a bad Content-Range");
  if (!content->total) return ServerFault("a Content-Range without the size of the object");
  const ByteRange range = *content->range;
  const std::uint64_t total = *content->total;
  if (range.size != body_size) {
    return ServerFault("Content-Range says " + std::to_string(range.size) +
                       " bytes, the body has " + std::to_string(body_size));
  }
  const std::uint64_t begin = asked.suffix ? total - std::min(asked.size, total) : asked.begin;
  // The range lies within the total, so that this does not wrap where the begins are equal.
  if (range.begin != begin || range.size != std::min(asked.size, total - range.begin)) {
    return ServerFault("asked for " + std::to_string(asked.size) + " bytes " +
                       (asked.suffix ? "at the end" : "at " + std::to_string(asked.begin)) +
                       ", Content-Range says " + std::to_string(range.size) + " at " +
                       std::to_string(range.begin) + " of " + std::to_string(total));
  }
  return PartialContent{range, total};
}

}  // namespace unshard
