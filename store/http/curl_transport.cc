// The HTTP transport: one thread, which sleeps in epoll, and libcurl's requests for sockets and
// times.
//
//   1. Start() hands a request over to the thread; a stop of its caller hands over its number. Each
//      wakes the thread only where it sleeps. Nothing else is shared between threads, and no lock
//      is held.
//   2. The thread takes over what there is, and ends the requests that were stopped.
//   3. It ends the requests whose deadline has passed: the first ones of an ordered set.
//   4. It sends the requests that wait and may be sent already: first those that could be sent the
//      earliest, as many at a time as the limit allows.
//   5. It sleeps until a socket is ready, the first deadline, the first time to send a request,
//      libcurl's own next time, or until it is woken.
//   6. It lets libcurl go on with the sockets that are ready, and with those requests whose time
//      libcurl has asked for. Requests that are answered are ended: the callback runs last.
//
// An exception never ends the thread: it fails the request that it is about (6), or is logged.
//
// So a turn costs what happens in it, and not the number of requests in flight.
#include "store/http/curl_transport.h"

#include <curl/curl.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

#include "store/http/concurrency_limit.h"
#include "store/http/curl_transfer.h"
#include "store/http/socket_events.h"
#include "store/object/catch_exceptions.h"
#include "store/object/hand_over.h"
#include "store/object/log.h"
#include "store/object/thread_without_signals.h"

namespace unshard {
namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kWaiting = "waiting for the server";

// Those who wait for what `work` has not done get an error by AwaitedResult::Callback.
template <class Work>
void LogExceptions(const Work& work) noexcept {
  try {
    const Status done = CatchExceptions([&]() -> Status { return work(), Status(); });
    if (!done) LogError("a request over the network: " + done.error().message);
  } catch (...) {
    static_cast<void>(0);  // there is no memory for a line of the log
  }
}

struct FreeMulti {
  void operator()(CURLM* multi) const { curl_multi_cleanup(multi); }
};

// All but Add and Stop is for the network thread.
class Reactor {
 public:
  explicit Reactor(const CurlOptions& options);
  [[nodiscard]] bool usable() const { return multi_ != nullptr && events_.usable(); }

  // Thread-safe. After Stop the request ends at once.
  void Add(std::unique_ptr<CurlTransfer> transfer);
  void Stop();

  // Returns after Stop, when every request has ended.
  void Run();

 private:
  // Of requests, in the order in which they were taken over, from 1.
  using Number = std::uint64_t;
  struct Message {
    std::unique_ptr<CurlTransfer> added;  // null: a request is stopped
    Number stopped_one = 0;
  };
  using Times = std::set<std::pair<Clock::time_point, Number>>;
  struct NoteStop {
    Reactor* reactor;
    Number number;
    void operator()() const noexcept {
      // Without memory for the message the request ends at its deadline.
      LogExceptions([this] {
        Message message{nullptr, number};
        reactor->Put(message);
      });
    }
  };
  struct Entry {
    Number number = 0;
    std::unique_ptr<CurlTransfer> transfer;
    Clock::time_point send_at;
    bool running = false;
    // Declared last: its destructor waits for a call that is under way.
    std::optional<std::stop_callback<NoteStop>> on_stop;
  };
  using Entries = std::map<Number, Entry>;

  static int OnSocket(CURL* handle, curl_socket_t socket, int what, void* reactor, void* known);
  static int OnTime(CURLM* multi, long milliseconds, void* reactor);
  bool Put(Message& message);
  static void Refuse(CurlTransfer& transfer);
  void TakeOver();
  void Begin(std::unique_ptr<CurlTransfer> transfer);
  void EndLate();
  void SendWaiting();
  void Sleep();
  void GoOn(curl_socket_t socket, int events);
  void EndAnswered();
  void End(Entries::iterator entry, Result<HttpResponse> result);
  [[nodiscard]] Clock::time_point SleepUntil();

