#include "store/http/whole_fetches.h"

#include <algorithm>
#include <utility>

#include "store/object/catch_exceptions.h"

namespace unshard {

// One fetch that has been started. It ends by its answer, or where that is dropped.
class WholeFetches::Running {
 public:
  Running(std::shared_ptr<WholeFetches> fetches, std::shared_ptr<Waiting> fetch)
      : fetches_(std::move(fetches)), fetch_(std::move(fetch)) {}
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;
  ~Running() {
    if (!ended_) End(tl::unexpected<Error>({ErrorCode::kInternal, "no answer", 0}));
  }

  void End(const Result<HttpAnswer>& answer) {
    ended_ = true;
    fetches_->End(*fetch_, answer);
  }

 private:
  const std::shared_ptr<WholeFetches> fetches_;
  const std::shared_ptr<Waiting> fetch_;
  bool ended_ = false;
};

void WholeFetches::Fetch(const std::string& key, std::uint64_t bytes, Start start, Done done) {
  {
    const std::lock_guard lock(mutex_);
    const auto found = std::find_if(waiting_.begin(), waiting_.end(),
                                    [&](const auto& each) { return each->key == key; });
    if (found != waiting_.end()) return (*found)->dones.push_back(std::move(done));
    waiting_.push_back(
        std::make_shared<Waiting>(Waiting{key, bytes, std::move(start), {std::move(done)}}));
  }
  StartNext();
}

// Starts all that fit.
void WholeFetches::StartNext() {
  while (const std::shared_ptr<Waiting> next = TakeNext()) {
    const auto running = std::make_shared<Running>(shared_from_this(), next);
    next->start([running](const Result<HttpAnswer>& answer) { running->End(answer); });
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

void WholeFetches::End(const Waiting& fetch, const Result<HttpAnswer>& answer) {
  for (const Done& done : fetch.dones) {
    // A callback that throws gives an error to its waiter when it goes.
    static_cast<void>(CatchExceptions([&]() -> Status { return done(answer), Status(); }));
  }
  {
    const std::lock_guard lock(mutex_);
    running_bytes_ -= fetch.bytes;
  }
  StartNext();
}

}  // namespace unshard
