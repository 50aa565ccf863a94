#include "store/http/url.h"

#include <curl/curl.h>

#include <memory>
#include <optional>

#include "codec/core/lower_case.h"

namespace unshard {
namespace {

struct FreeUrl {
  void operator()(CURLU* url) const { curl_url_cleanup(url); }
};
using UrlHandle = std::unique_ptr<CURLU, FreeUrl>;

std::optional<std::string> Part(CURLU* url, CURLUPart part, unsigned flags = 0) {
  char* text = nullptr;
  if (curl_url_get(url, part, &text, flags) != CURLUE_OK) return std::nullopt;
  std::string copy = text;
  curl_free(text);
  return copy;
}

tl::unexpected<Error> NoUrl() {
  // Not the text itself: it may hold a password.
  return Fail(ErrorCode::kInvalidArgument, "expected a URL of the form https://host[:port]/path");
}

bool Set(CURLU* url, const std::string& text) {
  if (text.find('\0') != std::string::npos) return false;
  return curl_url_set(url, CURLUPART_URL, text.c_str(),
                      CURLU_NON_SUPPORT_SCHEME | CURLU_PATH_AS_IS | CURLU_URLENCODE) == CURLUE_OK;
}

Result<HttpUrl> TakeApart(CURLU* url) {
  const auto scheme = Part(url, CURLUPART_SCHEME);
  const auto host = Part(url, CURLUPART_HOST);
  if (!scheme || !host || host->empty()) return NoUrl();
  const std::string lower = LowerCase(*scheme);
  if (lower != "http" && lower != "https") return NoUrl();
  HttpUrl parts;
  parts.origin = lower + "://" + LowerCase(*host);
  if (const auto port = Part(url, CURLUPART_PORT, CURLU_NO_DEFAULT_PORT)) {
    parts.origin += ':' + *port;
  }
  parts.path = Part(url, CURLUPART_PATH).value_or("/");
  parts.query = Part(url, CURLUPART_QUERY).value_or("");
  const auto user = Part(url, CURLUPART_USER, CURLU_URLDECODE);
  const auto password = Part(url, CURLUPART_PASSWORD, CURLU_URLDECODE);
  if (user || password) parts.user_info = user.value_or("") + ':' + password.value_or("");
  return parts;
}

bool IsUnreserved(char byte) {
  return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
         (byte >= '0' && byte <= '9') || byte == '-' || byte == '.' || byte == '_' || byte == '~';
}

std::string Escape(std::string_view text, std::string_view kept) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string escaped;
  for (const char byte : text) {
    if (IsUnreserved(byte) || kept.find(byte) != std::string_view::npos) {
      escaped += byte;
    } else {
      const auto code = static_cast<unsigned char>(byte);
      escaped += '%';
      escaped += kDigits[code >> 4];
      escaped += kDigits[code & 15];
    }
  }
  return escaped;
}

}  // namespace

std::string HttpUrl::Request() const {
  return query.empty() ? origin + path : origin + path + '?' + query;
}

Result<HttpUrl> ParseHttpUrl(const std::string& text) {
  const UrlHandle url(curl_url());
  if (text.find("://") == std::string::npos || !Set(url.get(), text)) return NoUrl();
  return TakeApart(url.get());
}

Result<HttpUrl> ResolveHttpUrl(const HttpUrl& base, const std::string& reference) {
  const UrlHandle url(curl_url());
  if (!Set(url.get(), base.Request()) || !Set(url.get(), reference)) return NoUrl();
  UNSHARD_ASSIGN_OR_RETURN(HttpUrl resolved, TakeApart(url.get()));
  resolved.user_info.clear();
  return resolved;
}

bool IsLoopback(const HttpUrl& url) {
  std::string_view host = url.origin;
  host.remove_prefix(host.find("://") + 3);
  if (host.starts_with("[::1]")) return true;
  host = host.substr(0, host.find(':'));
  // Of names only this one: "127.example.org" is another host.
  return host == "localhost" || (host.starts_with("127.") &&
                                 host.find_first_not_of("0123456789.") == std::string_view::npos);
}

std::string EscapeKey(std::string_view key) { return Escape(key, "/"); }

std::string EscapeQueryValue(std::string_view value) { return Escape(value, ""); }

}  // namespace unshard
