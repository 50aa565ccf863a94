#include "store/remote/attempt_ids.h"

#include <gtest/gtest.h>

#include <set>

namespace unshard {
namespace {

TEST(AttemptIdsTest, EachIsDrawnAnew) {
  std::set<std::string> ids;
  for (int i = 0; i < 1000; ++i) ids.insert(NewAttemptId());
  EXPECT_EQ(ids.size(), 1000u);
  for (const std::string& id : ids) EXPECT_EQ(ParseAttemptIds(id), std::vector<std::string>{id});
}

TEST(AttemptIdsTest, TheyAreReadAsTheyAreWritten) {
  std::vector<std::string> ids;
  for (int i = 0; i < 20; ++i) {
    ids = WithAttemptBefore(NewAttemptId(), ids);
    EXPECT_EQ(ParseAttemptIds(FormatAttemptIds(ids)), ids);
  }
  EXPECT_EQ(ids.size(), kMostAttemptIds);
  EXPECT_EQ(WithAttemptBefore(ids[3], ids).size(), kMostAttemptIds) << "none is named twice";
}

TEST(AttemptIdsTest, WhatIsNoIdIsLeftOut) {
  EXPECT_TRUE(ParseAttemptIds("").empty());
  EXPECT_TRUE(ParseAttemptIds("x,0123456789ABCDEF,0123456789abcde,0123456789abcdef0").empty());
  EXPECT_EQ(ParseAttemptIds(",0123456789abcdef,,x"), std::vector<std::string>{"0123456789abcdef"});
  std::string many;
  for (int i = 0; i < 100; ++i) many += "0123456789abcdef,";
  EXPECT_EQ(ParseAttemptIds(many).size(), kMostAttemptIds);
}

}  // namespace
}  // namespace unshard
