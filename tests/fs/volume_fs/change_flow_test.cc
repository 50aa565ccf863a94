// The two pieces between a change outside and the kernel: the queue, and the wait for answers that
// are on their way.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "fs/change_queue.h"
#include "fs/write/request_epoch.h"

namespace unshard {
namespace {

using std::chrono::milliseconds;

// The next item, which has to be an event.
ChangeWatcher::Event PopEvent(ChangeQueue& queue) {
  const auto item = queue.Pop();
  EXPECT_TRUE(item && std::holds_alternative<ChangeWatcher::Event>(*item));
  return std::get<ChangeWatcher::Event>(*item);
}

TEST(ChangeQueueTest, KeysComeOutInTheOrderOfTheirArrival) {
  ChangeQueue queue;
  queue.Push({"a", false});
  queue.Push({"b", false});
  EXPECT_EQ(PopEvent(queue).key, "a");
  EXPECT_EQ(PopEvent(queue).key, "b");
}

TEST(ChangeQueueTest, AKeyThatWaitsIsNotQueuedTwiceAndMayComeAgainLater) {
  ChangeQueue queue;
  queue.Push({"a", false});
  queue.Push({"a", false});
  queue.Push({"b", false});
  EXPECT_EQ(PopEvent(queue).key, "a");
  queue.Push({"a", false});
  EXPECT_EQ(PopEvent(queue).key, "b");
  EXPECT_EQ(PopEvent(queue).key, "a");
}

TEST(ChangeQueueTest, AnEventForEverythingTakesThePlaceOfAll) {
  ChangeQueue queue;
  queue.Push({"a", false});
  queue.Push({"", true});
  queue.Push({"b", false});
  EXPECT_TRUE(PopEvent(queue).everything);
  queue.Push({"c", false});
  const auto next = PopEvent(queue);
  EXPECT_FALSE(next.everything);
  EXPECT_EQ(next.key, "c");
}

TEST(ChangeQueueTest, KeysThatArePushedForLaterDoNotLiftTheLimit) {
  ChangeQueue queue;
  for (std::size_t i = 0; i < ChangeQueue::kMaxWaiting - 1; ++i) {
    queue.Push({std::to_string(i), false});
  }
  for (const char* key : {"a", "b", "c"}) queue.PushLater(key, std::chrono::milliseconds(0));
  queue.Push({"last", false});
  EXPECT_TRUE(PopEvent(queue).everything);
  queue.Push({"next", false});
  EXPECT_EQ(PopEvent(queue).key, "next");
}

TEST(ChangeQueueTest, NamesComeAfterTheEventsThatWait) {
  ChangeQueue queue;
  queue.PushName(7, "x");
  queue.Push({"a", false});
  queue.PushName(7, "y");
  EXPECT_EQ(PopEvent(queue).key, "a");
  for (const char* name : {"x", "y"}) {
    const auto item = queue.Pop();
    ASSERT_TRUE(item && std::holds_alternative<ChangeQueue::Name>(*item));
    EXPECT_EQ(std::get<ChangeQueue::Name>(*item).parent, 7u);
    EXPECT_EQ(std::get<ChangeQueue::Name>(*item).name, name);
  }
}

TEST(ChangeQueueTest, PagesComeLastAndOnceForEachNode) {
  ChangeQueue queue;
  for (const std::uint64_t node : {9u, 8u, 9u}) queue.PushPages(node);
  queue.PushName(7, "x");
  queue.Push({"a", false});
  EXPECT_EQ(PopEvent(queue).key, "a");
  EXPECT_TRUE(std::holds_alternative<ChangeQueue::Name>(*queue.Pop()));
  for (const std::uint64_t node : {8u, 9u}) {
    const auto item = queue.Pop();
    ASSERT_TRUE(item && std::holds_alternative<ChangeQueue::Pages>(*item));
    EXPECT_EQ(std::get<ChangeQueue::Pages>(*item).node, node);
  }
}

TEST(ChangeQueueTest, ANameThatWaitsIsNotQueuedTwice) {
  ChangeQueue queue;
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(queue.PushName(7, "x"));
  EXPECT_TRUE(queue.PushName(8, "x"));
  for (const std::uint64_t parent : {7u, 8u}) {
    const auto item = queue.Pop();
    ASSERT_TRUE(item && std::holds_alternative<ChangeQueue::Name>(*item));
    EXPECT_EQ(std::get<ChangeQueue::Name>(*item).parent, parent);
  }
  EXPECT_TRUE(queue.PushName(7, "x"));
  EXPECT_TRUE(queue.Pop()) << "it may come again later";
}

TEST(ChangeQueueTest, ANameIsWaitedForUntilTheKernelWasNotified) {
  ChangeQueue queue;
  EXPECT_TRUE(queue.WaitForName(7, "x", milliseconds(0))) << "nothing waits";
  queue.PushName(7, "x");
  EXPECT_TRUE(queue.WaitForName(8, "x", milliseconds(0)));
  EXPECT_FALSE(queue.WaitForName(7, "x", milliseconds(0)));
  EXPECT_TRUE(queue.Pop());
  EXPECT_FALSE(queue.WaitForName(7, "x", milliseconds(0))) << "it is on its way";
  std::thread notifier([&] {
    while (queue.Pop()) {
    }
  });
  EXPECT_TRUE(queue.WaitForName(7, "x", milliseconds(60'000)));
  queue.Close();
  notifier.join();
  queue.PushName(7, "y");
  EXPECT_TRUE(queue.WaitForName(7, "y", milliseconds(60'000))) << "nobody will notify any more";
}

TEST(ChangeQueueTest, TheFirstNameThatFindsNoRoomIsToldOf) {
  ChangeQueue queue;
  int i = 0;
  while (queue.PushName(7, std::to_string(i))) ++i;
  EXPECT_EQ(i, 65536);
  EXPECT_TRUE(queue.PushName(7, "one more")) << "told once";
  EXPECT_TRUE(queue.Pop());
  EXPECT_TRUE(queue.PushName(7, "with room"));
  EXPECT_FALSE(queue.PushName(7, "without"));
}

TEST(ChangeQueueTest, TooManyKeysBecomeOneEventForEverything) {
  ChangeQueue queue;
  for (int i = 0; i <= 65536; ++i) queue.Push({std::to_string(i), false});
  EXPECT_TRUE(PopEvent(queue).everything);
  queue.Push({"after", false});
  EXPECT_EQ(PopEvent(queue).key, "after");
}

TEST(ChangeQueueTest, CloseWakesTheReaderAndEndsIt) {
  ChangeQueue queue;
  std::atomic<bool> ended{false};
  std::thread reader([&] {
    while (queue.Pop()) {
    }
    ended = true;
  });
  queue.Push({"a", false});
  std::this_thread::sleep_for(milliseconds(10));
  EXPECT_FALSE(ended);
  queue.Close();
  reader.join();
  EXPECT_TRUE(ended);
  EXPECT_FALSE(queue.Pop());
}

TEST(RequestEpochTest, NothingRunningMeansNoWaiting) {
  RequestEpoch epoch;
  epoch.WaitForRunning();
  { const auto ticket = epoch.Enter(); }
  epoch.WaitForRunning();
}

TEST(RequestEpochTest, WaitsForARequestThatRunsAndNotForOneThatBeginsLater) {
  RequestEpoch epoch;
  auto running = std::make_unique<RequestEpoch::Ticket>(epoch.Enter());
  std::atomic<bool> waited{false};
  std::thread waiter([&] {
    epoch.WaitForRunning();
    waited = true;
  });
  std::this_thread::sleep_for(milliseconds(30));
  EXPECT_FALSE(waited);
  const auto later = epoch.Enter();
  running.reset();
  waiter.join();
  EXPECT_TRUE(waited) << "while the later request still runs";
}

TEST(RequestEpochTest, AMovedTicketEndsOnce) {
  RequestEpoch epoch;
  {
    RequestEpoch::Ticket first = epoch.Enter();
    const RequestEpoch::Ticket second(std::move(first));
  }
  auto other = std::make_unique<RequestEpoch::Ticket>(epoch.Enter());
  std::atomic<bool> waited{false};
  std::thread waiter([&] {
    epoch.WaitForRunning();
    waited = true;
  });
  std::this_thread::sleep_for(milliseconds(20));
  EXPECT_FALSE(waited);
  other.reset();
  waiter.join();
}

TEST(RequestEpochTest, NoAnswerThatBeganBeforeAChangeIsUnderWayAfterTheWait) {
  RequestEpoch epoch;
  std::atomic<std::uint64_t> version{0};
  std::atomic<std::uint64_t> told{0};
  std::atomic<bool> stop{false};
  std::atomic<int> late{0};
  std::vector<std::thread> requests;
  for (int i = 0; i < 3; ++i) {
    requests.emplace_back([&] {
      while (!stop) {
        const auto ticket = epoch.Enter();
        const std::uint64_t seen = version;
        std::this_thread::yield();
        // The answer of `seen` must not come after everybody was told of a later version.
        if (seen < told) ++late;
      }
    });
  }
  for (std::uint64_t next = 1; next <= 300; ++next) {
    version = next;
    epoch.WaitForRunning();
    told = next;
  }
  stop = true;
  for (std::thread& request : requests) request.join();
  EXPECT_EQ(late, 0);
}

}  // namespace
}  // namespace unshard
