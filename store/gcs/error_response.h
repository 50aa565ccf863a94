// What Google Cloud Storage says in answers that are no success. Pure functions on untrusted text.
//
// https://cloud.google.com/storage/docs/json_api/v1/status-codes
#pragma once

#include <string>
#include <string_view>

#include "codec/core/error.h"
#include "store/http/transport.h"

namespace unshard {

// The message of its JSON, or its text, in one line without control characters; "" where it says
// nothing.
std::string GcsErrorText(const HttpResponse& response);

// 401 or 403: the caller may not do this, or may not know whether the object exists.
bool IsGcsDenial(const HttpResponse& response);
// kPermissionDenied, with what the service says: it names the caller and the missing permission.
tl::unexpected<Error> GcsDenial(const HttpResponse& response);

// Whether its JSON gives this reason.
bool HasGcsReason(const HttpResponse& response, std::string_view reason);

// 403 because of too many requests: the same request succeeds later.
bool IsGcsRateLimit(const HttpResponse& response);

}  // namespace unshard
