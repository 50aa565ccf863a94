// What reading and writing one bucket have in common. Immutable; thread-safe.
#pragma once

#include <memory>

#include "store/http/http_server.h"
#include "store/http/transport.h"
#include "store/s3/endpoint.h"
#include "store/s3/s3_authorization.h"

namespace unshard {

struct S3Access {
  S3Url url;
  HttpUrl bucket;  // where requests for it begin
  std::shared_ptr<S3Authorization> authorization;
  std::shared_ptr<HttpTransport> transport;
  std::shared_ptr<HttpServer> server;  // of the objects below the prefix
  bool denies_listing = false;         // so that a denied object counts as missing
};

}  // namespace unshard
