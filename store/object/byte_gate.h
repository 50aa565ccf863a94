// Admission of work by the memory that it needs.
#pragma once

#include <cstdint>
#include <memory>

#include "codec/core/error.h"
#include "store/object/deadline.h"

namespace unshard {

// Work is admitted in the order in which it comes, so that what needs much is not overtaken for
// ever. Whoever has been admitted must not wait for others that still have to be. Thread-safe.
class ByteGate {
 public:
  // `max_bytes`: of all work under way.
  explicit ByteGate(std::uint64_t max_bytes);
  ~ByteGate();

  // What was admitted, until it is destroyed. Must not outlive the gate.
  class Pass {
   public:
    Pass() = default;
    Pass(Pass&& other) noexcept;
    Pass& operator=(Pass&& other) noexcept;
    ~Pass();

   private:
    friend class ByteGate;
    Pass(ByteGate* gate, std::uint64_t bytes) : gate_(gate), bytes_(bytes) {}
    ByteGate* gate_ = nullptr;
    std::uint64_t bytes_ = 0;
  };

  // Waits until `bytes` fit beside what is under way; more than `max_bytes` fit where nothing is.
  // Fails as Deadline::Check does.
  Result<Pass> Enter(std::uint64_t bytes, const Deadline& deadline);

 private:
  struct State;
  void Leave(std::uint64_t bytes);

  const std::unique_ptr<State> state_;
};

// A pass of a gate; one of nothing, at once, where there is no gate.
inline Result<ByteGate::Pass> EnterGate(ByteGate* gate, std::uint64_t bytes,
                                        const Deadline& deadline) {
  return gate != nullptr ? gate->Enter(bytes, deadline) : ByteGate::Pass();
}

}  // namespace unshard
