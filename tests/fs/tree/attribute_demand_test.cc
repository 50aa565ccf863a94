#include "fs/tree/attribute_demand.h"

#include <gtest/gtest.h>

namespace unshard {
namespace {

using Give = AttributeDemand::Give;

TEST(AttributeDemandTest, WhoNeverAsksGetsNoneInTheEnd) {
  AttributeDemand demand;
  int few = 0;
  int probes = 0;
  for (int i = 0; i < 100; ++i) {
    const Give give = demand.ListingBegins();
    EXPECT_NE(give, Give::kAll);
    if (give == Give::kFew) ++few;
    if (give == Give::kAllButOne) ++probes;
  }
  EXPECT_GT(few, 0);
  EXPECT_GT(probes, 1);
  EXPECT_LE(few + probes, 16);
  EXPECT_EQ(demand.ListingBegins(), Give::kNone);
}

TEST(AttributeDemandTest, WhoLooksUpWhatWasLeftOutGetsAlmostAll) {
  AttributeDemand demand;
  int left_out = 0;
  for (int i = 0; i < 900; ++i) {
    const Give give = demand.ListingBegins();
    EXPECT_NE(give, Give::kNone);
    if (give != Give::kAllButOne) continue;
    demand.ChunkLookedUp();
    ++left_out;
  }
  EXPECT_GT(left_out, 0);
  EXPECT_LE(left_out, 100);
}

TEST(AttributeDemandTest, ALookUpIsEnoughToBeginAgain) {
  AttributeDemand demand;
  while (demand.ListingBegins() != Give::kNone) {
  }
  demand.ChunkLookedUp();
  EXPECT_EQ(demand.ListingBegins(), Give::kAll);
}

}  // namespace
}  // namespace unshard
