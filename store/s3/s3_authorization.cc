#include "store/s3/s3_authorization.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <ctime>
#include <utility>

#include "codec/core/bytes.h"
#include "codec/core/text.h"
#include "store/http/redirects.h"
#include "store/http/retry.h"
#include "store/s3/answers.h"

namespace unshard {
namespace {

constexpr std::array<std::string_view, 4> kExpired = {"ExpiredToken", "ExpiredTokenException",
                                                      "InvalidToken", "TokenRefreshRequired"};
constexpr std::array<std::string_view, 2> kSkewed = {"RequestTimeTooSkewed", "RequestExpired"};
constexpr std::array<std::string_view, 5> kUnknownKeys = {
    "InvalidAccessKeyId", "XAdminUserNotFound", "AuthFailure", "InvalidClientTokenId",
    "SignatureDoesNotMatch"};
constexpr std::array<std::string_view, 4> kFull = {"InsufficientStorage", "XMinioStorageFull",
                                                   "NoSpaceLeftOnDevice", "InsufficientCapacity"};
constexpr std::array<std::string_view, 3> kOverQuota = {"QuotaExceeded", "StorageQuotaExceeded",
                                                        "XMinioAdminBucketQuotaExceeded"};

S3Failure FailureOf(const HttpResponse& response) {
  return ParseS3Failure(AsText(response.body)).value_or(S3Failure{});
}

// The region that an answer names; "" where it names none.
std::string RegionOf(const HttpResponse& response, const S3Failure& failure) {
  const auto field = FindHeader(response.headers, "x-amz-bucket-region");
  return field ? std::string(*field) : failure.region;
}

bool TellsRegion(const HttpResponse& response, const S3Failure& failure) {
  return response.status == 301 || response.status == 307 ||
         failure.code == "AuthorizationHeaderMalformed" || failure.code == "PermanentRedirect" ||
         failure.code == "TemporaryRedirect" ||
         failure.code == "IllegalLocationConstraintException";
}

std::string What(const HttpResponse& response, const S3Failure& failure) {
  std::string what = "HTTP " + std::to_string(response.status);
  if (!failure.code.empty()) what += ' ' + failure.code;
  if (!failure.message.empty()) what += ": " + failure.message;
  return what;
}

bool IsForWriter(const HttpRequest& request) {
  return request.method != HttpRequest::Method::kGet || request.url.ends_with("?acl=") ||
         request.url.ends_with("?tagging=");
}

}  // namespace

bool IsS3Denial(const HttpResponse& response) {
  if (response.status != 403) return false;
  const std::string code = FailureOf(response).code;
  return code.empty() || code == "AccessDenied";
}

S3Authorization::S3Authorization(std::string bucket, const S3Settings& settings,
                                 S3Endpoint endpoint,
                                 std::unique_ptr<RenewedSecret<AwsCredentials>> credentials)
    : bucket_(std::move(bucket)),
      settings_(settings),
      base_(endpoint.bucket.Described()),
      credentials_(std::move(credentials)),
      endpoint_(std::move(endpoint)) {}

bool S3Authorization::Covers(const HttpRequest& request) const {
  const std::string& url = request.url;
  return url.starts_with(base_) &&
         (url.size() == base_.size() || url[base_.size()] == '/' || url[base_.size()] == '?');
}

S3Endpoint S3Authorization::Endpoint() const {
  const std::lock_guard lock(mutex_);
  return endpoint_;
}

Result<HttpRequest> S3Authorization::Signed(HttpRequest request,
                                            const AwsCredentials& credentials) const {
  const std::time_t now = std::time(nullptr) + static_cast<std::time_t>(clock_offset_.load());
  return SignRequest(std::move(request), credentials, {Endpoint().region, "s3"}, now);
}

void S3Authorization::Authorize(HttpRequest request, Done done) {
  request.url.replace(0, base_.size(), Endpoint().bucket.Described());
  if (!credentials_) return done(std::move(request));
  if (settings_.requester_pays) request.headers.push_back({"X-Amz-Request-Payer", "requester"});
  const Deadline deadline = request.deadline;
  credentials_->Get(deadline, [this, request = std::move(request),
                               done = std::move(done)](Result<Credentials> credentials) mutable {
    if (!credentials) return done(tl::unexpected<Error>(std::move(credentials).error()));
    done(Signed(std::move(request), **credentials));
  });
}

bool S3Authorization::SetRegion(const std::string& region) {
  S3Settings settings = settings_;
  settings.region = region;
  auto endpoint = MakeS3Endpoint(bucket_, settings);
  const std::lock_guard lock(mutex_);
  if (!endpoint || endpoint->region == endpoint_.region) return false;
  endpoint_ = *std::move(endpoint);
  return true;
}

// False where another request has learned the region since `sent` was authorised.
bool S3Authorization::IsSentToTheRegion(const HttpRequest& sent) const {
  const S3Endpoint endpoint = Endpoint();
  const auto signature = FindHeader(sent.headers, "Authorization");
  return sent.url.starts_with(endpoint.bucket.origin) &&
         (!signature || signature->find('/' + endpoint.region + "/s3/") != std::string_view::npos);
}

bool S3Authorization::SetClock(const HttpRequest& sent, const HttpResponse& response) {
  const auto field = FindHeader(response.headers, "Date");
  const auto date = field ? ParseHttpDate(*field) : std::nullopt;
  if (!date) return false;
  clock_offset_ = static_cast<std::int64_t>(*date - std::time(nullptr));
  // To the minute: services allow for fifteen.
  constexpr std::size_t kMinute = std::string_view("20130524T0000").size();
  const auto was = FindHeader(sent.headers, "X-Amz-Date").value_or("").substr(0, kMinute);
  return was != AmzDate(*date).substr(0, kMinute);
}

bool S3Authorization::RefuseCredentials(const HttpRequest& sent) {
  const Credentials current = credentials_->Current();
  // Others may have been fetched since: then the request is signed with those.
  const auto signature = FindHeader(sent.headers, "Authorization");
  const auto token = FindHeader(sent.headers, "X-Amz-Security-Token");
  if (current && signature && token.value_or("") == current->session_token &&
      signature->find("Credential=" + current->access_key_id + '/') != std::string_view::npos) {
    credentials_->Refuse(current);
  }
  return true;
}

bool S3Authorization::Renew(const HttpRequest& sent, const HttpResponse& response) {
  if (response.status < 300 || response.status == 304 || response.status == 404) return false;
  const S3Failure failure = FailureOf(response);
  if (TellsRegion(response, failure)) {
    const std::string region = RegionOf(response, failure);
    if (region.empty()) return false;
    return SetRegion(region) || !IsSentToTheRegion(sent);
  }
  if (!credentials_) return false;
  if (IsOneOf(kExpired, failure.code)) return RefuseCredentials(sent);
  return IsOneOf(kSkewed, failure.code) && SetClock(sent, response);
}

std::optional<Error> S3Authorization::ErrorOf(const HttpRequest& sent,
                                              const HttpResponse& response) const {
  if (IsForWriter(sent) || (passes_denials_ && IsS3Denial(response))) return std::nullopt;
  const int status = response.status;
  // A listing that fails after its first byte; an object may well be such a document.
  if (status == 200 && sent.url.find("list-type=2") != std::string::npos) {
    const S3Failure failure = FailureOf(response);
    if (failure.code.empty()) return std::nullopt;
    return Error{ErrorCode::kUnavailable, "the service answered " + What(response, failure), 0};
  }
  if (status < 300 || status == 304 || status == 412 || status == 416 || IsRetriedStatus(status)) {
    return std::nullopt;
  }
  Error error = Explain(response);
  if (error.code == ErrorCode::kNotFound) return std::nullopt;
  return error;
}

Error S3Authorization::Explain(const HttpResponse& response) const {
  const int status = response.status;
  const S3Failure failure = FailureOf(response);
  const std::string what = What(response, failure);
  if (failure.code == "NoSuchBucket") {
    // Not kNotFound, which is an object that is missing.
    return {ErrorCode::kUnavailable, "the bucket " + bucket_ + " does not exist (" + what + ')',
            EPROTO};
  }
  if (TellsRegion(response, failure) || IsRedirect(response)) {
    const std::string region = RegionOf(response, failure);
    return {ErrorCode::kUnavailable,
            "the bucket is in another region" + (region.empty() ? "" : ", " + region) + " (" +
                what + "); set AWS_REGION",
            EPROTO};
  }
  if (IsOneOf(kUnknownKeys, failure.code)) {
    return {ErrorCode::kPermissionDenied,
            "the service refuses the access key or its secret (" + what + ')', 0};
  }
  if (IsOneOf(kSkewed, failure.code)) {
    return {ErrorCode::kPermissionDenied,
            "the clock of this machine and that of the service differ (" + what + ')', 0};
  }
  if (status == 404 || status == 410) return {ErrorCode::kNotFound, what, 0};
  if (IsOneOf(kFull, failure.code) || status == 507) {
    return {ErrorCode::kResourceExhausted, "the store is full (" + what + ')', ENOSPC};
  }
  if (IsOneOf(kOverQuota, failure.code)) {
    return {ErrorCode::kResourceExhausted, "the quota of the store is used up (" + what + ')',
            EDQUOT};
  }
  if (failure.code == "RequestTimeout") return {ErrorCode::kUnavailable, what, 0};
  if (status == 501 || failure.code == "NotImplemented") {
    return {ErrorCode::kNotSupported, "the service answered " + what, 0};
  }
  if (status != 401 && status != 403 && !IsOneOf(kExpired, failure.code)) {
    return {ErrorCode::kUnavailable, "the service answered " + what, EPROTO};
  }
  std::string message = "the service denies access (" + what + ')';
  if (!credentials_) message += "; the request was not signed (anonymous)";
  return {ErrorCode::kPermissionDenied, std::move(message), 0};
}

}  // namespace unshard
