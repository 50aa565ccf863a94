#include "store/object/paged_listings.h"

#include <gtest/gtest.h>

#include <set>

namespace unshard {
namespace {

// Entries "0", "1", … in pages of ten.
class Pages {
 public:
  explicit Pages(int entries) : entries_(entries) {}

  PagedListings::Fetch fetch() {
    return [this](const std::string& next, const Deadline&) -> Result<ListedPage> {
      ++requests_;
      ListedPage page;
      int at = next.empty() ? 0 : std::stoi(next);
      for (int i = 0; i < 10 && at < entries_; ++i, ++at)
        page.entries.push_back({std::to_string(at)});
      if (at < entries_) page.next = std::to_string(at);
      return page;
    };
  }
  int TakeRequests() { return std::exchange(requests_, 0); }

 private:
  const int entries_;
  int requests_ = 0;
};

// Lists on from `resume`, at most `most` entries; returns where the listing stopped, 0 at its end.
std::uint64_t ListSome(PagedListings& listings, Pages& pages, std::uint64_t resume, int most,
                       std::vector<std::string>& names) {
  std::uint64_t stopped = 0;
  EXPECT_TRUE(
      listings.ListFrom(resume, pages.fetch(), Deadline::None(), [&](const ListEntry& entry) {
        if (most-- == 0) return false;
        names.emplace_back(entry.name);
        stopped = entry.resume;
        return true;
      }));
  return most < 0 ? stopped : 0;
}

TEST(PagedListingsTest, APageIsAskedForOnceHoweverOftenItsReaderComesBack) {
  PagedListings listings(4);
  Pages pages(35);
  std::vector<std::string> names;
  std::uint64_t resume = 0;
  do {
    resume = ListSome(listings, pages, resume, 3, names);
  } while (resume != 0);
  EXPECT_EQ(names.size(), 35u);
  EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), 35u);
  EXPECT_EQ(pages.TakeRequests(), 4);
}

TEST(PagedListingsTest, AFirstPageIsAlwaysAskedForAgain) {
  PagedListings listings(4);
  Pages pages(5);
  std::vector<std::string> names;
  ListSome(listings, pages, 0, 10, names);
  ListSome(listings, pages, 0, 10, names);
  EXPECT_EQ(names.size(), 10u);
  EXPECT_EQ(pages.TakeRequests(), 2);
}

TEST(PagedListingsTest, ListingsOfOneDirectoryDoNotMix) {
  PagedListings listings(8);
  Pages few(12), many(25);
  std::vector<std::string> first, second;
  const auto first_stopped = ListSome(listings, few, 0, 11, first);
  const auto second_stopped = ListSome(listings, many, 0, 11, second);
  EXPECT_EQ(ListSome(listings, few, first_stopped, 100, first), 0u);
  EXPECT_EQ(ListSome(listings, many, second_stopped, 100, second), 0u);
  EXPECT_EQ(first.size(), 12u);
  EXPECT_EQ(second.size(), 25u);
}

TEST(PagedListingsTest, WithoutItsPageAListingBeginsAgainAndSkips) {
  PagedListings listings(1);
  Pages pages(30);
  std::vector<std::string> names, others;
  const auto stopped = ListSome(listings, pages, 0, 15, names);
  ListSome(listings, pages, 0, 1, others);
  pages.TakeRequests();
  EXPECT_EQ(ListSome(listings, pages, stopped, 100, names), 0u);
  EXPECT_EQ(pages.TakeRequests(), 3);
  EXPECT_EQ(names.size(), 30u);
  EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), 30u);
}

TEST(PagedListingsTest, APageThatNamesItselfIsAnError) {
  PagedListings listings(2);
  const auto fetch = [](const std::string&, const Deadline&) -> Result<ListedPage> {
    return ListedPage{{}, "again"};
  };
  EXPECT_FALSE(
      listings.ListFrom(0, fetch, Deadline::None(), [](const ListEntry&) { return true; }));
}

}  // namespace
}  // namespace unshard
