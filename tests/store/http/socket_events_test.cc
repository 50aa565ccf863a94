#include "store/http/socket_events.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <thread>

namespace unshard {
namespace {

using Clock = std::chrono::steady_clock;
using For = SocketEvents::For;

class SocketEventsTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(events_.usable());
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends_.data()), 0);
  }
  void TearDown() override {
    for (const int end : ends_) close(end);
  }
  // What is ready now.
  std::vector<SocketEvents::Ready> Now() { return events_.Wait(Clock::now()); }
  void Send() { ASSERT_EQ(write(ends_[1], "x", 1), 1); }

  SocketEvents events_;
  std::array<int, 2> ends_{-1, -1};
};

TEST_F(SocketEventsTest, ASocketIsReadyForWhatItIsWatchedFor) {
  events_.Watch(ends_[0], For::kReading, false);
  EXPECT_TRUE(Now().empty());
  Send();
  ASSERT_EQ(Now().size(), 1u);
  EXPECT_EQ(Now()[0].socket, ends_[0]);
  EXPECT_TRUE(Now()[0].readable);
  EXPECT_FALSE(Now()[0].writable);
  events_.Watch(ends_[0], For::kBoth, true);
  ASSERT_EQ(Now().size(), 1u);
  EXPECT_TRUE(Now()[0].readable && Now()[0].writable);
  events_.Watch(ends_[0], For::kWriting, true);
  ASSERT_EQ(Now().size(), 1u);
  EXPECT_FALSE(Now()[0].readable);
  events_.Unwatch(ends_[0]);
  EXPECT_TRUE(Now().empty());
}

TEST_F(SocketEventsTest, ASocketThatFailedIsReadyForEverything) {
  events_.Watch(ends_[0], For::kReading, false);
  shutdown(ends_[0], SHUT_RDWR);
  ASSERT_EQ(Now().size(), 1u);
  EXPECT_TRUE(Now()[0].readable && Now()[0].writable);
}

TEST_F(SocketEventsTest, WaitsUntilATime) {
  const auto until = Clock::now() + std::chrono::milliseconds(20);
  EXPECT_TRUE(events_.Wait(until).empty());
  EXPECT_GE(Clock::now(), until);
}

TEST_F(SocketEventsTest, AWakeEndsOneWait) {
  const auto begun = Clock::now();
  const auto until = begun + std::chrono::seconds(60);
  events_.Wake();
  EXPECT_TRUE(events_.Wait(until).empty());
  std::thread other([&] { events_.Wake(); });
  EXPECT_TRUE(events_.Wait(until).empty());
  other.join();
  EXPECT_LT(Clock::now(), until) << "both";
  const auto next = Clock::now() + std::chrono::milliseconds(20);
  EXPECT_TRUE(events_.Wait(next).empty());
  EXPECT_GE(Clock::now(), next) << "and no other one";
}

}  // namespace
}  // namespace unshard
