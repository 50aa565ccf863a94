// The same work for several things at a time, each of which may fail.
#include "store/copy/try_each.h"

#include <gtest/gtest.h>

#include <latch>
#include <new>

namespace unshard {
namespace {

TEST(TryEachInParallelTest, AnExceptionIsAFailure) {
  std::latch both(2);
  const Status done = TryEachInParallel(2, 2, [&](std::size_t) -> Status {
    both.arrive_and_wait();
    throw std::bad_alloc();
  });
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, ErrorCode::kResourceExhausted);
}

}  // namespace
}  // namespace unshard
