#include "store/http/curl_transport.h"

#include <curl/curl.h>

#include <algorithm>
#include <cstdint>
#include <list>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>

#include "store/http/concurrency_limit.h"
#include "store/http/curl_transfer.h"
#include "store/object/thread_without_signals.h"

namespace unshard {
namespace {

using Clock = std::chrono::steady_clock;

struct FreeMulti {
  void operator()(CURLM* multi) const { curl_multi_cleanup(multi); }
};

// Sends the requests that other threads add. All but Add and Stop is for the network thread.
class Reactor {
 public:
  explicit Reactor(const CurlOptions& options);
  [[nodiscard]] bool usable() const { return multi_ != nullptr; }

  // Thread-safe. False: after Stop.
  bool Add(std::unique_ptr<CurlTransfer>& transfer);
  void Stop();

  // Returns after Stop, when every request has ended.
  void Run();

 private:
  struct Wake {
    Reactor* reactor;
    void operator()() const { curl_multi_wakeup(reactor->multi_.get()); }
  };
  struct Entry {
    std::unique_ptr<CurlTransfer> transfer;
    bool running = false;
    // Declared last: its destructor waits for a wake-up that is under way.
    std::optional<std::stop_callback<Wake>> on_stop;
  };
  using Entries = std::list<Entry>;

  bool TakeAdded();  // false: after Stop
  void EndLate();
  void StartWaiting();
  void EndAnswered();
  void End(Entries::iterator entry, Result<HttpResponse> result);
  [[nodiscard]] int PollMilliseconds() const;

  const CurlOptions options_;
  const CurlEnvironment environment_;
  const std::unique_ptr<CURLM, FreeMulti> multi_;
  std::mutex mutex_;
  std::list<std::unique_ptr<CurlTransfer>> added_;  // guarded by mutex_
  bool stopped_ = false;                            // guarded by mutex_
  // All below: the network thread's.
  ConcurrencyLimit limit_;
  Entries entries_;  // oldest first
  std::size_t running_ = 0;
};

CURLM* NewMulti() {
  static const CURLcode initialized = curl_global_init(CURL_GLOBAL_DEFAULT);
  return initialized == CURLE_OK ? curl_multi_init() : nullptr;
}

Reactor::Reactor(const CurlOptions& options)
    : options_(options),
      environment_(ReadCurlEnvironment()),
      multi_(NewMulti()),
      limit_(std::max<std::size_t>(1, options.connections_per_host)) {
  if (!multi_) return;
  const auto connections =
      static_cast<long>(std::max<std::size_t>(1, options.connections_per_host));
  curl_multi_setopt(multi_.get(), CURLMOPT_MAX_HOST_CONNECTIONS, connections);
  curl_multi_setopt(multi_.get(), CURLMOPT_MAXCONNECTS, connections);
  curl_multi_setopt(multi_.get(), CURLMOPT_PIPELINING, static_cast<long>(CURLPIPE_NOTHING));
}

bool Reactor::Add(std::unique_ptr<CurlTransfer>& transfer) {
  {
    const std::lock_guard lock(mutex_);
    if (stopped_) return false;
    added_.push_back(std::move(transfer));
  }
  curl_multi_wakeup(multi_.get());
  return true;
}

void Reactor::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  curl_multi_wakeup(multi_.get());
}

void Reactor::Run() {
  while (TakeAdded()) {
    EndLate();
    StartWaiting();
    int still_running = 0;
    curl_multi_perform(multi_.get(), &still_running);
    EndAnswered();
    curl_multi_poll(multi_.get(), nullptr, 0, PollMilliseconds(), nullptr);
  }
  while (!entries_.empty()) {
    End(entries_.begin(), Fail(ErrorCode::kUnavailable, "the store is being closed"));
  }
}

bool Reactor::TakeAdded() {
  std::list<std::unique_ptr<CurlTransfer>> added;
  bool stopped = false;
  {
    const std::lock_guard lock(mutex_);
    added = std::exchange(added_, {});
    stopped = stopped_;
  }
  for (auto& transfer : added) {
    Entry& entry = entries_.emplace_back();
    entry.transfer = std::move(transfer);
    const std::stop_token& stop = entry.transfer->request().deadline.stop;
    if (stop.stop_possible()) entry.on_stop.emplace(stop, Wake{this});
  }
  return !stopped;
}

void Reactor::EndLate() {
  for (auto entry = entries_.begin(); entry != entries_.end();) {
    const auto at = entry++;
    const Deadline& deadline = at->transfer->request().deadline;
    if (Status in_time = deadline.Check("waiting for the server"); !in_time) {
      End(at, tl::unexpected<Error>(std::move(in_time).error()));
    }
  }
}

void Reactor::StartWaiting() {
  const auto now = Clock::now();
  for (auto entry = entries_.begin(); entry != entries_.end() && running_ < limit_.limit();) {
    const auto at = entry++;
    if (at->running || at->transfer->request().not_before > now) continue;
    CURL* const handle = at->transfer->Prepare(options_, environment_);
    if (handle == nullptr || curl_multi_add_handle(multi_.get(), handle) != CURLM_OK) {
      End(at, Fail(ErrorCode::kResourceExhausted, "no memory for a request"));
      continue;
    }
    at->running = true;
    ++running_;
  }
}

void Reactor::EndAnswered() {
  int left = 0;
  while (const CURLMsg* message = curl_multi_info_read(multi_.get(), &left)) {
    if (message->msg != CURLMSG_DONE) continue;
    const CURL* const handle = message->easy_handle;
    const CURLcode code = message->data.result;
    const auto entry = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& each) {
      return each.transfer->handle() == handle;
    });
    if (entry == entries_.end()) continue;
    auto result = entry->transfer->Finish(code);
    const bool throttled = result && (result->status == 429 || result->status == 503);
    limit_.Answered(throttled, entry->transfer->sent(), Clock::now());
    End(entry, std::move(result));
  }
}

