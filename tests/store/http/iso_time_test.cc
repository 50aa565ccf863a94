#include "store/http/iso_time.h"

#include <gtest/gtest.h>

namespace unshard {
namespace {

TEST(IsoTimeTest, HasFractionsAndOffsets) {
  EXPECT_EQ(ParseIsoTime("2026-11-24T03:00:00Z"), 1795489200);
  EXPECT_EQ(ParseIsoTime("2026-11-24T03:00:00.123456Z"), 1795489200);
  EXPECT_EQ(ParseIsoTime("2026-11-24T04:30:00+01:30"), 1795489200);
  for (const char* text : {"", "2026-11-24", "2026-13-24T03:00:00Z", "2026-11-24T03:00:00",
                           "2026-11-24T03:00:00+1", "2026-11-24T-3:00:00Z"}) {
    EXPECT_FALSE(ParseIsoTime(text)) << text;
  }
}

}  // namespace
}  // namespace unshard
