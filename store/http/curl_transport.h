// The HTTP transport over libcurl: one thread, which sends all requests.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>

#include "store/http/transport.h"
#include "store/object/store_contact.h"

namespace unshard {

struct CurlOptions {
  std::size_t connections_per_host = 256;  // and requests in flight
  std::chrono::milliseconds connect_timeout{5000};
  std::chrono::seconds stall_timeout{15};  // without a byte
  // The same for requests that are sent once: services take their time to put an object together.
  std::chrono::seconds once_stall_timeout{60};
  bool through_proxies = true;  // those that the environment names
  // Notified of answers and of the bytes that are sent and received; may be null.
  std::shared_ptr<StoreContact> contact = nullptr;
};

// HTTP/1.1 over kept connections. Certificates are verified; the environment names other
// authorities (CURL_CA_BUNDLE, SSL_CERT_FILE, AWS_CA_BUNDLE, SSL_CERT_DIR) and proxies (http_proxy,
// https_proxy, ALL_PROXY, NO_PROXY). Follows no redirects. Its thread starts with the first
// request, so that a process may fork before. Its destructor ends all requests with kUnavailable;
// it may run in a callback.
std::shared_ptr<HttpTransport> MakeCurlTransport(const CurlOptions& options);

}  // namespace unshard
