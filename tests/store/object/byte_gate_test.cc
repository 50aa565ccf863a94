// Work is admitted by the memory that it needs, in the order in which it comes.
#include "store/object/byte_gate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

namespace unshard {
namespace {

TEST(ByteGateTest, WorkUnderWayStaysWithinTheBudget) {
  ByteGate gate(100);
  std::atomic<int> now{0}, most{0}, done{0};
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 12; ++i) {
      threads.emplace_back([&, bytes = 20 + i * 5] {
        for (int turn = 0; turn < 50; ++turn) {
          const auto pass = gate.Enter(static_cast<std::uint64_t>(bytes), Deadline::None());
          ASSERT_TRUE(pass);
          const int sum = now += bytes;
          int seen = most;
          while (sum > seen && !most.compare_exchange_weak(seen, sum)) {
          }
          std::this_thread::yield();
          now -= bytes;
          ++done;
        }
      });
    }
  }
  EXPECT_EQ(done, 12 * 50);
  EXPECT_LE(most, 100);
}

TEST(ByteGateTest, WorkAboveTheBudgetIsAdmittedAlone) {
  ByteGate gate(100);
  auto small = gate.Enter(1, Deadline::None());
  ASSERT_TRUE(small);
  const Deadline soon{std::chrono::steady_clock::now() + std::chrono::milliseconds(20), {}};
  EXPECT_FALSE(gate.Enter(1000, soon));
  *small = ByteGate::Pass();
  EXPECT_TRUE(gate.Enter(1000, soon));
}

TEST(ByteGateTest, WhatNeedsMuchIsNotOvertaken) {
  ByteGate gate(100);
  auto first = gate.Enter(50, Deadline::None());
  ASSERT_TRUE(first);
  std::atomic<bool> entered{false};
  std::jthread large([&] { entered = gate.Enter(80, Deadline::None()).has_value(); });
  // 10 bytes would fit, but may not overtake the 80 that wait already.
  const auto soon = [](int milliseconds) {
    return Deadline{std::chrono::steady_clock::now() + std::chrono::milliseconds(milliseconds), {}};
  };
  while (gate.Enter(10, soon(5))) std::this_thread::yield();
  EXPECT_FALSE(entered);
  *first = ByteGate::Pass();
  large.join();
  EXPECT_TRUE(entered);
  EXPECT_TRUE(gate.Enter(100, soon(5000))) << "what gave up is forgotten";
}

TEST(ByteGateTest, AStopEndsTheWait) {
  ByteGate gate(100);
  const auto first = gate.Enter(100, Deadline::None());
  std::stop_source stop;
  Deadline stopped;
  stopped.stop = stop.get_token();
  std::jthread later([&] { stop.request_stop(); });
  const auto refused = gate.Enter(1, stopped);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().system_errno, EINTR);
}

}  // namespace
}  // namespace unshard
