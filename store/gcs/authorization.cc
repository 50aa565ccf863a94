#include "store/gcs/authorization.h"

#include <algorithm>
#include <ctime>
#include <mutex>
#include <utility>

#include "store/gcs/error_response.h"
#include "store/http/curl_transport.h"
#include "store/http/renewed_secret.h"
#include "store/http/retry.h"

namespace unshard {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr milliseconds kMachineTimeout{1000};
// The metadata server gives the same token until less than this is left of it.
constexpr seconds kEarly{225};

// Of a token; "": anonymous.
using Renewal = RenewedSecret<std::string>;

// Fetches tokens; used by one thread at a time.
class TokenSource {
 public:
  TokenSource(GcsEnvironment environment, std::string bucket, GcsScope scope)
      : environment_(std::move(environment)), bucket_(std::move(bucket)), scope_(scope) {}

  Result<Renewal::Fetched> Fetch(const Deadline& deadline) {
    // Read each time: the file of a user who has logged in anew is another one.
    UNSHARD_ASSIGN_OR_RETURN(const auto credential, ReadGcsCredential(environment_, bucket_));
    if (credential) return FetchWith(*credential, deadline);
    if (const auto machine = GcsMachineOf(environment_)) return FetchOfMachine(*machine, deadline);
    return Renewal::Fetched{};
  }

 private:
  Result<Renewal::Fetched> FetchOfMachine(const GcsMachine& machine, const Deadline& deadline) {
    const bool is_named = !environment_.metadata_host.empty();
    Deadline soon = deadline;
    if (!is_named && !has_machine_) {
      soon.at = std::min(soon.at, std::chrono::steady_clock::now() + kMachineTimeout);
    }
    auto fetched = FetchWith(machine, soon);
    if (fetched) has_machine_ = true;
    // Most machines have no such server, and public data needs none.
    if (!fetched && !is_named && !has_machine_) return Renewal::Fetched{};
    return fetched;
  }

  Result<Renewal::Fetched> FetchWith(const GcsCredential& credential, const Deadline& deadline) {
    auto token = FetchToken(credential, deadline);
    if (!token) {
      return Forward(std::move(token).error(),
                     "fetching a token for " + DescribeGcsCredential(credential));
    }
    return Renewal::Fetched{std::move(token->value),
                            std::chrono::system_clock::now() + token->lifetime};
  }

  [[nodiscard]] Result<GcsToken> FetchToken(const GcsCredential& credential,
                                            const Deadline& deadline) const {
    UNSHARD_ASSIGN_OR_RETURN(HttpRequest request,
                             MakeTokenRequest(credential, std::time(nullptr), scope_));
    const bool is_machine = std::holds_alternative<GcsMachine>(credential);
    CurlOptions options;
    options.connections_per_host = 1;
    options.through_proxies = !is_machine;
    const auto transport = WithRetries(MakeCurlTransport(options), {});
    request.deadline = deadline;
    UNSHARD_ASSIGN_OR_RETURN(const HttpResponse response, Send(*transport, std::move(request)));
    if (is_machine && FindHeader(response.headers, "Metadata-Flavor") != "Google") {
      return Fail(ErrorCode::kInvalidArgument, "the answer does not come from a metadata server");
    }
    return ParseTokenResponse(response);
  }

  const GcsEnvironment environment_;
  const std::string bucket_;
  const GcsScope scope_;
  bool has_machine_ = false;
};

RenewalTimes Times() {
  RenewalTimes times;
  times.early = kEarly;
  return times;
}

class GcsAuthorization final : public HttpAuthorization {
 public:
  GcsAuthorization(std::string origin, const GcsEnvironment& environment, const std::string& bucket,
                   GcsScope scope)
      : origin_(std::move(origin)),
        quota_project_(environment.quota_project),
        token_([source = std::make_shared<TokenSource>(environment, bucket, scope)](
                   const Deadline& deadline) { return source->Fetch(deadline); },
               Times()) {}

  bool Covers(const HttpRequest& request) const override {
    return request.url.starts_with(origin_ + '/');
  }

  void Authorize(HttpRequest request, Done done) override {
    const Deadline deadline = request.deadline;
    token_.Get(deadline, [quota_project = quota_project_, request = std::move(request),
                          done = std::move(done)](Result<Renewal::Held> token) mutable {
      if (!token) return done(tl::unexpected<Error>(std::move(token).error()));
      if ((*token)->empty()) return done(std::move(request));
      request.headers.push_back({"Authorization", "Bearer " + **token});
      if (!quota_project.empty()) {
        request.headers.push_back({"x-goog-user-project", quota_project});
      }
      done(std::move(request));
    });
  }

  bool Renew(const HttpRequest& sent, const HttpResponse& response) override {
    const auto field = FindHeader(sent.headers, "Authorization");
    if (response.status != 401 || !field) return false;
    // Another request may have fetched another token meanwhile: that one is not refused.
    const auto token = token_.Current();
    if (token && *field == "Bearer " + *token) token_.Refuse(token);
    return true;
  }

  std::optional<Error> ErrorOf(const HttpRequest& sent,
                               const HttpResponse& response) const override {
    using Method = HttpRequest::Method;
    // Answers to writes are interpreted by the writer (store/gcs/object_resource.h).
    if (sent.method != Method::kGet && sent.method != Method::kHead) return std::nullopt;
    const bool with_token = FindHeader(sent.headers, "Authorization").has_value();
    if (response.status == 401 && with_token) {
      return Error{ErrorCode::kPermissionDenied,
                   "the service does not accept the token of the credential (HTTP 401): " +
                       GcsErrorText(response),
                   0};
    }
    if (IsGcsRateLimit(response)) {
      return Error{ErrorCode::kUnavailable,
                   "the service limits the rate of requests: " + GcsErrorText(response), 0};
    }
    return std::nullopt;
  }

 private:
  const std::string origin_;
  const std::string quota_project_;
  Renewal token_;
};

}  // namespace

std::shared_ptr<HttpAuthorization> MakeGcsAuthorization(const GcsEndpoint& endpoint,
                                                        const GcsEnvironment& environment,
                                                        const std::string& bucket, GcsScope scope) {
  return std::make_shared<GcsAuthorization>(endpoint.base.origin, environment, bucket, scope);
}

}  // namespace unshard
