// Objects of Google Cloud Storage as plain HTTP has them: a transport that translates.
//
// HttpStore (store/http/http_store.h) reads objects by URL, with If-Match on their ETag. Here such
// a request becomes one of the JSON API, with a condition on the generation of the object, which is
// exact, in place of its ETag.
// https://cloud.google.com/storage/docs/json_api/v1/objects/get
// https://cloud.google.com/storage/docs/request-preconditions
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "store/http/transport.h"

namespace unshard {

// What the caller may see of the objects. Constant for one store.
enum class GcsAccess {
  kListed,    // a missing object is answered 404
  kUnlisted,  // it may not list, so that one is answered 401 or 403, as denied ones are
};

// A request for an object below a GcsObjectsBase, as the JSON API takes it: "alt=media",
// ifGenerationMatch, ifGenerationNotMatch. Requests compressed objects as they are stored: the
// service would decompress them, and ignore the range. `nonce` makes a URL that no cache has:
// public objects are cached for an hour, and the service ignores Cache-Control in requests. Pure.
HttpRequest MakeObjectRequest(HttpRequest request, std::uint64_t nonce);

// The answer with the object's generation for its ETag, and with 404 for a missing object.
// kPermissionDenied, with what the service says, where it denies access. Pure.
Result<HttpResponse> ReadObjectResponse(HttpResponse response, GcsAccess access);

// `transport` for requests of objects below a GcsObjectsBase.
std::shared_ptr<HttpTransport> MakeObjectTransport(std::shared_ptr<HttpTransport> transport,
                                                   GcsAccess access);

}  // namespace unshard