  const CurlOptions options_;
  const CurlEnvironment environment_;
  SocketEvents events_;
  HandOver<Message> messages_;
  std::atomic<bool> stopped_{false};
  std::atomic<bool> sleeps_{false};  // or is about to
  // All below: the network thread's.
  ConcurrencyLimit limit_;
  Entries entries_;
  Number last_ = 0;
  Times deadlines_;  // of all entries
  Times waiting_;    // when those that do not run may be sent
  std::size_t running_ = 0;
  Clock::time_point next_time_ = Clock::time_point::max();  // libcurl's
  // Declared last: its end calls back.
  const std::unique_ptr<CURLM, FreeMulti> multi_;
};

CURLM* NewMulti() {
  static const CURLcode initialized = curl_global_init(CURL_GLOBAL_DEFAULT);
  return initialized == CURLE_OK ? curl_multi_init() : nullptr;
}

Reactor::Reactor(const CurlOptions& options)
    : options_(options),
      environment_(ReadCurlEnvironment()),
      limit_(std::max<std::size_t>(1, options.connections_per_host)),
      multi_(NewMulti()) {
  if (!usable()) return;
  const auto connections =
      static_cast<long>(std::max<std::size_t>(1, options.connections_per_host));
  CURLM* const multi = multi_.get();
  curl_multi_setopt(multi, CURLMOPT_MAX_HOST_CONNECTIONS, connections);
  curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, connections);
  curl_multi_setopt(multi, CURLMOPT_PIPELINING, static_cast<long>(CURLPIPE_NOTHING));
  curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, &Reactor::OnSocket);
  curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, this);
  curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, &Reactor::OnTime);
  curl_multi_setopt(multi, CURLMOPT_TIMERDATA, this);
}

// `known`: what curl_multi_assign has given this socket.
int Reactor::OnSocket(CURL*, curl_socket_t socket, int what, void* reactor, void* known) {
  auto& self = *static_cast<Reactor*>(reactor);
  if (what == CURL_POLL_REMOVE) {
    self.events_.Unwatch(socket);
    return 0;
  }
  const auto wanted = what == CURL_POLL_IN    ? SocketEvents::For::kReading
                      : what == CURL_POLL_OUT ? SocketEvents::For::kWriting
                                              : SocketEvents::For::kBoth;
  self.events_.Watch(socket, wanted, known != nullptr);
  if (known == nullptr) curl_multi_assign(self.multi_.get(), socket, &self);
  return 0;
}

int Reactor::OnTime(CURLM*, long milliseconds, void* reactor) {
  auto& self = *static_cast<Reactor*>(reactor);
  self.next_time_ = milliseconds < 0 ? Clock::time_point::max()
                                     : Clock::now() + std::chrono::milliseconds(milliseconds);
  return 0;
}

// Step 1. The thread looks for messages after it has set `sleeps_`.
bool Reactor::Put(Message& message) {
  if (!messages_.Put(message)) return false;
  if (sleeps_.load() && sleeps_.exchange(false)) events_.Wake();
  return true;
}

void Reactor::Add(std::unique_ptr<CurlTransfer> transfer) {
  Message message{std::move(transfer)};
  if (!Put(message)) Refuse(*message.added);
}

void Reactor::Stop() {
  stopped_ = true;
  events_.Wake();
}

void Reactor::Refuse(CurlTransfer& transfer) {
  const auto done = transfer.TakeDone();
  LogExceptions([&] { done(Fail(ErrorCode::kUnavailable, "the store is being closed")); });
}

void Reactor::Run() {
  while (!stopped_) {
    LogExceptions([this] {
      TakeOver();
      EndLate();
      SendWaiting();
      Sleep();
      EndAnswered();
    });
  }
  for (const Message& message : messages_.Close()) {
    if (message.added) Refuse(*message.added);
  }
  while (!entries_.empty()) {
    End(entries_.begin(), Fail(ErrorCode::kUnavailable, "the store is being closed"));
  }
}

// Step 2.
void Reactor::TakeOver() {
  if (messages_.empty()) return;
  for (Message& message : messages_.Take()) {
    if (message.added) {
      Begin(std::move(message.added));
    } else if (const auto entry = entries_.find(message.stopped_one); entry != entries_.end()) {
      End(entry, FailErrno(EINTR, kWaiting));
    }
  }
}

