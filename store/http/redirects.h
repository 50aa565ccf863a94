// Which redirects are followed, and what is sent along. Pure: libcurl follows none, because it
// would hand custom header fields to other hosts.
#pragma once

#include <string>

#include "codec/core/error.h"
#include "store/http/response.h"
#include "store/http/transport.h"

namespace unshard {

inline constexpr int kMaxRedirects = 5;

// Whether an answer sends its client elsewhere: 301, 302, 303, 307 and 308 with a Location.
bool IsRedirect(const HttpResponse& response);

// Whether it sends to the same URL with a '/' at its end, as web servers do for directories.
bool IsRedirectToDirectory(const HttpRequest& request, const HttpResponse& response);

// The request to send in answer to a redirect, the `hop`-th of this request (1: the first). Another
// origin gets neither credentials nor fields of the user, only the fields that make the request
// what it is (Range, conditions, Accept-Encoding). kUnavailable, naming the rule, after
// kMaxRedirects, for a Location that is no http URL, from https to http, and of what is no GET.
Result<HttpRequest> Redirect(HttpRequest request, const HttpResponse& response, int hop);

}  // namespace unshard
