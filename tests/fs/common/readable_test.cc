#include "fs/common/readable.h"

#include <gtest/gtest.h>

#include <array>

namespace unshard {
namespace {

constexpr std::array<std::string_view, 5> kNames = {"mount", "umount", "view", "list", "ro"};

TEST(DidYouMeanTest, AMisspellingNamesTheNearestName) {
  EXPECT_EQ(DidYouMean("veiw", kNames), "; did you mean view?");
  EXPECT_EQ(DidYouMean("mont", kNames), "; did you mean mount?");
  EXPECT_EQ(DidYouMean("unmount", kNames), "; did you mean umount?");
  EXPECT_EQ(DidYouMean("lists", kNames), "; did you mean list?");
}

TEST(DidYouMeanTest, AnotherWordNamesNone) {
  for (const char* word :
       {"", "x", "copy", "frobnicate", "an_option_that_is_longer_than_any_name"}) {
    EXPECT_EQ(DidYouMean(word, kNames), "") << word;
  }
}

}  // namespace
}  // namespace unshard
