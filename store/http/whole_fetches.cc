#include "store/http/whole_fetches.h"

#include <algorithm>
#include <utility>

#include "store/object/catch_exceptions.h"

namespace unshard {

WholeFetch::~WholeFetch() {
  if (on_read_) on_read_();
}

Result<HttpAnswer> WholeFetch::Answer() {
  std::unique_lock lock(mutex_);
  if (answer_) return *answer_;
  if (response_) {
    answer_ = CatchExceptions([&] { return read_(*std::exchange(response_, HttpResponse())); });
  } else {
    answer_ = tl::unexpected<Error>(response_.error());
  }
  const auto on_read = std::exchange(on_read_, nullptr);
  Result<HttpAnswer> answer = *answer_;
  lock.unlock();
  on_read();
  return answer;
}

// One fetch that has been started. It ends by its response, or where that is dropped.
class WholeFetches::Running {
 public:
  Running(std::shared_ptr<WholeFetches> fetches, std::shared_ptr<Waiting> fetch)
      : fetches_(std::move(fetches)), fetch_(std::move(fetch)) {}
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;
  ~Running() {
    if (!ended_) fetches_->Release(fetch_->bytes);
  }

  void End(Result<HttpResponse> response) {
    const auto outcome = std::make_shared<WholeFetch>(
        std::move(response), fetch_->read,
        [fetches = fetches_, bytes = fetch_->bytes] { fetches->Release(bytes); });
    ended_ = true;
    for (const Done& done : std::exchange(fetch_->dones, {})) {
      // A callback that throws gives an error to its waiter when it goes.
      static_cast<void>(CatchExceptions([&]() -> Status { return done(outcome), Status(); }));
    }
  }

 private:
  const std::shared_ptr<WholeFetches> fetches_;
  const std::shared_ptr<Waiting> fetch_;
  bool ended_ = false;
};

void WholeFetches::Fetch(const std::string& key, std::uint64_t bytes, Start start,
                         WholeFetch::Read read, Done done) {
  {
    const std::lock_guard lock(mutex_);
    const auto found = std::find_if(waiting_.begin(), waiting_.end(),
                                    [&](const auto& each) { return each->key == key; });
    if (found != waiting_.end()) return (*found)->dones.push_back(std::move(done));
    waiting_.push_back(std::make_shared<Waiting>(
        Waiting{key, bytes, std::move(start), std::move(read), {std::move(done)}}));
  }
  StartNext();
}

// Starts all that fit.
void WholeFetches::StartNext() {
  while (const std::shared_ptr<Waiting> next = TakeNext()) {
    const auto running = std::make_shared<Running>(shared_from_this(), next);
    next->start([running](Result<HttpResponse> response) { running->End(std::move(response)); });
  }
}

// Null: none waits that fits.
std::shared_ptr<WholeFetches::Waiting> WholeFetches::TakeNext() {
  const std::lock_guard lock(mutex_);
  if (waiting_.empty()) return nullptr;
  const std::uint64_t bytes = waiting_.front()->bytes;
  if (running_bytes_ > 0 && running_bytes_ + bytes > most_bytes_) return nullptr;
  auto next = std::move(waiting_.front());
  waiting_.pop_front();
  running_bytes_ += bytes;
  return next;
}

void WholeFetches::Release(std::uint64_t bytes) {
  {
    const std::lock_guard lock(mutex_);
    running_bytes_ -= bytes;
  }
  // Destructors call this.
  static_cast<void>(CatchExceptions([this]() -> Status { return StartNext(), Status(); }));
}

}  // namespace unshard
