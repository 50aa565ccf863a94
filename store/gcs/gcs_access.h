// What reading and writing one bucket have in common. Immutable; thread-safe.
#pragma once

#include <memory>

#include "store/gcs/endpoint.h"
#include "store/gcs/object_requests.h"
#include "store/http/http_server.h"
#include "store/http/transport.h"

namespace unshard {

struct GcsObjectAccess {
  GcsEndpoint endpoint;
  GcsLocation location;
  GcsAccess access = GcsAccess::kListed;
  std::shared_ptr<HttpTransport> transport;
  std::shared_ptr<HttpServer> server;  // of the objects below the prefix, to be read
};

}  // namespace unshard
