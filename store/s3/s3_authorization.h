// Signing the requests for one bucket.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>

#include "store/http/authorization.h"
#include "store/http/renewed_secret.h"
#include "store/s3/endpoint.h"
#include "store/s3/sigv4.h"

namespace unshard {

// Whether an answer denies access, as services also answer for an object that is missing where
// objects may not be listed. Refused credentials are no denial.
bool IsS3Denial(const HttpResponse& response);

// Knows the region and the clock of the service once an answer has named them. Thread-safe.
class S3Authorization final : public HttpAuthorization {
 public:
  // `credentials` null: requests are not signed.
  S3Authorization(std::string bucket, const S3Settings& settings, S3Endpoint endpoint,
                  std::unique_ptr<RenewedSecret<AwsCredentials>> credentials);

  [[nodiscard]] bool Covers(const HttpRequest& request) const override;
  void Authorize(HttpRequest request, Done done) override;
  bool Renew(const HttpRequest& sent, const HttpResponse& response) override;
  [[nodiscard]] std::optional<Error> ErrorOf(const HttpRequest& sent,
                                             const HttpResponse& response) const override;
  // Answers to writes, to HEAD, and to ?acl= and ?tagging= are interpreted by the writer, so that
  // ErrorOf gives nothing for them. This gives, for an answer without success, what ErrorOf gives
  // for a read.
  [[nodiscard]] Error Explain(const HttpResponse& response) const;
  // Whether ErrorOf gives nothing for a denial (IsS3Denial), so that the caller gets the answer.
  void PassDenials(bool passes) { passes_denials_ = passes; }

 private:
  using Credentials = std::shared_ptr<const AwsCredentials>;

  [[nodiscard]] Result<HttpRequest> Signed(HttpRequest request,
                                           const AwsCredentials& credentials) const;
  // Where the bucket is by now.
  [[nodiscard]] S3Endpoint Endpoint() const;
  bool SetRegion(const std::string& region);
  [[nodiscard]] bool IsSentToTheRegion(const HttpRequest& sent) const;
  bool SetClock(const HttpRequest& sent, const HttpResponse& response);
  bool RefuseCredentials(const HttpRequest& sent);

  const std::string bucket_;
  const S3Settings settings_;
  const std::string base_;  // of the URLs of requests
  const std::unique_ptr<RenewedSecret<AwsCredentials>> credentials_;
  std::atomic<std::int64_t> clock_offset_{0};  // seconds
  std::atomic<bool> passes_denials_{false};
  mutable std::mutex mutex_;
  S3Endpoint endpoint_;  // guarded by mutex_
};

}  // namespace unshard
