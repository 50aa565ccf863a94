#include "store/volume/room.h"

#include <future>
#include <iterator>
#include <string>
#include <system_error>
#include <utility>

#include "store/object/catch_exceptions.h"
#include "store/object/thread_without_signals.h"

namespace unshard {

Room::Room(std::shared_ptr<Spool> spool, PublishQueue& queue)
    : spool_(std::move(spool)), queue_(queue) {
  try {
    thread_ = StartWithoutSignals([this] { Run(); });
    spool_->AskBeyondCap([this] { return MayExceed(); });
  } catch (const std::system_error&) {
    // The system allows no more threads: nothing is held, and nothing exceeds the cap.
    ended_ = true;
  }
}

Room::~Room() {
  spool_->AskBeyondCap(nullptr);
  End();
}

void Room::End() {
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  changed_.notify_all();
  std::call_once(joined_, [&] {
    if (thread_.joinable()) thread_.join();
  });
}

void Room::Hold(Cap cap, std::stop_token interrupted, std::function<void()> answer) {
  {
    const std::lock_guard lock(mutex_);
    if (!ended_) {
      held_.push_back({cap, std::move(interrupted), std::move(answer)});
      changed_.notify_all();
      return;
    }
  }
  answer();
}

void Room::Wait(Cap cap, std::stop_token interrupted) {
  if (!IsOver(cap)) return;
  std::promise<void> answered;
  Hold(cap, std::move(interrupted), [&] { answered.set_value(); });
  answered.get_future().wait();
}

// The store is asked again for the sake of what is refused, as it is for what is held.
Status Room::MayExceed() {
  if (queue_.StoreIsAway()) {
    queue_.WantRoom();
    const auto failed = queue_.progress().last_error;
    return Fail(ErrorCode::kResourceExhausted, "and the store is unreachable",
                failed ? ": " + failed->message : "");
  }
  const std::lock_guard lock(mutex_);
  if (!refusal_) return {};
  if (queue_.progress().publishes != refusal_->publishes) {
    refusal_.reset();
    return {};
  }
  queue_.WantRoom();
  return tl::unexpected<Error>(refusal_->why);
}

// Requires the mutex.
bool Room::IsDue(const Held& held) const {
  return ended_ || refusal_ || !IsOver(held.cap) || held.interrupted.stop_requested() ||
         queue_.StoreIsAway();
}

bool Room::AnyIsDue() {
  spool_->LookAtDisk();
  const std::lock_guard lock(mutex_);
  for (const Held& held : held_) {
    if (IsDue(held)) return true;
  }
  return ended_;
}

void Room::Answer(bool all) {
  std::list<Held> due;
  {
    const std::lock_guard lock(mutex_);
    for (auto held = held_.begin(); held != held_.end();) {
      const auto next = std::next(held);
      if (all || IsDue(*held)) due.splice(due.end(), held_, held);
      held = next;
    }
  }
  for (const Held& held : due) {
    const Status answered = CatchExceptions([&]() -> Status {
      held.answer();
      return {};
    });
    static_cast<void>(answered);
  }
}

void Room::Refuse() {
  const PublishProgress progress = queue_.progress();
  if (progress.dirty_shards == 0) return;
  std::string why = "and publishing makes no room";
  if (progress.last_error) why = "and publishing fails: " + progress.last_error->message;
  const std::lock_guard lock(mutex_);
  refusal_ = Refusal{{ErrorCode::kResourceExhausted, std::move(why)}, progress.publishes};
}

// Where nothing is left to publish, only the writers themselves can go on: they get their answers,
// and so commit, or come to what no writer may exceed.
void Room::Run() {
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return ended_ || !held_.empty(); });
      if (ended_ && held_.empty()) return;
    }
    const Status room = CatchExceptions([&] {
      Status waited = queue_.WaitForRoom([&] { return AnyIsDue(); });
      if (!waited) Refuse();
      return waited;
    });
    Answer(!room);
  }
}

}  // namespace unshard
