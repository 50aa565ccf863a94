#include "store/object/paged_listings.h"

#include <cerrno>
#include <utility>

namespace unshard {
namespace {

// Of the 63 bits that a position in a directory has, for programs.
constexpr unsigned kEntryBits = 38;
constexpr std::uint64_t kListings = std::uint64_t{1} << (62 - kEntryBits);

}  // namespace

std::uint64_t PagedListings::Cookie(const Position& after) {
  return after.listing << kEntryBits | after.entry;
}

PagedListings::Kept PagedListings::Find(const Position& position) {
  const std::lock_guard lock(mutex_);
  for (auto kept = pages_.begin(); kept != pages_.end(); ++kept) {
    const Position& first = kept->first;
    if (first.listing != position.listing || position.entry < first.entry ||
        position.entry > first.entry + kept->page->entries.size()) {
      continue;
    }
    pages_.splice(pages_.begin(), pages_, kept);
    return *kept;
  }
  return {};
}

Result<PagedListings::Kept> PagedListings::Ask(const Position& first, const std::string& next,
                                               const Fetch& fetch, const Deadline& deadline) {
  UNSHARD_ASSIGN_OR_RETURN(ListedPage page, fetch(next, deadline));
  if (!page.next.empty() && page.next == next) {
    return FailWith(EPROTO, ErrorCode::kUnavailable,
                    "the store returned the same page of a listing twice");
  }
  Kept kept{first, std::make_shared<const ListedPage>(std::move(page))};
  const std::lock_guard lock(mutex_);
  pages_.push_front(kept);
  if (pages_.size() > kept_pages_) pages_.pop_back();
  return kept;
}

Status PagedListings::ListFrom(std::uint64_t resume, const Fetch& fetch, const Deadline& deadline,
                               const ObjectStore::ListVisitor& visitor) {
  Position at{resume >> kEntryBits, resume & ((std::uint64_t{1} << kEntryBits) - 1)};
  Kept kept = Find(at);
  if (resume == 0 || !kept.page) {
    {
      const std::lock_guard lock(mutex_);
      at.listing = ++listings_ % kListings;
    }
    UNSHARD_ASSIGN_OR_RETURN(kept, Ask({at.listing, 0}, "", fetch, deadline));
  }
  for (;;) {
    const auto& entries = kept.page->entries;
    for (; at.entry < kept.first.entry + entries.size(); ++at.entry) {
      const ListedPage::Entry& entry = entries[at.entry - kept.first.entry];
      const std::uint64_t next = Cookie({at.listing, at.entry + 1});
      if (!visitor(ListEntry{entry.name, entry.kind, next})) return {};
    }
    if (kept.page->next.empty()) return {};
    const Position first{at.listing, kept.first.entry + entries.size()};
    Kept later = entries.empty() ? Kept{} : Find({first.listing, first.entry + 1});
    if (!later.page || later.first.entry != first.entry) {
      UNSHARD_ASSIGN_OR_RETURN(later, Ask(first, kept.page->next, fetch, deadline));
    }
    kept = std::move(later);
  }
}

}  // namespace unshard
