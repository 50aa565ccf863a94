#include "store/http/retry.h"

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <random>
#include <string>
#include <utility>

#include "store/http/redirects.h"

namespace unshard {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// What a server may ask for at most; it also keeps sums of times from overflowing.
constexpr std::uint64_t kMostRetryAfterSeconds = 24 * 3600;

std::optional<milliseconds> RetryAfter(const HttpResponse& response) {
  const auto field = FindHeader(response.headers, "Retry-After");
  const auto seconds = field ? ParseRetryAfter(*field, std::time(nullptr)) : std::nullopt;
  if (!seconds) return std::nullopt;
  return std::chrono::seconds(std::min(*seconds, kMostRetryAfterSeconds));
}

bool MayRetry(const Error& error) {
  return error.code == ErrorCode::kUnavailable &&
         (error.system_errno == 0 || error.system_errno == ECONNREFUSED ||
          error.system_errno == EHOSTUNREACH);
}

// One request with all its attempts and hops. Kept alive by the callback of the attempt.
class Attempts : public std::enable_shared_from_this<Attempts> {
 public:
  Attempts(std::shared_ptr<HttpTransport> transport, const RetryOptions& options,
           HttpRequest request, HttpTransport::Done done)
      : transport_(std::move(transport)),
        original_(std::move(request)),
        done_(std::move(done)),
        delays_(options, RandomFraction) {}

  void Send(HttpRequest request) {
    current_ = std::move(request);
    transport_->Start(current_, [self = shared_from_this()](Result<HttpResponse> result) {
      self->Answered(std::move(result));
    });
  }
  void SendFirst() { Send(original_); }

 private:
  void Answered(Result<HttpResponse> result) {
    if (!result) {
      EndOrRetry(std::move(result), MayRetry(result.error()), std::nullopt);
    } else if (IsRedirect(*result) && !IsRedirectToDirectory(current_, *result)) {
      auto next = Redirect(current_, *result, ++hops_);
      if (next) return Send(*std::move(next));
      done_(tl::unexpected<Error>(std::move(next).error()));
    } else {
      const bool retry = IsRetriedStatus(result->status);
      const auto retry_after = RetryAfter(*result);
      EndOrRetry(std::move(result), retry, retry_after);
    }
  }

  void EndOrRetry(Result<HttpResponse> result, bool retry,
                  std::optional<milliseconds> retry_after) {
    const bool unknown_host = !result && result.error().system_errno == EHOSTUNREACH;
    const auto delay = retry ? delays_.Next(unknown_host, retry_after) : std::nullopt;
    if (!delay) return done_(WithCause(std::move(result)));
    const auto at = Clock::now() + *delay;
    // An answer now is better than the same one at the deadline.
    if (at >= original_.deadline.at) return done_(WithCause(std::move(result)));
    if (!result) {
      cause_ = result.error().message;
    } else {
      cause_ = "the server answered " + std::to_string(result->status);
    }
    hops_ = 0;
    HttpRequest again = original_;
    again.not_before = at;
    Send(std::move(again));
  }

  // A deadline that ended a later attempt: what the attempt before it met says more.
  Result<HttpResponse> WithCause(Result<HttpResponse> result) const {
    if (!result && !cause_.empty() && !MayRetry(result.error())) {
      result.error().message += "; before that: " + cause_;
    }
    return result;
  }

  const std::shared_ptr<HttpTransport> transport_;
  const HttpRequest original_;
  const HttpTransport::Done done_;
  RetryDelays delays_;
  HttpRequest current_;
  int hops_ = 0;
  std::string cause_;
};

class Retrying final : public HttpTransport {
 public:
  Retrying(std::shared_ptr<HttpTransport> transport, const RetryOptions& options)
      : transport_(std::move(transport)), options_(options) {}

  void Start(HttpRequest request, Done done) override {
    if (request.deadline.at == Clock::time_point::max()) {
      request.deadline.at = Clock::now() + options_.timeout;
    }
    if (request.once) return transport_->Start(std::move(request), std::move(done));
    std::make_shared<Attempts>(transport_, options_, std::move(request), std::move(done))
        ->SendFirst();
  }

 private:
  const std::shared_ptr<HttpTransport> transport_;
  const RetryOptions options_;
};

}  // namespace

double RandomFraction() {
  thread_local std::minstd_rand engine{std::random_device()()};
  return std::uniform_real_distribution<double>(0, 1)(engine);
}

RetryDelays::RetryDelays(const RetryOptions& options, Random random)
    : options_(options), random_(std::move(random)), whole_(options.least_delay) {}

std::optional<milliseconds> RetryDelays::Next(bool unknown_host,
                                              std::optional<milliseconds> retry_after) {
  const int most = unknown_host ? options_.attempts_of_unknown_hosts : options_.attempts;
  if (attempts_ >= most) return std::nullopt;
  ++attempts_;
  whole_ = std::min(whole_ * 2, options_.most_delay);
  const auto half = static_cast<double>(whole_.count()) / 2;
  const milliseconds drawn(static_cast<std::int64_t>(half + random_() * half));
  return std::max(drawn, retry_after.value_or(milliseconds(0)));
}

bool IsRetriedStatus(int status) {
  switch (status) {
    case 408:
    case 425:
    case 429:
    case 500:
    case 502:
    case 503:
    case 504:
      return true;
    default:
      return false;
  }
}

std::shared_ptr<HttpTransport> WithRetries(std::shared_ptr<HttpTransport> transport,
                                           const RetryOptions& options) {
  return std::make_shared<Retrying>(std::move(transport), options);
}

}  // namespace unshard
