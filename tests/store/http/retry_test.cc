#include "store/http/retry.h"

#include <gtest/gtest.h>

#include "store/http/concurrency_limit.h"

namespace unshard {
namespace {

using std::chrono::milliseconds;
using Time = ConcurrencyLimit::Time;

Time At(int second) { return Time(std::chrono::seconds(second)); }

TEST(RetryDelaysTest, DelaysGrowUpToALimitAndEndWithTheAttempts) {
  RetryOptions options;
  options.attempts = 6;
  options.least_delay = milliseconds(100);
  options.most_delay = milliseconds(2000);
  RetryDelays longest(options, [] { return 1.0; });
  EXPECT_EQ(longest.Next(false, {}), milliseconds(200));
  EXPECT_EQ(longest.Next(false, {}), milliseconds(400));
  EXPECT_EQ(longest.Next(false, {}), milliseconds(800));
  EXPECT_EQ(longest.Next(false, {}), milliseconds(1600));
  EXPECT_EQ(longest.Next(false, {}), milliseconds(2000));
  EXPECT_EQ(longest.Next(false, {}), std::nullopt);
  RetryDelays shortest(options, [] { return 0.0; });
  EXPECT_EQ(shortest.Next(false, {}), milliseconds(100));
  EXPECT_EQ(shortest.Next(false, {}), milliseconds(200));
}

TEST(RetryDelaysTest, AServerThatStartsAgainIsWaitedForWhateverIsDrawn) {
  for (const double drawn : {0.0, 0.5, 1.0}) {
    RetryDelays delays({}, [&] { return drawn; });
    milliseconds all{0};
    while (const auto delay = delays.Next(false, {})) all += *delay;
    EXPECT_GE(all, milliseconds(3000));
    EXPECT_LE(all, milliseconds(7000));
  }
}

TEST(RetryDelaysTest, TheServerMayAskForMoreTime) {
  RetryDelays delays({}, [] { return 0.0; });
  EXPECT_EQ(delays.Next(false, milliseconds(7000)), milliseconds(7000));
  EXPECT_EQ(delays.Next(false, milliseconds(1)), 2 * RetryOptions().least_delay);
}

TEST(RetryDelaysTest, AnUnknownHostIsAskedForLessOften) {
  RetryOptions options;
  options.attempts_of_unknown_hosts = 2;
  RetryDelays delays(options, [] { return 0.0; });
  EXPECT_TRUE(delays.Next(true, {}));
  EXPECT_FALSE(delays.Next(true, {}));
}

TEST(ConcurrencyLimitTest, HalvesOnceForAllRequestsThatWereInFlightTogether) {
  ConcurrencyLimit limit(64);
  limit.Answered(true, At(1), At(2));
  EXPECT_EQ(limit.limit(), 32u);
  limit.Answered(true, At(1), At(3));
  EXPECT_EQ(limit.limit(), 32u);
  limit.Answered(true, At(4), At(5));
  EXPECT_EQ(limit.limit(), 16u);
  for (int i = 0; i < 20; ++i) limit.Answered(true, At(10 + 2 * i), At(11 + 2 * i));
  EXPECT_EQ(limit.limit(), 1u) << "never none";
}

TEST(ConcurrencyLimitTest, GrowsByOneForAsManyAnswersAsItAllows) {
  ConcurrencyLimit limit(4);
  limit.Answered(true, At(1), At(2));
  EXPECT_EQ(limit.limit(), 2u);
  for (int i = 0; i < 3; ++i) limit.Answered(false, At(3), At(4));
  EXPECT_EQ(limit.limit(), 3u);
  for (int i = 0; i < 100; ++i) limit.Answered(false, At(3), At(4));
  EXPECT_EQ(limit.limit(), 4u);
}

}  // namespace
}  // namespace unshard
