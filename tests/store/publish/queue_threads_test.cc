// A queue where the system allows no thread, and where its threads wait for a reader of the log.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <future>
#include <memory>
#include <system_error>
#include <thread>

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

// The threads of the network and of callers do not wait for those who read the log.
TEST(PublishQueueThreadsTest, ALogThatIsNotReadStopsNoCaller) {
  constexpr std::chrono::seconds kBound{20};  // only waited for in vain where the test fails
  auto queue = std::make_unique<PublishQueue>(
      [](const DirtyShard&) { return PublishQueue::Done{}; }, PublishQueueOptions());
  int ends[2] = {-1, -1};
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
  while (::write(ends[1], "x", 1) == 1) continue;
  ASSERT_EQ(::fcntl(ends[1], F_SETFL, 0), 0);
  const int log = ::dup(STDERR_FILENO);
  ::dup2(ends[1], STDERR_FILENO);
  auto calls = std::async(std::launch::async, [&] {
    queue->FoundStoreAway({ErrorCode::kUnavailable, "away", 0});
    queue->StoreAnswered();
    return queue->StoreIsAway();
  });
  const bool ended = calls.wait_for(kBound) == std::future_status::ready;
  ::dup2(log, STDERR_FILENO);
  for (const int each : {log, ends[1]}) ::close(each);
  // Lets a write go on that waits.
  std::jthread reader([from = ends[0]] {
    ::fcntl(from, F_SETFL, 0);
    char bytes[4096];
    while (::read(from, bytes, sizeof bytes) > 0) continue;
  });
  EXPECT_TRUE(ended);
  EXPECT_FALSE(calls.get());
  queue.reset();
  reader.join();
  ::close(ends[0]);
}

}  // namespace
}  // namespace unshard