void Reactor::Begin(std::unique_ptr<CurlTransfer> transfer) {
  const Number number = ++last_;
  Entry& entry = entries_[number];
  entry.number = number;
  entry.transfer = std::move(transfer);
  const HttpRequest& request = entry.transfer->request();
  entry.send_at = std::max(Clock::now(), request.not_before);
  deadlines_.emplace(request.deadline.at, number);
  waiting_.emplace(entry.send_at, number);
  const std::stop_token& stop = request.deadline.stop;
  if (stop.stop_possible()) entry.on_stop.emplace(stop, NoteStop{this, number});
}

// Step 3.
void Reactor::EndLate() {
  if (deadlines_.empty()) return;
  const auto now = Clock::now();
  while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
    End(entries_.find(deadlines_.begin()->second), FailErrno(ETIMEDOUT, kWaiting));
  }
}

// Step 4.
void Reactor::SendWaiting() {
  if (waiting_.empty()) return;
  const auto now = Clock::now();
  while (!waiting_.empty() && running_ < limit_.limit() && waiting_.begin()->first <= now) {
    const auto at = entries_.find(waiting_.begin()->second);
    Entry& entry = at->second;
    if (entry.transfer->request().deadline.stop.stop_requested()) {
      End(at, FailErrno(EINTR, kWaiting));
      continue;
    }
    const auto prepared = CatchExceptions(
        [&]() -> Result<CURL*> { return entry.transfer->Prepare(options_, environment_); });
    CURL* const handle = prepared.value_or(nullptr);
    if (handle != nullptr) curl_easy_setopt(handle, CURLOPT_PRIVATE, &entry);
    if (handle == nullptr || curl_multi_add_handle(multi_.get(), handle) != CURLM_OK) {
      End(at, Fail(ErrorCode::kResourceExhausted, "out of memory for a request"));
      continue;
    }
    waiting_.erase(waiting_.begin());
    entry.running = true;
    ++running_;
  }
}

// Steps 5 and 6.
void Reactor::Sleep() {
  const auto& all_ready = events_.Wait(SleepUntil());
  sleeps_ = false;
  for (const SocketEvents::Ready& ready : all_ready) {
    GoOn(ready.socket,
         (ready.readable ? CURL_CSELECT_IN : 0) | (ready.writable ? CURL_CSELECT_OUT : 0));
  }
  if (next_time_ > Clock::now()) return;
  next_time_ = Clock::time_point::max();
  GoOn(CURL_SOCKET_TIMEOUT, 0);
}

void Reactor::GoOn(curl_socket_t socket, int events) {
  int still_running = 0;
  curl_multi_socket_action(multi_.get(), socket, events, &still_running);
}

Clock::time_point Reactor::SleepUntil() {
  auto until = next_time_;
  if (!deadlines_.empty()) until = std::min(until, deadlines_.begin()->first);
  const bool may_send = !waiting_.empty() && running_ < limit_.limit();
  if (may_send) until = std::min(until, waiting_.begin()->first);
  sleeps_ = until > Clock::now();
  return messages_.empty() && !stopped_ ? until : Clock::time_point::min();
}

void Reactor::EndAnswered() {
  int left = 0;
  while (const CURLMsg* message = curl_multi_info_read(multi_.get(), &left)) {
    if (message->msg != CURLMSG_DONE) continue;
    const CURLcode code = message->data.result;
    Entry* entry = nullptr;
    curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &entry);
    auto result = CatchExceptions([&] { return entry->transfer->Finish(code); });
    const bool throttled = result && (result->status == 429 || result->status == 503);
    limit_.Answered(throttled, entry->transfer->sent(), Clock::now());
    End(entries_.find(entry->number), std::move(result));
  }
}

void Reactor::End(Entries::iterator at, Result<HttpResponse> result) {
  Entry& entry = at->second;
  if (entry.running) {
    curl_multi_remove_handle(multi_.get(), entry.transfer->handle());
    --running_;
  } else {
    waiting_.erase({entry.send_at, entry.number});
  }
  deadlines_.erase({entry.transfer->request().deadline.at, entry.number});
  const auto done = entry.transfer->TakeDone();
  entries_.erase(at);
  LogExceptions([&] { done(std::move(result)); });
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
    // The callback may end this transport before Add returns.
    const std::shared_ptr<Reactor> reactor = reactor_;
    reactor->Add(std::make_unique<CurlTransfer>(std::move(request), std::move(done)));
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
