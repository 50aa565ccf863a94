#include "store/http/redirects.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "codec/core/lower_case.h"
#include "store/http/url.h"

namespace unshard {
namespace {

constexpr std::array<std::string_view, 8> kFieldsOfTheRequest = {
    "range",         "if-match",        "if-none-match", "if-modified-since", "if-unmodified-since",
    "cache-control", "accept-encoding", "user-agent"};

bool BelongsToTheRequest(const HttpHeader& header) {
  return std::find(kFieldsOfTheRequest.begin(), kFieldsOfTheRequest.end(),
                   LowerCase(header.name)) != kFieldsOfTheRequest.end();
}

}  // namespace

bool IsRedirect(const HttpResponse& response) {
  switch (response.status) {
    case 301:
    case 302:
    case 303:
    case 307:
    case 308:
      return FindHeader(response.headers, "Location").has_value();
    default:
      return false;
  }
}

bool IsRedirectToDirectory(const HttpRequest& request, const HttpResponse& response) {
  if (!IsRedirect(response)) return false;
  const auto from = ParseHttpUrl(request.url);
  if (!from) return false;
  const auto to = ResolveHttpUrl(*from, std::string(*FindHeader(response.headers, "Location")));
  // The host may be another: servers behind a proxy name themselves in the Location.
  return to && to->path == from->path + '/';
}

Result<HttpRequest> Redirect(HttpRequest request, const HttpResponse& response, int hop) {
  const auto fail = [](const std::string& why) {
    return Fail(ErrorCode::kUnavailable, "the server redirects ", why);
  };
  if (request.method != HttpRequest::Method::kGet) {
    return fail("a request that is not a GET, and unshard does not follow that");
  }
  if (hop > kMaxRedirects) {
    return fail("more than " + std::to_string(kMaxRedirects) + " times");
  }
  UNSHARD_ASSIGN_OR_RETURN(const HttpUrl from, ParseHttpUrl(request.url));
  const auto location = FindHeader(response.headers, "Location");
  const auto to = ResolveHttpUrl(from, std::string(location.value_or("")));
  if (!location || !to) return fail("to something other than an http or https URL");
  if (from.is_https() && !to->is_https()) {
    return fail("from https to plain http (" + to->origin + "), and unshard does not follow that");
  }
  if (to->origin != from.origin) {
    std::erase_if(request.headers,
                  [](const HttpHeader& header) { return !BelongsToTheRequest(header); });
  }
  request.url = to->Request();
  return request;
}

}  // namespace unshard
