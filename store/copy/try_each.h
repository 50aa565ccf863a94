// The same work for several things at a time, each of which may fail.
#pragma once

#include <cstddef>
#include <functional>

#include "codec/core/error.h"

namespace unshard {

// As ForEachInParallel, until one call fails: that failure is returned, and no further calls begin.
// An exception is a failure (CatchExceptions).
Status TryEachInParallel(std::size_t count, std::size_t most_threads,
                         const std::function<Status(std::size_t)>& work);

}  // namespace unshard
