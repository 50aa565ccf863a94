#include "store/http/renewed_secret.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <stop_token>
#include <vector>

#include "store/object/catch_exceptions.h"
#include "store/object/log.h"
#include "store/object/thread_without_signals.h"

namespace unshard {
namespace {

using Steady = std::chrono::steady_clock;
using System = std::chrono::system_clock;

// How often the callers that wait for a fetch are asked whether they have been interrupted.
constexpr std::chrono::milliseconds kInterruptsSeen{50};

}  // namespace

class SecretRenewal::State {
 public:
  State(Fetch fetch, const RenewalTimes& times) : fetch_(std::move(fetch)), times_(times) {}

  // True: `done` has been called. False: it waits, and the thread is needed.
  bool Get(const Deadline& deadline, Done& done);
  Held Current();
  void Refuse(const Held& refused);
  void Stop();
  void Run();

 private:
  struct Waiter {
    Deadline deadline;
    Done done;
  };
  using Waiters = std::vector<Waiter>;

  [[nodiscard]] bool IsUsable() const {
    return secret_ && !refused_ &&
           (!expires_ || System::now() < *expires_ || Steady::now() < doubtful_until_);
  }
  [[nodiscard]] bool FailedLately() const {
    return failure_ && Steady::now() < failed_at_ + times_.failure_kept;
  }
  // Fetches, and meanwhile ends the waiters whose deadline passes; with `lock` held at both ends.
  Result<Fetched> FetchNow(std::unique_lock<std::mutex>& lock);
  void EndLate(std::unique_lock<std::mutex>& lock);
  bool Take(Fetched fetched);
  // The answer to all waiting callers.
  Result<Held> Keep(Result<Fetched> fetched);
  void EndAll(std::unique_lock<std::mutex>& lock, const Result<Held>& result);

  const Fetch fetch_;
  const RenewalTimes times_;
  std::stop_source stop_;
  std::mutex mutex_;
  std::condition_variable changed_;
  // All below guarded by mutex_.
  Held secret_;
  std::optional<System::time_point> expires_;
  System::duration early_{0};            // it is fetched again so long before
  Steady::time_point doubtful_until_{};  // it had expired when it was fetched, and is used so long
  bool refused_ = false;
  std::optional<Error> failure_;
  Steady::time_point failed_at_{};
  bool wanted_ = false;  // a fetch
  Waiters waiters_;
};

bool SecretRenewal::State::Get(const Deadline& deadline, Done& done) {
  std::unique_lock lock(mutex_);
  if (IsUsable()) {
    const bool early = expires_ && early_.count() > 0 && System::now() + early_ >= *expires_;
    const bool fetch = early && !FailedLately();
    if (fetch) {
      wanted_ = true;
      changed_.notify_all();
    }
    const Held secret = secret_;
    lock.unlock();
    done(secret);
    return !fetch;
  }
  if (FailedLately() && !wanted_) {
    tl::unexpected<Error> failure(*failure_);
    lock.unlock();
    done(std::move(failure));
    return true;
  }
  waiters_.push_back({deadline, std::move(done)});
  wanted_ = true;
  changed_.notify_all();
  return false;
}

SecretRenewal::Held SecretRenewal::State::Current() {
  const std::lock_guard lock(mutex_);
  return IsUsable() ? secret_ : nullptr;
}

void SecretRenewal::State::Refuse(const Held& refused) {
  const std::lock_guard lock(mutex_);
  if (refused && refused == secret_) refused_ = true;
}

void SecretRenewal::State::Stop() {
  stop_.request_stop();
  const std::lock_guard lock(mutex_);
  changed_.notify_all();
}

void SecretRenewal::State::Run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return wanted_ || stop_.stop_requested(); });
    if (stop_.stop_requested()) break;
    const Result<Held> result = Keep(FetchNow(lock));
    wanted_ = false;
    if (stop_.stop_requested()) break;
    EndAll(lock, result);
  }
  EndAll(lock, Fail(ErrorCode::kUnavailable, "the store is being closed"));
}

