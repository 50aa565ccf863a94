#include "store/http/hedging.h"

#include <algorithm>
#include <array>
#include <mutex>
#include <optional>
#include <stop_token>
#include <utility>

#include "store/http/latencies.h"
#include "store/http/retry.h"

namespace unshard {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// When to send a second request, and whether one may be sent at all. Thread-safe.
class HedgePolicy {
 public:
  explicit HedgePolicy(const HedgingOptions& options) : options_(options) {}

  // A request is sent now: how long to wait before its second request; nothing if it may have none.
  // Ended() follows each delay.
  std::optional<milliseconds> Begin() {
    const std::lock_guard lock(mutex_);
    allowed_ = std::min(allowed_ + 1 / options_.requests_per_hedge, kMostAllowed);
    if (allowed_ < 1) return std::nullopt;
    allowed_ -= 1;
    return std::max(latencies_.Percentile95(options_.first_delay), options_.least_delay);
  }
  void Ended(Clock::duration latency, bool second_sent) {
    const std::lock_guard lock(mutex_);
    latencies_.Note(latency);
    if (!second_sent) allowed_ += 1;
  }

 private:
  // So many at once, after a time of few.
  static constexpr double kMostAllowed = 16;

  const HedgingOptions options_;
  std::mutex mutex_;
  Latencies latencies_;   // guarded by mutex_
  double allowed_ = 1.0;  // second requests; guarded by mutex_
};

bool IsUsable(const Result<HttpResponse>& answer) {
  return answer && !IsRetriedStatus(answer->status);
}

// One request and its second one. Kept alive by their callbacks.
class Hedged : public std::enable_shared_from_this<Hedged> {
 public:
  Hedged(std::shared_ptr<HedgePolicy> policy, const HttpRequest& request, milliseconds delay,
         HttpTransport::Done done)
      : policy_(std::move(policy)),
        sent_(std::max(Clock::now(), request.not_before)),
        second_at_(sent_ + delay),
        done_(std::move(done)) {}

  // Step 1.
  void Send(HttpTransport& transport, const HttpRequest& request) {
    if (request.deadline.stop.stop_possible()) {
      on_caller_.emplace(request.deadline.stop, StopBoth{this});
    }
    for (std::size_t which = 0; which < stops_.size(); ++which) {
      HttpRequest own = request;
      own.deadline.stop = stops_[which].get_token();
      if (which == 1) own.not_before = second_at_;
      transport.Start(std::move(own),
                      [self = shared_from_this(), which](Result<HttpResponse> answer) {
                        self->Answered(which, std::move(answer));
                      });
    }
  }

 private:
  struct StopBoth {
    Hedged* hedged;
    void operator()() const {
      for (std::stop_source& stop : hedged->stops_) stop.request_stop();
    }
  };

  // Step 2.
  void Answered(std::size_t which, Result<HttpResponse> answer) {
    const auto now = Clock::now();
    const bool second_sent = now >= second_at_;
    {
      const std::lock_guard lock(mutex_);
      if (ended_) return;
      const bool other_may_answer = !std::exchange(one_failed_, true) && second_sent;
      if (!IsUsable(answer) && other_may_answer) return;
      ended_ = true;
    }
    stops_[1 - which].request_stop();
    policy_->Ended(now - sent_, second_sent);
    done_(std::move(answer));
  }

  const std::shared_ptr<HedgePolicy> policy_;
  const Clock::time_point sent_;
  const Clock::time_point second_at_;
  const HttpTransport::Done done_;
  std::array<std::stop_source, 2> stops_;
  std::mutex mutex_;
  bool one_failed_ = false;  // guarded by mutex_
  bool ended_ = false;       // guarded by mutex_
  // Declared last: its destructor waits for a call that is under way.
  std::optional<std::stop_callback<StopBoth>> on_caller_;
};

class Hedging final : public HttpTransport {
 public:
  Hedging(std::shared_ptr<HttpTransport> transport, const HedgingOptions& options)
      : transport_(std::move(transport)),
        options_(options),
        policy_(std::make_shared<HedgePolicy>(options)) {}

  void Start(HttpRequest request, Done done) override {
    const bool small = request.method == HttpRequest::Method::kGet && !request.once &&
                       request.max_other_body <= options_.most_bytes &&
                       FindHeader(request.headers, "Range").has_value();
    const auto delay = small ? policy_->Begin() : std::nullopt;
    if (!delay) return transport_->Start(std::move(request), std::move(done));
    std::make_shared<Hedged>(policy_, request, *delay, std::move(done))->Send(*transport_, request);
  }

 private:
  const std::shared_ptr<HttpTransport> transport_;
  const HedgingOptions options_;
  const std::shared_ptr<HedgePolicy> policy_;
};

}  // namespace

std::shared_ptr<HttpTransport> WithHedging(std::shared_ptr<HttpTransport> transport,
                                           const HedgingOptions& options) {
  return std::make_shared<Hedging>(std::move(transport), options);
}

}  // namespace unshard
