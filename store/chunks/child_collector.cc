#include "store/chunks/child_collector.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "store/object/parallel.h"

namespace unshard {
namespace {

// So many cells are looked up whatever a shard holds: fewer would save nothing.
constexpr std::uint64_t kFewCells = 1024;
// Index pages that are asked for at a time.
constexpr std::size_t kPagesAtOnce = 32;

std::uint64_t CellsOf(const CellBox& box) {
  std::uint64_t cells = 1;
  for (std::size_t d = 0; d < box.begin.size(); ++d) {
    const std::uint64_t extent = box.end[d] - box.begin[d];
    if (__builtin_mul_overflow(cells, extent, &cells)) return ~std::uint64_t{0};
  }
  return cells;
}

bool IsIn(const CellBox& box, const GridCell& cell) {
  for (std::size_t d = 0; d < cell.size(); ++d) {
    if (cell[d] < box.begin[d] || cell[d] >= box.end[d]) return false;
  }
  return true;
}

// The next cell of a box in C order; false after the last.
bool Advance(const CellBox& box, GridCell& cell) {
  for (std::size_t d = cell.size(); d-- > 0;) {
    if (++cell[d] < box.end[d]) return true;
    cell[d] = box.begin[d];
  }
  return false;
}

}  // namespace

ChunkPresence::Page ChunkPresence::Load(const ShardedTree& stored, const ShardSlot& slot) {
  UNSHARD_ASSIGN_OR_RETURN(auto generation, stored.shards().Current(slot.shard, CallerDeadline()));
  return stored.ShownPage(generation, slot.page);
}

bool ChunkPresence::IsKnown(const ShardedTree& stored, const ShardSlot& slot) {
  const Deadline deadline = CallerDeadline();
  ShardSet& shards = stored.shards();
  const auto fresh = shards.Current(slot.shard, deadline, ShardSet::Trust::kFresh);
  if (!fresh || !*fresh) return false;
  const auto page = shards.Page(*fresh, slot.page, deadline, ShardSet::Ahead::kCached);
  return page && *page;
}

const ChunkPresence::Page& ChunkPresence::PageOf(const ShardSlot& slot) {
  if (slot_ && slot_->shard == slot.shard && slot_->page == slot.page) return page_;
  slot_ = slot;
  reported_ = false;
  return page_ = Load(stored_, slot);
}

bool ChunkPresence::Holds(const ShardSlot& slot, ChunkTree::Unreadable unreadable) {
  const Page& page = PageOf(slot);
  if (page) return (*page)->Find(slot.slot).has_value();
  if (!std::exchange(reported_, true)) damaged_(page.error(), unreadable);
  return unreadable == ChunkTree::Unreadable::kListed;
}

std::uint64_t ChunkPresence::CountIn(std::uint64_t shard, std::uint64_t page) {
  const Page& loaded = PageOf({shard, page, 0});
  return loaded ? (*loaded)->entries().size() : 0;
}

ChildCollector::ChildCollector(ShardedTree& stored, bool remote, const ViewDirectory& in,
                               std::uint64_t from, std::size_t most,
                               const ChunkTree::DamageVisitor& damaged)
    : stored_(stored),
      remote_(remote),
      in_(in),
      from_(from),
      most_(most),
      damaged_(damaged),
      unreadable_(in.holds_directories ? ChunkTree::Unreadable::kListed
                                       : ChunkTree::Unreadable::kLeftOut),
      whole_(in.below),
      presence_(stored, damaged),
      steps_(CallerDeadline(), "listing chunks"),
      end_(in.count) {}

Status ChildCollector::Run(bool begins) {
  ShardWalk walk;
  walk.begins = begins;
  walk.within = Wanted(whole_);
  if (!walk.within) return {};
  walk.hesitates = in_.holds_directories;
  walk.wants = [this](const CellBox& box) { return Wanted(box).has_value(); };
  walk.visit = [this](Shards shards) { return Visit(shards); };
  UNSHARD_RETURN_IF_ERROR(stored_.WalkShards(walk));
  return {};
}

// The part of a box that is below the directory; nothing where it leads to no name that is still to
// be found.
std::optional<CellBox> ChildCollector::Wanted(const CellBox& box) const {
  CellBox part = box;
  for (std::size_t d = 0; d < part.begin.size(); ++d) {
    part.begin[d] = std::max(part.begin[d], in_.below.begin[d]);
    part.end[d] = std::min(part.end[d], in_.below.end[d]);
  }
  if (in_.axis) {
    std::uint64_t& begin = part.begin[*in_.axis];
    std::uint64_t& end = part.end[*in_.axis];
    begin = std::max(begin, in_.names.StoredBegin(from_));
    end = std::min(end, in_.names.StoredBegin(end_));
  }
  for (std::size_t d = 0; d < part.begin.size(); ++d) {
    if (part.begin[d] >= part.end[d]) return std::nullopt;
  }
  const auto [begin, end] = NamesOf(part);
  if (end - begin > found_.size()) return part;
  const auto known = std::distance(found_.lower_bound(begin), found_.lower_bound(end));
  return static_cast<std::uint64_t>(known) == end - begin ? std::nullopt : std::optional(part);
}

CellBox ChildCollector::BoxOf(std::uint64_t shard) const {
  return stored_.BoxOf(shard).value_or(whole_);
}

std::uint64_t ChildCollector::NameOf(const GridCell& cell) const {
  return in_.axis ? in_.names.ShownCell(cell[*in_.axis]) : 0;
}

std::pair<std::uint64_t, std::uint64_t> ChildCollector::NamesOf(const CellBox& box) const {
  if (!in_.axis) return {0, 1};
  return {NameOf(box.begin), in_.names.ShownCell(box.end[*in_.axis] - 1) + 1};
}

void ChildCollector::Add(std::uint64_t name) {
  if (name < from_ || name >= end_ || !found_.insert(name).second || found_.size() <= most_) return;
  const auto largest = std::prev(found_.end());
  end_ = *largest;
  found_.erase(largest);
}

Result<bool> ChildCollector::Visit(Shards shards) {
  const auto below = Wanted(whole_);
  if (!below) return false;
  if (CellsOf(*below) <= std::max<std::uint64_t>(kFewCells, shards.size())) {
    UNSHARD_RETURN_IF_ERROR(Probe(*below, shards));
    return true;
  }
  const bool one_page = stored_.shards().format().page_count() == 1;
  std::size_t not_loaded = 0;
  for (std::size_t at = 0; at < shards.size(); ++at) {
    UNSHARD_RETURN_IF_ERROR(steps_.Next());
    const std::uint64_t shard = shards[at];
    const auto box = Wanted(BoxOf(shard));
    if (!box) continue;
    const std::uint64_t cells = CellsOf(*box);
    bool fewer = cells <= kFewCells;
    if (at >= not_loaded && (one_page || !fewer)) not_loaded = at + LoadFrom(shards.subspan(at));
    fewer = fewer || (one_page && cells <= presence_.CountIn(shard, 0));
    UNSHARD_RETURN_IF_ERROR(fewer ? Probe(*box, {&shard, 1}) : Scan(shard, *box));
  }
  return true;
}

// Loads all pages of some of the next shards. Of those with the same names one will mostly do. The
// number of shards that need no other call.
std::size_t ChildCollector::LoadFrom(Shards shards) {
  std::vector<std::uint64_t> next;
  std::vector<std::size_t> places;
  std::set<std::uint64_t> begins;
  for (std::size_t at = 0; at < shards.size() && next.size() < kPagesAtOnce; ++at) {
    const auto box = Wanted(BoxOf(shards[at]));
    if (!box) continue;
    if (in_.holds_directories && !begins.insert(NameOf(box->begin)).second) continue;
    next.push_back(shards[at]);
    places.push_back(at);
  }
  return places[stored_.LoadPages(next) - 1] + 1;
}

Status ChildCollector::Probe(const CellBox& box, Shards shards) {
  if (remote_) UNSHARD_RETURN_IF_ERROR(LoadFirstPages(box, shards));
  return ForEachName(box, [&](std::uint64_t name, const CellBox& cells) -> Status {
    const auto holds = [&](const ShardSlot& slot) { return presence_.Holds(slot, unreadable_); };
    UNSHARD_ASSIGN_OR_RETURN(const bool any, AnyOf(cells, shards, holds));
    if (any) Add(name);
    return {};
  });
}

// The pages that are looked at first for each name, several at a time. The listing meets the
// failures again.
Status ChildCollector::LoadFirstPages(const CellBox& box, Shards shards) {
  std::set<std::pair<std::uint64_t, std::uint64_t>> seen;
  std::vector<ShardSlot> missing;
  const auto note = [&](const ShardSlot& slot) {
    const bool is_new = seen.emplace(slot.shard, slot.page).second;
    if (is_new && !ChunkPresence::IsKnown(stored_, slot)) missing.push_back(slot);
    return true;
  };
  const Status noted = ForEachName(box, [&](std::uint64_t, const CellBox& cells) -> Status {
    UNSHARD_RETURN_IF_ERROR(AnyOf(cells, shards, note));
    return {};
  });
  if (!noted || missing.size() < 2) return noted;
  ForEachInParallel(missing.size(), kPagesAtOnce, [&](std::size_t i) {
    static_cast<void>(ChunkPresence::Load(stored_, missing[i]));
  });
  return {};
}

// The names of a box that are still to be found, each with its cells.
Status ChildCollector::ForEachName(
    const CellBox& box, const std::function<Status(std::uint64_t, const CellBox&)>& visit) const {
  const auto [begin, end] = NamesOf(box);
  CellBox cells = box;
  for (std::uint64_t name = begin; name < end; ++name) {
    if (found_.contains(name)) continue;
    if (in_.axis) {
      const std::size_t axis = *in_.axis;
      cells.begin[axis] = std::max(box.begin[axis], in_.names.StoredBegin(name));
      cells.end[axis] = std::min(box.end[axis], in_.names.StoredBegin(name + 1));
    }
    UNSHARD_RETURN_IF_ERROR(visit(name, cells));
  }
  return {};
}

// Whether `holds` is true for a cell of a box whose shard is one of these.
Result<bool> ChildCollector::AnyOf(const CellBox& box, Shards shards,
                                   const std::function<bool(const ShardSlot&)>& holds) {
  GridCell cell = box.begin;
  do {
    UNSHARD_RETURN_IF_ERROR(steps_.Next());
    const ShardSlot slot = stored_.Locate(ChunkFile{cell});
    const bool exists = std::binary_search(shards.begin(), shards.end(), slot.shard);
    if (exists && holds(slot)) return true;
  } while (Advance(box, cell));
  return false;
}

Status ChildCollector::Scan(std::uint64_t shard, const CellBox& box) {
  const auto visit = [&](const ChunkRef&, const ChunkFile& file) -> Result<bool> {
    UNSHARD_RETURN_IF_ERROR(steps_.Next());
    const std::size_t before = found_.size();
    if (IsIn(box, file.cell)) Add(NameOf(file.cell));
    return found_.size() == before || Wanted(box).has_value();
  };
  const ChunkTree::DamageVisitor damaged = [&](const Error& error, ChunkTree::Unreadable) {
    damaged_(error, unreadable_);
    if (unreadable_ == ChunkTree::Unreadable::kLeftOut) return;
    const auto [begin, end] = NamesOf(box);
    for (std::uint64_t name = begin; name < end && name < end_; ++name) Add(name);
  };
  UNSHARD_RETURN_IF_ERROR(stored_.VisitChunks(shard, visit, damaged));
  return {};
}

}  // namespace unshard
