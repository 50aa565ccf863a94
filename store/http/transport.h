// Sending HTTP requests: the seam between the stores over a network and libcurl.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "codec/core/bytes.h"
#include "codec/core/error.h"
#include "store/http/response.h"
#include "store/object/deadline.h"

namespace unshard {

struct HttpRequest {
  enum class Method { kGet, kPut, kPost };
  Method method = Method::kGet;
  std::string url;  // without user information; its query is for no message
  HttpHeaders headers;
  std::string body;  // of kPut and kPost
  // The most bytes of a body that are taken: of an answer 200, and of every other one.
  std::uint64_t max_whole_body = 0;
  std::uint64_t max_other_body = 0;
  // Not sent before.
  std::chrono::steady_clock::time_point not_before{};
  Deadline deadline;
};

struct HttpResponse {
  int status = 0;
  HttpHeaders headers;
  ByteVector body;
  // The body is larger than the request allows: what is there of it is not to be used.
  bool body_too_large = false;
};

// Thread-safe.
class HttpTransport {
 public:
  // An answer with any status, or: EINTR or ETIMEDOUT where the deadline passed, kUnavailable where
  // no complete answer came, kPermissionDenied where the server's certificate is not trusted. With
  // kUnavailable the errno is EHOSTUNREACH where the name of the host is unknown, EPROTO where the
  // answer is one that is never accepted, else 0.
  using Done = std::function<void(Result<HttpResponse>)>;

  virtual ~HttpTransport() = default;
  // Sends the request; never blocks. Calls `done` exactly once, on a thread of the transport and
  // with no lock held, soon after `request.deadline` at the latest; `done` must not block.
  virtual void Start(HttpRequest request, Done done) = 0;
};

// Start, and a wait for the answer.
Result<HttpResponse> Send(HttpTransport& transport, HttpRequest request);

}  // namespace unshard
