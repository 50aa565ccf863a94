// Calls that no caller waits for: one at a time, and only a later call drops a waiting one.
#include "store/object/background_call.h"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <memory>
#include <stdexcept>
#include <thread>

namespace unshard {
namespace {

TEST(BackgroundCallTest, OneFollowsAnotherAndTheLatestTakesThePlaceOfOneThatWaits) {
  std::latch begun(1), go_on(1), ended(1);
  std::atomic<int> at_once{0}, replaced{0};
  BackgroundCall calls;
  calls.Start([&](const std::stop_token&) {
    ++at_once;
    begun.count_down();
    go_on.wait();
    --at_once;
    throw std::runtime_error("is ignored");
  });
  begun.wait();
  calls.Start([&](const std::stop_token&) { ++replaced; });
  calls.Start([&](const std::stop_token&) {
    EXPECT_EQ(at_once, 0);
    ended.count_down();
  });
  go_on.count_down();
  ended.wait();
  EXPECT_EQ(replaced, 0);
}

TEST(BackgroundCallTest, OneIsStartedAfterAnotherHasEnded) {
  BackgroundCall calls;
  for (int i = 0; i < 100; ++i) {
    std::latch ended(1);
    calls.Start([&](const std::stop_token&) { ended.count_down(); });
    ended.wait();
  }
}

TEST(BackgroundCallTest, TheEndStopsTheOneThatIsUnderWayAndTheOneThatWaitsNeverBegins) {
  std::latch begun(1);
  std::atomic<bool> stopped{false}, followed{false};
  {
    BackgroundCall calls;
    calls.Start([&](const std::stop_token& stop) {
      begun.count_down();
      while (!stop.stop_requested()) std::this_thread::yield();
      stopped = true;
    });
    begun.wait();
    calls.Start([&](const std::stop_token&) { followed = true; });
  }
  EXPECT_TRUE(stopped);
  EXPECT_FALSE(followed);
}

}  // namespace
}  // namespace unshard
