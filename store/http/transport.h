// Sending HTTP requests: the seam between the stores over a network and libcurl.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "codec/core/bytes.h"
#include "codec/core/error.h"
#include "store/http/response.h"
#include "store/object/deadline.h"

namespace unshard {

// The bytes of a body that is not held in memory. Immutable and thread-safe: an attempt that is
// repeated reads them again.
class HttpBody {
 public:
  virtual ~HttpBody() = default;
  [[nodiscard]] virtual std::uint64_t size() const = 0;
  // Fills `to` from byte `at`; the count is smaller only where the body ends. Runs on the
  // transport's thread: reads memory or a local file.
  [[nodiscard]] virtual Result<std::size_t> Read(std::uint64_t at,
                                                 std::span<std::uint8_t> to) const = 0;
};

struct HttpRequest {
  enum class Method { kGet, kHead, kPut, kPost, kDelete };
  Method method = Method::kGet;
  std::string url;  // without user information; its query is for no message
  HttpHeaders headers;
  // Of kPut and kPost: the one, or, where it is not null, the other.
  std::string body;
  std::shared_ptr<const HttpBody> streamed;
  // What the service does twice if it is asked twice. It is sent over a new connection, because
  // libcurl repeats what it has sent over a kept connection; and never again after a failure.
  bool once = false;
  // The most bytes of a body that are taken: of an answer 200, and of every other one.
  std::uint64_t max_whole_body = 0;
  std::uint64_t max_other_body = 0;
  // It is not sent before; the epoch: at once.
  std::chrono::steady_clock::time_point not_before{};
  Deadline deadline;
};

struct HttpResponse {
  int status = 0;
  HttpHeaders headers;
  ByteVector body;
  // The body is larger than the request allows: `body` has only a part, which is not to be used.
  bool body_too_large = false;
};

// As the first line of a request has it: "GET".
std::string_view MethodName(HttpRequest::Method method);

// Thread-safe.
class HttpTransport {
 public:
  // An answer with any status, or: EINTR or ETIMEDOUT where the deadline passed, kUnavailable where
  // no complete answer came, kPermissionDenied where the server's certificate is not trusted. With
  // kUnavailable the errno is EHOSTUNREACH where the name of the host is unknown, EPROTO where the
  // answer is of a kind that is never accepted, ECONNREFUSED where there was no connection, so that
  // nothing was sent, else 0. Where a streamed body cannot be read: that error.
  using Done = std::function<void(Result<HttpResponse>)>;

  virtual ~HttpTransport() = default;
  // Sends the request; never blocks. Calls `done` exactly once, on a thread of the transport and
  // with no lock held, soon after `request.deadline` at the latest; `done` must not block.
  virtual void Start(HttpRequest request, Done done) = 0;
};

// Start, and a wait for the answer.
Result<HttpResponse> Send(HttpTransport& transport, HttpRequest request);

}  // namespace unshard
