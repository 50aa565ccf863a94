// Directories that a store lists page by page, and gives on from wherever its caller goes on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "codec/core/error.h"
#include "store/object/deadline.h"
#include "store/object/object_store.h"

namespace unshard {

struct ListedPage {
  struct Entry {
    std::string name;
    ObjectInfo::Kind kind = ObjectInfo::Kind::kFile;
  };
  std::vector<Entry> entries;
  std::string next;  // what the next page is asked for with; "": this is the last one
  // Whether there is an entry, or a key below the directory that no path can name, such as the
  // "<directory>/" by which consoles make a folder.
  bool any = !entries.empty();
};

// Callers of ListFrom stop anywhere within a page and come back: the pages that were asked for last
// are kept for them, so that a page costs one request. Thread-safe.
class PagedListings {
 public:
  explicit PagedListings(std::size_t kept_pages) : kept_pages_(kept_pages) {}

  // Asks for a page. `next`: what the page before it named as its next page; "": the first page.
  using Fetch = std::function<Result<ListedPage>(const std::string& next, const Deadline&)>;
  // As ObjectStore::ListFrom. Where the page of `resume` is no longer kept, the directory is listed
  // again from its start. Fails with kUnavailable where a page names itself as the next one.
  Status ListFrom(std::uint64_t resume, const Fetch& fetch, const Deadline& deadline,
                  const ObjectStore::ListVisitor& visitor);

 private:
  // Page after page of one listing. `resume` of an entry: the listing, and the entry's position.
  struct Position {
    std::uint64_t listing = 0;
    std::uint64_t entry = 0;  // entries before it
  };
  struct Kept {
    Position first;
    std::shared_ptr<const ListedPage> page;
  };
  [[nodiscard]] static std::uint64_t Cookie(const Position& after);

  // The page kept that has the entry at `position`, or ends before it; its page is null: none.
  Kept Find(const Position& position);
  Result<Kept> Ask(const Position& first, const std::string& next, const Fetch& fetch,
                   const Deadline& deadline);

  const std::size_t kept_pages_;
  std::mutex mutex_;
  std::list<Kept> pages_;       // the most recently used first; guarded by mutex_
  std::uint64_t listings_ = 0;  // guarded by mutex_
};

}  // namespace unshard
