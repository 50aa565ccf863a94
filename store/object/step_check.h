// Ends loops that may be long where their caller's deadline passes.
#pragma once

#include <cstdint>
#include <utility>

#include "store/object/deadline.h"

namespace unshard {

// Each step of a loop calls Next(). Used by one thread.
class StepCheck {
 public:
  // `doing`: as Deadline::Check has it.
  StepCheck(Deadline deadline, const char* doing) : deadline_(std::move(deadline)), doing_(doing) {}
  // Fails as Deadline::Check does, which the first call and each 1024th after it ask.
  Status Next() { return steps_++ % 1024 == 0 ? deadline_.Check(doing_) : Status(); }

 private:
  const Deadline deadline_;
  const char* const doing_;
  std::uint64_t steps_ = 0;
};

}  // namespace unshard
