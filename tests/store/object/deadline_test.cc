#include "store/object/deadline.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <chrono>
#include <thread>

namespace unshard {
namespace {

using std::chrono::steady_clock;

TEST(DeadlineTest, AThreadThatServesNoRequestWaitsAsLongAsItTakes) {
  EXPECT_EQ(CallerDeadline().at, steady_clock::time_point::max());
  EXPECT_FALSE(InterruptibleDeadline().stop.stop_possible());
}

TEST(DeadlineTest, OnlyAWaitThatASignalMayEndAsksForIt) {
  std::stop_source signal;
  int asked = 0;
  const auto at = steady_clock::now() + std::chrono::hours(1);
  const ServedCaller caller(at, [&] {
    ++asked;
    return signal.get_token();
  });
  EXPECT_EQ(CallerDeadline().at, at);
  EXPECT_FALSE(CallerDeadline().stop.stop_possible());
  EXPECT_EQ(asked, 0) << "a request that does not wait costs no registration";
  const Deadline deadline = InterruptibleDeadline();
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(deadline.at, at);
  EXPECT_TRUE(deadline.Check("waiting"));
  signal.request_stop();
  EXPECT_EQ(deadline.Check("waiting").error().system_errno, EINTR);
}

TEST(DeadlineTest, AStopEndsAPause) {
  std::stop_source stop;
  const Deadline deadline{Deadline::None().at, stop.get_token()};
  EXPECT_TRUE(Pause(std::chrono::milliseconds(1), deadline, "waiting"));
  const std::jthread stopping([&] { stop.request_stop(); });
  EXPECT_EQ(Pause(std::chrono::hours(1), deadline, "waiting").error().system_errno, EINTR);
  const Deadline past{steady_clock::now(), {}};
  EXPECT_EQ(Pause(std::chrono::hours(1), past, "waiting").error().system_errno, ETIMEDOUT);
}

TEST(DeadlineTest, TheInnermostOfNestedRequestsCounts) {
  const auto outer = steady_clock::now() + std::chrono::hours(2);
  const auto inner = steady_clock::now() + std::chrono::hours(1);
  const ServedCaller served(outer);
  {
    const ServedCaller nested(inner);
    EXPECT_EQ(CallerDeadline().at, inner);
  }
  EXPECT_EQ(CallerDeadline().at, outer);
  EXPECT_FALSE(InterruptibleDeadline().stop.stop_possible());
}

}  // namespace
}  // namespace unshard
