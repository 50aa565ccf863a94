#include "store/chunks/flat_tree.h"

#include <algorithm>
#include <chrono>
#include <iterator>

#include "store/object/log.h"
#include "store/object/parallel.h"

namespace unshard {
namespace {

constexpr std::size_t kMaxLargeNumbers = std::size_t{1} << 20;
constexpr std::uint64_t kFirstLargeCookie = ChunkTree::kCookieEnd - 2 * kMaxLargeNumbers - 2;
constexpr std::uint64_t kLargeNumber = kFirstLargeCookie / 2;
// After so many unreadable index pages the rest of a shard is left out.
constexpr int kMaxDamagedPages = 16;
// Index pages are loaded ahead of shards that have so many at most.
constexpr std::uint64_t kMostPagesAhead = 4096;
// A shard that opens slower than this waits for a disk, or a file server, which serves several at a
// time; a thread costs about as much as this.
constexpr std::chrono::microseconds kSlowOpen{200};
constexpr std::size_t kOpensAtOnce = 8;
constexpr const char* kListing = "listing chunks";

// The number of a file among those of its chunk: one bit of a cookie.
std::uint64_t PartIndex(const ChunkNames& names, ChunkPart part) {
  const auto parts = names.parts();
  return static_cast<std::uint64_t>(std::find(parts.begin(), parts.end(), part) - parts.begin());
}

bool IsMissingOrEmpty(const ShardGeneration& generation) {
  return !generation.object || generation.object->info().size == 0;
}

}  // namespace

Status FlatTree::List(const GridDirectory&, std::uint64_t cookie, ListMode mode,
                      const ListVisitor& visitor, const DamageVisitor& damaged,
                      const std::vector<GridDirectory>&) {
  if (mode == ListMode::kNone) return {};
  const FileVisitor visit = [&](const ChunkRef& chunk, const ChunkFile& file) -> Result<bool> {
    UNSHARD_ASSIGN_OR_RETURN(const std::uint64_t next, Cookie(chunk));
    const std::string name = names().Path(file);
    return visitor({name, {Match::Kind::kChunk, {}, chunk}, next});
  };
  if (!ListsWholeGrid(mode)) return ListChunks(cookie, visit, damaged);
  StepCheck steps(CallerDeadline(), kListing);
  return ListWholeGrid({AtCookie(cookie), visit, damaged, steps});
}

Status FlatTree::ListChunks(std::uint64_t cookie, const FileVisitor& visitor,
                            const DamageVisitor& damaged) {
  StepCheck steps(CallerDeadline(), kListing);
  const Cursor cursor{AtCookie(cookie), visitor, damaged, steps};
  ShardWalk walk;
  walk.begins = cookie == 0;
  if (cursor.last) walk.first = cursor.last->slot.shard;
  walk.visit = [&](Shards shards) { return ListShards(shards, cursor); };
  UNSHARD_RETURN_IF_ERROR(WalkShards(walk));
  return {};
}

Result<bool> FlatTree::VisitChunks(std::uint64_t shard, const FileVisitor& visitor,
                                   const DamageVisitor& damaged) {
  StepCheck steps(CallerDeadline(), kListing);
  return ListShard(shard, {std::nullopt, visitor, damaged, steps});
}

Result<bool> FlatTree::WalkShards(const ShardWalk& walk) {
  const auto parse = [this](std::string_view name) { return shards().keys().Parse(name); };
  // Before the shards: see AfterPublishes().
  const std::vector<std::uint64_t> unpublished = UnpublishedShards();
  ShardLister::Numbers numbers;
  if (lists_) {
    const auto since = walk.begins ? shards().options().clock() : ShardLister::kAnyAge;
    UNSHARD_ASSIGN_OR_RETURN(const auto listing, lister_.List(directory(), parse, since));
    numbers = listing.numbers;
  } else {
    UNSHARD_ASSIGN_OR_RETURN(numbers, ProbedShards(walk.begins));
  }
  std::vector<std::uint64_t> all;
  if (!unpublished.empty()) {
    std::set_union(numbers->begin(), numbers->end(), unpublished.begin(), unpublished.end(),
                   std::back_inserter(all));
  }
  const std::vector<std::uint64_t>& shards = unpublished.empty() ? *numbers : all;
  return walk.visit({std::lower_bound(shards.begin(), shards.end(), walk.first), shards.end()});
}

// False: the visitor has ended the listing.
Result<bool> FlatTree::ListShards(Shards shards, const Cursor& cursor) {
  const bool resumed = cursor.last && !shards.empty() && shards.front() == cursor.last->slot.shard;
  std::size_t not_loaded = resumed ? 1 : 0;
  for (std::size_t at = 0; at < shards.size(); ++at) {
    UNSHARD_RETURN_IF_ERROR(cursor.steps.Next());
    if (at == not_loaded) not_loaded += LoadPages(shards.subspan(at));
    UNSHARD_ASSIGN_OR_RETURN(const bool more, ListShard(shards[at], cursor));
    if (!more) return false;
  }
  return true;
}

Result<ShardLister::Numbers> FlatTree::ProbedShards(bool begins) {
  if (ShardEnd() <= ShardProbe::kMostShards) return probe_.List(ShardEnd(), begins);
  if (!warned_.exchange(true)) {
    LogWarning(
        directory() +
        ": listings are empty, because the store cannot list objects and there may be more than " +
        std::to_string(ShardProbe::kMostShards) +
        " shards to ask for; each chunk can still be opened by its name");
  }
  return std::make_shared<const std::vector<std::uint64_t>>();
}

Result<ShardGenerationPtr> FlatTree::ListedGeneration(std::uint64_t shard) const {
  using Trust = ShardSet::Trust;
  return shards().Current(shard, CallerDeadline(),
                          lists_ ? Trust::kWithinTtl : Trust::kUncontradicted);
}

Status FlatTree::ListWholeGrid(const Cursor& cursor) {
  const std::uint64_t end = *NumberEnd();
  for (std::uint64_t number = cursor.last ? Number(cursor.last->slot) + 1 : 0; number < end;
       ++number) {
    UNSHARD_RETURN_IF_ERROR(cursor.steps.Next());
    const ChunkRef chunk{SlotOf(number), ChunkPart::kPlain};
    const auto file = ChunkAt(chunk.slot);
    if (!file) continue;
    UNSHARD_ASSIGN_OR_RETURN(const bool more, cursor.visitor(chunk, *file));
    if (!more) return {};
  }
  return {};
}

FlatTree::Has FlatTree::HasPages(std::uint64_t shard) const {
  using Trust = ShardSet::Trust;
  const std::uint64_t page_count = shards().format().page_count();
  if (page_count == 0 || page_count > kMostPagesAhead) return Has::kAll;
  const Deadline deadline = CallerDeadline();
  const auto known = shards().Current(shard, deadline, Trust::kKnown);
  if (!known || !*known) return Has::kNothing;
  for (std::uint64_t page = 0; page < page_count; ++page) {
    const auto cached = shards().Page(*known, page, deadline, ShardSet::Ahead::kCached);
    if (!cached || !*cached) return Has::kNothing;
  }
  if (!lists_) return Has::kAll;
  const auto fresh = shards().Current(shard, deadline, Trust::kFresh);
  return fresh && *fresh ? Has::kAll : Has::kPagesToValidate;
}

void FlatTree::OpenAndBegin(std::uint64_t shard) const {
  const auto generation = ListedGeneration(shard);
  if (!generation) return;
  const Deadline deadline = CallerDeadline();
  for (std::uint64_t page = 0; page < shards().format().page_count(); ++page) {
    static_cast<void>(shards().Page(*generation, page, deadline, ShardSet::Ahead::kBegun));
  }
}

void FlatTree::BeginPages(Shards group) const {
  const auto& clock = shards().options().clock;
  const auto begun = clock();
  static_cast<void>(ListedGeneration(group.front()));
  const std::size_t threads = clock() - begun < kSlowOpen ? 1 : kOpensAtOnce;
  ForEachInParallel(group.size(), threads, [&](std::size_t i) { OpenAndBegin(group[i]); });
}

// Several pages at a time, of several shards, or several shards whose ttl is over, where each is
// waited for. The listing meets the failures again.
std::size_t FlatTree::LoadPages(Shards following) const {
  const Has has = HasPages(following.front());
  if (has == Has::kAll) return 1;
  const std::uint64_t page_count = shards().format().page_count();
  const std::size_t group = std::clamp<std::size_t>(kPagesAtOnce / page_count, 1, following.size());
  if (!remote_) {
    BeginPages(following.first(group));
    return group;
  }
  if (has == Has::kPagesToValidate) {
    const auto most = following.first(std::min(kPagesAtOnce, following.size()));
    const auto end = std::find_if(most.begin(), most.end(), [&](std::uint64_t shard) {
      return HasPages(shard) != Has::kPagesToValidate;
    });
    ForEachInParallel(static_cast<std::size_t>(end - most.begin()), kPagesAtOnce,
                      [&](std::size_t i) { static_cast<void>(ListedGeneration(most[i])); });
  }
  const Deadline deadline = CallerDeadline();
  ForEachInParallel(group * page_count, kPagesAtOnce, [&](std::size_t i) {
    const auto generation = ListedGeneration(following[i % group]);
    if (!generation) return;
    const auto loaded = shards().Page(*generation, i / group, deadline);
    static_cast<void>(loaded);
  });
  return group;
}

// True: the listing goes on.
bool FlatTree::LeaveOut(const Error& error, const Cursor& cursor) {
  cursor.damaged(error, Unreadable::kLeftOut);
  return true;
}

Result<bool> FlatTree::ListShard(std::uint64_t shard, const Cursor& cursor) {
  auto generation = ListedGeneration(shard);
  if (!generation) return LeaveOut(generation.error(), cursor);
  const bool resumed = cursor.last && cursor.last->slot.shard == shard;
  if (IsMissingOrEmpty(**generation)) {
    const std::vector<std::uint64_t> pages = UnpublishedPages(shard);
    generation = AfterPublishes(*generation);
    if (!generation) return LeaveOut(generation.error(), cursor);
    if (IsMissingOrEmpty(**generation)) return ListUnpublished(*generation, pages, cursor);
  }
  const std::uint64_t page_count = shards().format().page_count();
  int damaged_pages = 0;
  for (std::uint64_t page = resumed ? cursor.last->slot.page : 0;
       page_count == 0 || page < page_count; ++page) {
    UNSHARD_RETURN_IF_ERROR(cursor.steps.Next());
    const auto index_page = ShownPage(*generation, page);
    if (!index_page) {
      LeaveOut(index_page.error(), cursor);
      if (++damaged_pages == kMaxDamagedPages) return true;
      continue;
    }
    if (HoldsNothing(**generation, **index_page)) return true;
    UNSHARD_ASSIGN_OR_RETURN(const bool more, ListPage(shard, page, **index_page, cursor));
    if (!more) return false;
  }
  return true;
}

// Lists the overlay of a shard that is missing in the store, or empty: these pages.
Result<bool> FlatTree::ListUnpublished(ShardGenerationPtr generation,
                                       const std::vector<std::uint64_t>& pages,
                                       const Cursor& cursor) {
  const std::uint64_t shard = generation->shard;
  const bool resumed = cursor.last && cursor.last->slot.shard == shard;
  // Its format knows whether a shard without a byte is damaged.
  if (generation->object) {
    const auto first = PageAfterPublishes(generation, 0);
    if (!first) return LeaveOut(first.error(), cursor);
  }
  for (const std::uint64_t page : pages) {
    if (resumed && page < cursor.last->slot.page) continue;
    const auto index_page = ShownPage(generation, page);
    if (!index_page) return LeaveOut(index_page.error(), cursor);
    UNSHARD_ASSIGN_OR_RETURN(const bool more, ListPage(shard, page, **index_page, cursor));
    if (!more) return false;
  }
  return true;
}

Result<bool> FlatTree::ListPage(std::uint64_t shard, std::uint64_t page,
                                const IndexPage& index_page, const Cursor& cursor) {
  const bool resumed =
      cursor.last && cursor.last->slot.shard == shard && cursor.last->slot.page == page;
  const auto& entries = index_page.entries();
  std::size_t at = resumed ? index_page.LowerBound(cursor.last->slot.slot) : 0;
  for (; at < entries.size(); ++at) {
    UNSHARD_RETURN_IF_ERROR(cursor.steps.Next());
    const ShardSlot slot{shard, page, entries[at].slot};
    auto file = ChunkAt(slot);
    if (!file) continue;
    for (const ChunkPart part : names().parts()) {
      const ChunkRef chunk{slot, part};
      const bool listed = resumed && slot == cursor.last->slot &&
                          PartIndex(names(), part) <= PartIndex(names(), cursor.last->part);
      if (listed) continue;
      file->part = part;
      UNSHARD_ASSIGN_OR_RETURN(const bool more, cursor.visitor(chunk, *file));
      if (!more) return false;
    }
  }
  return true;
}

Result<std::uint64_t> FlatTree::Cookie(const ChunkRef& chunk) {
  const std::uint64_t number = Number(chunk.slot);
  if (number < kLargeNumber) return number * 2 + PartIndex(names(), chunk.part) + 1;
  const std::lock_guard lock(mutex_);
  const auto [found, added] = large_positions_.try_emplace(number, large_numbers_.size());
  if (added) {
    if (large_numbers_.size() == kMaxLargeNumbers) {
      large_positions_.erase(found);
      return Fail(ErrorCode::kResourceExhausted, directory(),
                  ": too many ids above 2^60 to list in one directory");
    }
    large_numbers_.push_back(number);
  }
  return kFirstLargeCookie + found->second * 2 + PartIndex(names(), chunk.part) + 1;
}

std::optional<ChunkRef> FlatTree::AtCookie(std::uint64_t cookie) {
  if (cookie == 0) return std::nullopt;
  const std::uint64_t relative =
      (cookie > kFirstLargeCookie ? cookie - kFirstLargeCookie : cookie) - 1;
  std::uint64_t number = relative / 2;
  if (cookie > kFirstLargeCookie) {
    const std::lock_guard lock(mutex_);
    if (number >= large_numbers_.size()) return std::nullopt;
    number = large_numbers_[number];
  }
  const auto parts = names().parts();
  return ChunkRef{SlotOf(number), parts[std::min<std::size_t>(relative % 2, parts.size() - 1)]};
}

}  // namespace unshard
