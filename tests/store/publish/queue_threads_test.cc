// A queue where the system allows no thread.
#include <gtest/gtest.h>

#include <system_error>

#include "store/publish/queue.h"
#include "tests/support/no_more_threads.h"

namespace unshard {
namespace {

TEST(PublishQueueThreadsTest, AQueueWithoutAThreadIsNotMade) {
  const NoMoreThreads none;
  PublishQueueOptions options;
  options.threads = 2;
  EXPECT_THROW(PublishQueue([](const DirtyShard&) { return PublishQueue::Done{}; }, options),
               std::system_error);
}

}  // namespace
}  // namespace unshard