Result<SecretRenewal::Fetched> SecretRenewal::State::FetchNow(std::unique_lock<std::mutex>& lock) {
  std::optional<Result<Fetched>> fetched;  // guarded by mutex_
  const Deadline deadline{Steady::now() + times_.fetch_timeout, stop_.get_token()};
  std::thread fetcher;
  const Status started = CatchExceptions([&]() -> Status {
    fetcher = StartWithoutSignals([&] {
      auto result = CatchExceptions([&] { return fetch_(deadline); });
      const std::lock_guard done(mutex_);
      fetched = std::move(result);
      changed_.notify_all();
    });
    return {};
  });
  if (!started) return tl::unexpected<Error>(started.error());
  while (!fetched) {
    auto wake = Steady::now() + kInterruptsSeen;
    for (const Waiter& waiter : waiters_) wake = std::min(wake, waiter.deadline.at);
    changed_.wait_until(lock, wake);
    EndLate(lock);
  }
  lock.unlock();
  fetcher.join();
  lock.lock();
  return *std::move(fetched);
}

void SecretRenewal::State::EndLate(std::unique_lock<std::mutex>& lock) {
  std::vector<std::pair<Done, Error>> late;
  std::erase_if(waiters_, [&](Waiter& waiter) {
    auto in_time = waiter.deadline.Check("waiting for credentials");
    if (in_time) return false;
    late.emplace_back(std::move(waiter.done), std::move(in_time).error());
    return true;
  });
  if (late.empty()) return;
  lock.unlock();
  for (auto& [done, error] : late) done(tl::unexpected<Error>(std::move(error)));
  lock.lock();
}

// False where it is not to be used.
bool SecretRenewal::State::Take(Fetched fetched) {
  const bool after_refusal = refused_;
  secret_ = std::move(fetched.secret);
  expires_ = fetched.expires;
  refused_ = false;
  failure_.reset();
  doubtful_until_ = {};
  if (!expires_) return true;
  const auto left = *expires_ - System::now();
  early_ = std::min<System::duration>(
      times_.early, std::chrono::duration_cast<System::duration>(left * times_.early_part));
  if (left.count() > 0) return true;
  if (after_refusal) {
    secret_.reset();
    return false;
  }
  doubtful_until_ = Steady::now() + times_.doubtful_kept;
  LogWarning(
      "credentials that were just fetched have already expired by the clock of this machine; they "
      "are sent anyway, because the clock may be wrong");
  return true;
}

Result<SecretRenewal::Held> SecretRenewal::State::Keep(Result<Fetched> fetched) {
  if (fetched) {
    if (Take(*std::move(fetched))) return secret_;
    failure_ = Error{ErrorCode::kPermissionDenied,
                     "the service refused the previous credentials, and the new ones have already "
                     "expired; check the clock of this machine",
                     0};
  } else {
    failure_ = std::move(fetched).error();
  }
  failed_at_ = Steady::now();
  if (IsUsable()) return secret_;  // it was fetched early
  return tl::unexpected<Error>(*failure_);
}

void SecretRenewal::State::EndAll(std::unique_lock<std::mutex>& lock, const Result<Held>& result) {
  const Waiters waiters = std::exchange(waiters_, {});
  lock.unlock();
  for (const Waiter& waiter : waiters) waiter.done(result);
  lock.lock();
}

SecretRenewal::SecretRenewal(Fetch fetch, const RenewalTimes& times)
    : state_(std::make_shared<State>(std::move(fetch), times)) {}

SecretRenewal::~SecretRenewal() {
  if (!thread_.joinable()) return;
  state_->Stop();
  // The last reference may go in a callback. The thread holds the state itself.
  if (thread_.get_id() == std::this_thread::get_id()) {
    thread_.detach();
  } else {
    thread_.join();
  }
}

void SecretRenewal::Get(const Deadline& deadline, Done done) {
  if (state_->Get(deadline, done)) return;
  std::call_once(started_,
                 [&] { thread_ = StartWithoutSignals([state = state_] { state->Run(); }); });
}

SecretRenewal::Held SecretRenewal::Current() { return state_->Current(); }

void SecretRenewal::Refuse(const Held& refused) { state_->Refuse(refused); }

}  // namespace unshard
