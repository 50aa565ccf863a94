#include "fs/tree/kept_listings.h"

#include <gtest/gtest.h>

namespace unshard {
namespace {

TEST(KeptListingsTest, AListingIsRightUntilAChunkIsCommitted) {
  KeptListings kept;
  EXPECT_TRUE(kept.Opened(7));
  kept.Committed();
  EXPECT_FALSE(kept.Opened(7));
  EXPECT_TRUE(kept.Opened(7));
  EXPECT_FALSE(kept.Opened(8)) << "it may have been opened before the commit";
  kept.Committed();
  EXPECT_FALSE(kept.Opened(7));
  EXPECT_FALSE(kept.Opened(8));
  EXPECT_TRUE(kept.Opened(8));
}

TEST(KeptListingsTest, OfDirectoriesThatAreNotRememberedNoListingIsKept) {
  KeptListings kept;
  kept.Committed();
  for (NodeId id = 0; id < KeptListings::kMostDirectories; ++id) (void)kept.Opened(id);
  EXPECT_TRUE(kept.Opened(0));
  EXPECT_FALSE(kept.Opened(KeptListings::kMostDirectories));
  EXPECT_FALSE(kept.Opened(0));
}

}  // namespace
}  // namespace unshard
