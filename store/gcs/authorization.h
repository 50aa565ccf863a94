// Access tokens for Google Cloud Storage, and where they come from.
#pragma once

#include <memory>
#include <string>

#include "store/gcs/endpoint.h"
#include "store/gcs/environment.h"
#include "store/http/authorization.h"

namespace unshard {

// Authorises what goes to the endpoint with a token of the first credential there is: a file
// (GcsCredentialFiles), else the account of the machine where its metadata server answers within a
// second, else none: the requests are anonymous. The search and every fetch of a token happen on a
// thread of their own, when the first request is sent and before a token expires.
//
// Answers: 401 to a token fetches another one, once a request, and is kPermissionDenied then; 403
// because of a rate limit is kUnavailable, so that the request is sent again later.
std::shared_ptr<HttpAuthorization> MakeGcsAuthorization(const GcsEndpoint& endpoint,
                                                        const GcsEnvironment& environment,
                                                        const std::string& bucket, GcsScope scope);

}  // namespace unshard
