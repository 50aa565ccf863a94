#include "store/http/authorization.h"

#include <cerrno>
#include <string>
#include <utility>

#include "store/http/redirects.h"

namespace unshard {
namespace {

// One request, authorised once or twice. The callback of the call that is under way keeps it alive.
class Authorized : public std::enable_shared_from_this<Authorized> {
 public:
  Authorized(std::shared_ptr<HttpTransport> transport,
             std::shared_ptr<HttpAuthorization> authorization, HttpRequest request,
             HttpTransport::Done done)
      : transport_(std::move(transport)),
        authorization_(std::move(authorization)),
        original_(std::move(request)),
        done_(std::move(done)) {}

  void Send() {
    authorization_->Authorize(original_,
                              [self = shared_from_this()](Result<HttpRequest> authorized) {
                                self->SendAuthorized(std::move(authorized));
                              });
  }

 private:
  void SendAuthorized(Result<HttpRequest> authorized) {
    if (!authorized) return done_(tl::unexpected<Error>(std::move(authorized).error()));
    sent_ = *std::move(authorized);
    transport_->Start(sent_, [self = shared_from_this()](Result<HttpResponse> result) {
      self->Answered(std::move(result));
    });
  }

  void Answered(Result<HttpResponse> result) {
    if (!result) return done_(std::move(result));
    if (!renewed_ && authorization_->Renew(sent_, *result)) {
      renewed_ = true;
      return Send();
    }
    if (auto error = authorization_->ErrorOf(sent_, *result)) {
      return done_(tl::unexpected<Error>(*std::move(error)));
    }
    if (IsRedirect(*result)) {
      return done_(FailWith(
          EPROTO, ErrorCode::kUnavailable,
          "the service redirected a request with a credential, and unshard does not follow that"));
    }
    done_(std::move(result));
  }

  const std::shared_ptr<HttpTransport> transport_;
  const std::shared_ptr<HttpAuthorization> authorization_;
  const HttpRequest original_;
  const HttpTransport::Done done_;
  HttpRequest sent_;
  bool renewed_ = false;
};

class Authorizing final : public HttpTransport {
 public:
  Authorizing(std::shared_ptr<HttpTransport> transport,
              std::shared_ptr<HttpAuthorization> authorization)
      : transport_(std::move(transport)), authorization_(std::move(authorization)) {}

  void Start(HttpRequest request, Done done) override {
    if (!authorization_->Covers(request)) {
      return transport_->Start(std::move(request), std::move(done));
    }
    std::make_shared<Authorized>(transport_, authorization_, std::move(request), std::move(done))
        ->Send();
  }

 private:
  const std::shared_ptr<HttpTransport> transport_;
  const std::shared_ptr<HttpAuthorization> authorization_;
};

}  // namespace

std::shared_ptr<HttpTransport> WithAuthorization(std::shared_ptr<HttpTransport> transport,
                                                 std::shared_ptr<HttpAuthorization> authorization) {
  return std::make_shared<Authorizing>(std::move(transport), std::move(authorization));
}

}  // namespace unshard
