#include "fs/tree/given_times.h"

#include <gtest/gtest.h>

namespace unshard {
namespace {

TEST(GivenTimes, OfTooManyTheOldestIsForgotten) {
  GivenTimes times;
  const auto path = [](std::size_t i) { return "image/c/0/" + std::to_string(i); };
  for (std::size_t i = 0; i < GivenTimes::kMost; ++i) {
    times.Set(path(i), 1, {static_cast<time_t>(i), 0});
  }
  times.Set(path(0), 1, {7, 0});  // it is the latest now
  times.Set("another", 1, {8, 0});
  EXPECT_FALSE(times.Find(path(1), 1));
  ASSERT_TRUE(times.Find(path(0), 1));
  EXPECT_EQ(times.Find(path(0), 1)->tv_sec, 7);
  for (std::size_t i = 2; i < GivenTimes::kMost; ++i) {
    const auto found = times.Find(path(i), 1);
    ASSERT_TRUE(found && found->tv_sec == static_cast<time_t>(i)) << i;
  }
  EXPECT_FALSE(times.Find("another", 2)) << "of another generation";
  times.Set("another", 2, {9, 0});
  EXPECT_FALSE(times.Find("another", 1));
  EXPECT_EQ(times.Find("another", 2)->tv_sec, 9);
}

}  // namespace
}  // namespace unshard
