#include "store/object/byte_gate.h"

#include <algorithm>
#include <condition_variable>
#include <list>
#include <mutex>
#include <utility>

namespace unshard {

struct ByteGate::State {
  explicit State(std::uint64_t max) : max_bytes(max) {}

  const std::uint64_t max_bytes;
  std::mutex mutex;
  std::condition_variable_any changed;
  // Guarded by mutex.
  std::uint64_t bytes = 0;           // of what is under way
  std::list<std::uint64_t> waiting;  // what each of those asks for, the longest waiting first
};

ByteGate::ByteGate(std::uint64_t max_bytes) : state_(std::make_unique<State>(max_bytes)) {}

ByteGate::~ByteGate() = default;

Result<ByteGate::Pass> ByteGate::Enter(std::uint64_t bytes, const Deadline& deadline) {
  State& state = *state_;
  const std::uint64_t counted = std::min(bytes, state.max_bytes);
  std::unique_lock lock(state.mutex);
  const auto turn = state.waiting.insert(state.waiting.end(), counted);
  const auto fits = [&] {
    return turn == state.waiting.begin() && counted <= state.max_bytes - state.bytes;
  };
  const Status waited = WaitUntil(state.changed, lock, deadline, "waiting for memory", fits);
  state.waiting.erase(turn);
  if (waited) state.bytes += counted;
  const bool others_wait = !state.waiting.empty();
  lock.unlock();
  if (others_wait) state.changed.notify_all();
  if (!waited) return tl::unexpected<Error>(waited.error());
  return Pass(this, counted);
}

void ByteGate::Leave(std::uint64_t bytes) {
  {
    const std::lock_guard lock(state_->mutex);
    state_->bytes -= bytes;
  }
  state_->changed.notify_all();
}

ByteGate::Pass::Pass(Pass&& other) noexcept
    : gate_(std::exchange(other.gate_, nullptr)), bytes_(other.bytes_) {}

ByteGate::Pass& ByteGate::Pass::operator=(Pass&& other) noexcept {
  std::swap(gate_, other.gate_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

ByteGate::Pass::~Pass() {
  if (gate_ != nullptr) gate_->Leave(bytes_);
}

}  // namespace unshard
