// Requests that carry a credential: the seam between the HTTP transport and the services that ask
// for one.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "codec/core/error.h"
#include "store/http/transport.h"

namespace unshard {

// How one service wants its requests to be authorised, and what its answers say of that.
// Thread-safe. Its methods run on the transport's thread as well: none of them blocks.
class HttpAuthorization {
 public:
  virtual ~HttpAuthorization() = default;

  // Whether the request goes to the service: only to it a credential is sent. Others are sent as
  // they are.
  [[nodiscard]] virtual bool Covers(const HttpRequest& request) const = 0;

  // Calls `done` exactly once with the request as it is to be sent, or with the reason why there is
  // no credential (kPermissionDenied) or none now (kUnavailable): before it returns where a
  // credential is at hand, else on another thread, soon after `request.deadline` at the latest.
  using Done = std::function<void(Result<HttpRequest>)>;
  virtual void Authorize(HttpRequest request, Done done) = 0;

  // Whether the same request, authorised anew, may be answered otherwise: the credential has
  // expired, the clocks differ, another region is responsible. Asked once a request; what the
  // answer says is used by the next Authorize. `sent` is the request as it was authorised.
  virtual bool Renew(const HttpRequest& sent, const HttpResponse& response) = 0;

  // What the body of an answer says that its status leaves open, for example that it is the bucket
  // that is missing, and not an object; nothing: the status says it all. Of the transport's errors
  // those with kUnavailable and without errno are retried. The message holds no credential.
  [[nodiscard]] virtual std::optional<Error> ErrorOf(const HttpRequest& sent,
                                                     const HttpResponse& response) const = 0;
};

// `transport`, with each request that `authorization` covers authorised. Below WithRetries, so that
// every attempt is authorised afresh. The answer to a covered request is never a redirect: its URL
// is what was authorised.
std::shared_ptr<HttpTransport> WithAuthorization(std::shared_ptr<HttpTransport> transport,
                                                 std::shared_ptr<HttpAuthorization> authorization);

}  // namespace unshard
