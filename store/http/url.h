// http and https URLs: taken apart, put together, and described without their secrets. Pure.
#pragma once

#include <string>
#include <string_view>

#include "codec/core/error.h"

namespace unshard {

struct HttpUrl {
  std::string origin;     // "https://host:port", lower case, without the default port
  std::string path;       // percent-encoded, begins with '/'
  std::string query;      // without '?'; may hold a signature: for no message
  std::string user_info;  // "user:password", decoded: for no message

  [[nodiscard]] bool is_https() const { return origin.starts_with("https:"); }
  // What a request is sent to: everything but the user information.
  [[nodiscard]] std::string Request() const;
  // For messages: without query and user information.
  [[nodiscard]] std::string Described() const { return origin + path; }
};

// kInvalidArgument where it is no absolute http or https URL with a host. A fragment is dropped.
Result<HttpUrl> ParseHttpUrl(const std::string& text);
// `reference`, as a Location header holds it, relative to `base`. User information in it is
// dropped.
Result<HttpUrl> ResolveHttpUrl(const HttpUrl& base, const std::string& reference);

// Whether it is on this machine: localhost, 127.0.0.0/8 or [::1]. What is sent there is seen by no
// network.
bool IsLoopback(const HttpUrl& url);

// A key as a path: each byte of a component that RFC 3986 does not reserve for itself is escaped.
std::string EscapeKey(std::string_view key);
// The same for a value in a query or a form, or one segment of a path: each / is escaped as well.
std::string EscapeQueryValue(std::string_view value);

}  // namespace unshard
