// The same work for several things at a time, for requests whose answers are waited for.
#pragma once

#include <cstddef>
#include <functional>

namespace unshard {

// Calls `work` once for each number below `count`, on this thread and at most `most_threads` - 1
// others, and returns when all calls have. They serve the caller of this one: CallerDeadline() is
// the same on all. After a call that throws no others begin; the exception of the first is thrown
// on this thread once those that have begun are over.
void ForEachInParallel(std::size_t count, std::size_t most_threads,
                       const std::function<void(std::size_t)>& work);

}  // namespace unshard