void Reactor::End(Entries::iterator entry, Result<HttpResponse> result) {
  if (entry->running) {
    curl_multi_remove_handle(multi_.get(), entry->transfer->handle());
    --running_;
  }
  const auto done = entry->transfer->TakeDone();
  entries_.erase(entry);
  done(std::move(result));
}

int Reactor::PollMilliseconds() const {
  auto next = Clock::now() + std::chrono::seconds(1);
  for (const Entry& entry : entries_) {
    const HttpRequest& request = entry.transfer->request();
    next = std::min(next, request.deadline.at);
    if (!entry.running && running_ < limit_.limit()) next = std::min(next, request.not_before);
  }
  const auto wait = std::chrono::ceil<std::chrono::milliseconds>(next - Clock::now());
  return static_cast<int>(std::max<std::int64_t>(0, wait.count()));
}

class CurlTransport final : public HttpTransport {
 public:
  explicit CurlTransport(const CurlOptions& options)
      : reactor_(std::make_shared<Reactor>(options)) {}

  ~CurlTransport() override {
    if (!thread_.joinable()) return;
    reactor_->Stop();
    // The last reference may go in a callback. The thread holds the reactor itself.
    if (thread_.get_id() == std::this_thread::get_id()) {
      thread_.detach();
    } else {
      thread_.join();
    }
  }
  CurlTransport(const CurlTransport&) = delete;
  CurlTransport& operator=(const CurlTransport&) = delete;

  void Start(HttpRequest request, Done done) override {
    if (!reactor_->usable()) {
      done(Fail(ErrorCode::kResourceExhausted, "libcurl cannot be started"));
      return;
    }
    std::call_once(
        started_, [&] { thread_ = StartWithoutSignals([reactor = reactor_] { reactor->Run(); }); });
    auto transfer = std::make_unique<CurlTransfer>(std::move(request), std::move(done));
    if (reactor_->Add(transfer)) return;
    transfer->TakeDone()(Fail(ErrorCode::kUnavailable, "the store is being closed"));
  }

 private:
  const std::shared_ptr<Reactor> reactor_;
  std::once_flag started_;
  std::thread thread_;
};

}  // namespace

std::shared_ptr<HttpTransport> MakeCurlTransport(const CurlOptions& options) {
  return std::make_shared<CurlTransport>(options);
}

}  // namespace unshard
