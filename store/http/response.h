// The header fields of HTTP answers (RFC 9110). Pure functions on untrusted text.
#pragma once

#include <cstdint>
#include <ctime>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "codec/core/byte_range.h"
#include "codec/core/error.h"

namespace unshard {

struct HttpHeader {
  std::string name;
  std::string value;  // without white space around it
};
using HttpHeaders = std::vector<HttpHeader>;

// The value of the first field of that name, in any case; nothing where there is none.
std::optional<std::string_view> FindHeader(const HttpHeaders& headers, std::string_view name);
// "Name: value" as it came over the wire; nothing where it is no field.
std::optional<HttpHeader> ParseHeaderLine(std::string_view line);

// Content-Range: "bytes 0-9/10", "bytes 0-9/*" or, unsatisfied, "bytes */10".
struct ContentRange {
  std::optional<ByteRange> range;
  std::optional<std::uint64_t> total;
};
// Nothing where it is malformed, or names bytes beyond its own total.
std::optional<ContentRange> ParseContentRange(std::string_view value);

// A decimal number of bytes.
std::optional<std::uint64_t> ParseContentLength(std::string_view value);

struct EntityTag {
  std::string quoted;  // with its quotes, as If-Match takes it
  bool weak = false;
};
// Nothing where it is neither "…" nor W/"…".
std::optional<EntityTag> ParseEntityTag(std::string_view value);

// An IMF-fixdate ("Sun, 06 Nov 1994 08:49:37 GMT"), which is all that servers may send.
std::optional<std::time_t> ParseHttpDate(std::string_view value);

// Seconds to wait at `now`: the number, or until the date; at least 0.
std::optional<std::uint64_t> ParseRetryAfter(std::string_view value, std::time_t now);

// The encodings of a body in lower case, in the order in which they were applied, without
// "identity" and "aws-chunked", which some servers keep of an upload.
std::vector<std::string> ContentEncodings(const HttpHeaders& headers);

// What one answer says of the version of the object that it is from.
struct Validators {
  std::optional<EntityTag> tag;
  std::string modified_text;  // Last-Modified verbatim; empty: none that can be parsed
  std::time_t modified = 0;
};
Validators ParseValidators(const HttpHeaders& headers);

// Checks an answer 206 to a request for the bytes `asked` (of a suffix: only its size counts, the
// range is taken from the answer). Returns the range and the total; an error, with the errno
// EPROTO, names what the server has done wrong. The range is cut where the object ends, and there
// only.
struct PartialContent {
  ByteRange range;
  std::uint64_t total = 0;
};
struct AskedRange {
  std::uint64_t begin = 0;
  std::uint64_t size = 0;
  bool suffix = false;
};
Result<PartialContent> CheckPartialContent(const HttpHeaders& headers, const AskedRange& asked,
                                           std::uint64_t body_size);

}  // namespace unshard
