#include "store/chunks/zarr_tree.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "codec/grid/chunk_key.h"
#include "store/object/key.h"
#include "store/object/parallel.h"
#include "store/object/step_check.h"

namespace unshard {
namespace {

// Directories of which a listing finds out at a time whether they hold chunks: each costs several
// requests, one after the other.
constexpr std::size_t kRowsAtOnce = 16;
// Shards of a walk that are visited together, of which index pages can be loaded at a time.
constexpr std::size_t kLongRun = 64;

// Whether one of the `slots` slots from `first` on has a chunk. `unpublished`: the overlay of these
// slots.
bool HoldsAny(const IndexPage& page, const std::vector<UnpublishedChunks::Difference>& unpublished,
              std::uint64_t first, std::uint64_t slots) {
  auto difference = unpublished.begin();
  const auto& entries = page.entries();
  for (std::size_t at = page.LowerBound(first);
       at < entries.size() && entries[at].slot - first < slots; ++at) {
    while (difference != unpublished.end() && difference->slot < entries[at].slot) ++difference;
    const bool removed = difference != unpublished.end() && difference->slot == entries[at].slot &&
                         difference->removed;
    if (!removed) return true;
  }
  return std::any_of(unpublished.begin(), unpublished.end(),
                     [](const auto& each) { return !each.removed; });
}

// Whether the slots of each shard are in C order of the array's own dimensions: the index is not
// nested, and no transpose precedes sharding_indexed. `chunks_per_shard`: along each dimension.
bool SlotsFollowGrid(const ZarrShardedArray& array,
                     const std::vector<std::uint64_t>& chunks_per_shard) {
  if (array.format->page_count() != 1 || !array.shard_grid.is_regular()) return false;
  std::uint64_t step = 1;
  for (std::size_t d = chunks_per_shard.size(); d-- > 0; step *= chunks_per_shard[d]) {
    if (chunks_per_shard[d] == 1 || array.grid.grid_shape()[d] == 1) continue;
    GridCell cell(chunks_per_shard.size());
    cell[d] = 1;
    if (array.locator->Locate(cell).slot != step) return false;
  }
  return true;
}

// The first indices of the shards that hold chunks whose indices begin with `indices`. `shards`:
// their grid, counted in chunks.
GridCell ShardCell(const ChunkGrid& shards, const GridCell& indices) {
  GridCell cell;
  for (std::size_t d = 0; d < indices.size(); ++d) {
    cell.push_back(shards.axis(d).CellAt(indices[d]));
  }
  return cell;
}

}  // namespace

ZarrPositions::ZarrPositions(const ZarrShardedArray& array) {
  for (std::size_t d = 0; d < array.grid.rank(); ++d) {
    chunks_per_shard_ *= array.shard_grid.chunk_shape()[d] / array.grid.chunk_shape()[d];
  }
  slots_per_page_ = chunks_per_shard_ / std::max<std::uint64_t>(array.format->page_count(), 1);
  end_ = array.shard_grid.cell_count() * chunks_per_shard_;
}

ShardSlot ZarrPositions::At(std::uint64_t position) const {
  const std::uint64_t in_shard = position % chunks_per_shard_;
  return {position / chunks_per_shard_, in_shard / slots_per_page_, in_shard % slots_per_page_};
}

ZarrTree::ZarrTree(std::uint32_t ordinal, std::shared_ptr<ShardSet> shards,
                   std::shared_ptr<ChunkReader> reader, const ZarrShardedArray& array,
                   std::shared_ptr<ObjectStore> store)
    : FlatTree(ordinal, std::move(shards), std::move(reader), std::move(store)),
      array_(array),
      positions_(array),
      names_(array.key_encoding, array.grid.grid_shape()),
      shards_of_chunks_(array.shard_grid.InUnitsOf(array.grid.chunk_shape())) {
  std::uint64_t next = positions_.end();
  for (unsigned level = 0; level <= depth(); ++level) {
    first_of_level_.push_back(next);
    std::uint64_t count = 1;
    for (std::size_t d = 0; d < names_.IndexCount({level, 0}); ++d) {
      count *= array.grid.grid_shape()[d];
    }
    next += count;
  }
  slots_follow_grid_ =
      positions_.end() > 0 && SlotsFollowGrid(array, shards_of_chunks_.chunk_shape());
}

std::uint64_t ZarrTree::ChunksInShard(std::uint64_t shard) const {
  GridCell in_shard_grid(array_.grid.rank());
  CellOfLinearIndex(array_.shard_grid.grid_shape(), shard, in_shard_grid);
  return shards_of_chunks_.ClippedElementCount(in_shard_grid);
}

ChunkTree::Match ZarrTree::Child(const GridDirectory& in, std::uint64_t index) const {
  const NameMeaning child = names_.Child(in, index);
  if (child.kind == NameKind::kDirectory) return {child.kind, child.directory, {}};
  return {child.kind, {}, {Locate(child.chunk), ChunkPart::kPlain}};
}

std::string ZarrTree::StoreDirectory(const GridDirectory& in) const {
  std::string path = directory();
  if (in.level > 0 && names_.prefix_levels() > 0) path = JoinPath(path, names_.Path({1, 0}));
  const GridCell indices = names_.Indices(in);
  for (const std::uint64_t index : ShardCell(shards_of_chunks_, indices))
    path = JoinPath(path, std::to_string(index));
  return path;
}

Result<bool> ZarrTree::IsPresent(const ChunkRef& chunk, std::uint64_t row, LastPage& last) {
  const ShardSlot& slot = chunk.slot;
  if (!last.page || last.slot.shard != slot.shard || last.slot.page != slot.page) {
    last.page = nullptr;
    // The last dimension is the fastest: the slots of a row are consecutive.
    last.unpublished =
        slots_follow_grid_
            ? UnpublishedInPage(slot.shard, slot.page, slot.slot, slot.slot + (row - 1))
            : UnpublishedInPage(slot.shard, slot.page, 0, ~std::uint64_t{0});
    // After the overlay: see AfterPublishes().
    UNSHARD_ASSIGN_OR_RETURN(auto generation, ListedGeneration(slot.shard));
    UNSHARD_ASSIGN_OR_RETURN(last.page, PageAfterPublishes(generation, slot.page));
    last.slot = slot;
  }
  const auto& unpublished = last.unpublished;
  const auto found =
      std::lower_bound(unpublished.begin(), unpublished.end(), slot.slot,
                       [](const auto& each, std::uint64_t wanted) { return each.slot < wanted; });
  if (found != unpublished.end() && found->slot == slot.slot) return !found->removed;
  return last.page->Find(slot.slot).has_value();
}

Result<bool> ZarrTree::HoldsChunks(const GridDirectory& in, Time since) {
  const UnpublishedChunks* const overlay = unpublished();
  if (overlay && !overlay->empty() && overlay->HoldsChunks(ordinal(), in)) return true;
  const GridCell indices = names_.Indices(in);
  GridCell shard_cell = ShardCell(shards_of_chunks_, indices);
  // What the listing has probed holds for its directories, too.
  return HoldsChunksIn(StoreDirectory(in), shard_cell, indices,
                       lists() ? since : ShardLister::kAnyAge);
}

Result<ShardLister::Listing> ZarrTree::StoredIndices(const std::string& store_directory,
                                                     const GridCell& shard_cell, Time since) {
  const auto parse = [](std::string_view name) { return ParseDecimal(name); };
  if (lists()) return lister().List(store_directory, parse, since);
  UNSHARD_ASSIGN_OR_RETURN(const auto present, ProbedShards(since != ShardLister::kAnyAge));
  std::vector<std::uint64_t> indices;  // ascending: shards are numbered in C order
  GridCell cell(array_.grid.rank());
  for (const std::uint64_t shard : *present) {
    CellOfLinearIndex(array_.shard_grid.grid_shape(), shard, cell);
    const std::uint64_t index = cell[shard_cell.size()];
    const bool below = std::equal(shard_cell.begin(), shard_cell.end(), cell.begin());
    if (below && (indices.empty() || indices.back() != index)) indices.push_back(index);
  }
  return ShardLister::Listing{
      std::make_shared<const std::vector<std::uint64_t>>(std::move(indices)), since};
}

Result<bool> ZarrTree::HoldsChunksIn(const std::string& store_directory, GridCell& shard_cell,
                                     const GridCell& indices, Time since) {
  const std::vector<std::uint64_t>& shape = array_.shard_grid.grid_shape();
  UNSHARD_ASSIGN_OR_RETURN(const auto stored, StoredIndices(store_directory, shard_cell, since));
  for (const std::uint64_t number : *stored.numbers) {
    if (number >= shape[shard_cell.size()]) break;
    shard_cell.push_back(number);
    const Result<bool> holds =
        shard_cell.size() == shape.size()
            ? ShardHoldsChunks(LinearIndex(shape, shard_cell), indices)
            : HoldsChunksIn(JoinPath(store_directory, std::to_string(number)), shard_cell, indices,
                            since);
    shard_cell.pop_back();
    if (!holds || *holds) return holds;
  }
  return false;
}

// Whether a shard holds a chunk whose indices begin with `indices`.
Result<bool> ZarrTree::ShardHoldsChunks(std::uint64_t shard, const GridCell& indices) {
  UNSHARD_ASSIGN_OR_RETURN(auto generation, ListedGeneration(shard));
  if (!generation->object) return false;
  GridCell cell(array_.grid.rank());
  CellOfLinearIndex(array_.shard_grid.grid_shape(), shard, cell);
  std::uint64_t slots = 1;
  for (std::size_t d = 0; d < cell.size(); ++d) {
    const GridAxis& axis = shards_of_chunks_.axis(d);
    if (d >= indices.size()) slots *= axis.CellExtent(cell[d]);
    cell[d] = d < indices.size() ? indices[d] : axis.Begin(cell[d]);
  }
  if (slots_follow_grid_) {
    // The slots that share their first indices are consecutive.
    const std::uint64_t first = array_.locator->Locate(cell).slot;
    const auto unpublished = UnpublishedInPage(shard, 0, first, first + (slots - 1));
    UNSHARD_ASSIGN_OR_RETURN(const auto page, PageAfterPublishes(generation, 0));
    return HoldsAny(*page, unpublished, first, slots);
  }
  const std::uint64_t page_count = shards().format().page_count();
  for (std::uint64_t page = 0; page < page_count; ++page) {
    UNSHARD_ASSIGN_OR_RETURN(const auto index_page, ShownPage(generation, page));
    for (const IndexEntry& entry : index_page->entries()) {
      if (!array_.locator->CellAt({shard, page, entry.slot}, cell)) continue;
      if (std::equal(indices.begin(), indices.end(), cell.begin())) return true;
    }
  }
  return false;
}

Status ZarrTree::ListIndices(const GridDirectory& in, const Run& run, const ListVisitor& visitor,
                             const DamageVisitor& damaged, bool& more) {
  bool reported = false;
  LastPage last;
  StepCheck steps(CallerDeadline(), "listing chunks");
  for (std::uint64_t index = run.begin; index < run.end && more; ++index) {
    UNSHARD_RETURN_IF_ERROR(steps.Next());
    const Match match = Child(in, index);
    const bool directory = match.kind == Match::Kind::kDirectory;
    if (!run.all && !std::binary_search(run.others.begin(), run.others.end(), index)) {
      const auto present = directory ? HoldsChunks(match.directory, run.since)
                                     : IsPresent(match.chunk, run.end - index, last);
      if (!present) {
        // Directories whose shards are unreadable may hold chunks: they are listed.
        const Unreadable shown = directory ? Unreadable::kListed : Unreadable::kLeftOut;
        if (!std::exchange(reported, true)) damaged(present.error(), shown);
        // A shard that is not nested has one index for the whole run.
        if (!directory && shards().format().page_count() == 1) return {};
      }
      if (!present.value_or(directory)) continue;
    }
    const std::string name = std::to_string(index);
    more = visitor({name, match, index + 1});
  }
  return {};
}

Result<bool> ZarrTree::WalkShards(const ShardWalk& walk) {
  if (depth() == 0 || !lists()) return FlatTree::WalkShards(walk);
  if (positions_.end() == 0) return true;
  // Before the shards: see AfterPublishes().
  NestedWalk nested{walk, walk.begins ? Begun() : ShardLister::kAnyAge, UnpublishedShards()};
  GridCell shard_cell;
  UNSHARD_ASSIGN_OR_RETURN(
      const bool more, WalkBelow(StoreDirectory({names_.prefix_levels(), 0}), shard_cell, nested));
  return more ? VisitRun(nested) : false;
}

Result<bool> ZarrTree::VisitRun(NestedWalk& nested) {
  const std::vector<std::uint64_t> run = std::exchange(nested.run, {});
  return run.empty() ? true : nested.walk.visit(run);
}

bool ZarrTree::Wants(const GridCell& shard_cell, const ShardWalk& walk) const {
  const std::vector<std::uint64_t>& shape = array_.shard_grid.grid_shape();
  GridCell last = shard_cell;
  for (std::size_t d = last.size(); d < shape.size(); ++d) last.push_back(shape[d] - 1);
  return LinearIndex(shape, last) >= walk.first &&
         (!walk.wants || walk.wants(BoxOfShards(shard_cell)));
}

Result<std::vector<std::uint64_t>> ZarrTree::IndicesOfWalk(const std::string& store_directory,
                                                           const GridCell& shard_cell,
                                                           const NestedWalk& nested) {
  const std::size_t d = shard_cell.size();
  std::uint64_t begin = 0;
  std::uint64_t end = array_.shard_grid.grid_shape()[d];
  if (const auto& within = nested.walk.within) {
    const GridAxis& axis = shards_of_chunks_.axis(d);
    begin = axis.CellAt(within->begin[d]);
    end = std::min(end, axis.CellAt(within->end[d] - 1) + 1);
    if (begin + 1 == end) return std::vector{begin};
  }
  UNSHARD_ASSIGN_OR_RETURN(const auto stored,
                           StoredIndices(store_directory, shard_cell, nested.since));
  std::set<std::uint64_t> found(stored.numbers->begin(), stored.numbers->end());
  GridCell cell(array_.grid.rank());
  for (const std::uint64_t shard : nested.unpublished) {
    CellOfLinearIndex(array_.shard_grid.grid_shape(), shard, cell);
    if (std::equal(shard_cell.begin(), shard_cell.end(), cell.begin())) found.insert(cell[d]);
  }
  return std::vector(found.lower_bound(begin), found.lower_bound(end));
}

// The shards whose indices begin with those of `shard_cell`. The directory of the first index is
// listed alone, since it may show that no other one is wanted; then several at a time.
Result<bool> ZarrTree::WalkBelow(const std::string& store_directory, GridCell& shard_cell,
                                 NestedWalk& nested) {
  UNSHARD_ASSIGN_OR_RETURN(const auto indices, IndicesOfWalk(store_directory, shard_cell, nested));
  const bool are_shards = shard_cell.size() + 1 == array_.grid.rank();
  const auto below = [&](std::uint64_t index) {
    return JoinPath(store_directory, std::to_string(index));
  };
  std::size_t group_end = 1;
  for (std::size_t at = 0; at < indices.size(); ++at) {
    if (at == group_end && !are_shards) {
      group_end = std::min(indices.size(), at + kRowsAtOnce);
      if (nested.walk.hesitates || nested.run.size() >= kLongRun) {
        UNSHARD_ASSIGN_OR_RETURN(const bool more, VisitRun(nested));
        if (!more) return false;
      }
      ListAhead(below, {indices.begin() + static_cast<std::ptrdiff_t>(at), group_end - at},
                shard_cell, nested);
    }
    shard_cell.push_back(indices[at]);
    Result<bool> more = true;
    if (Wants(shard_cell, nested.walk)) {
      if (are_shards) {
        nested.run.push_back(LinearIndex(array_.shard_grid.grid_shape(), shard_cell));
      } else {
        more = WalkBelow(below(indices[at]), shard_cell, nested);
      }
    }
    shard_cell.pop_back();
    if (!more || !*more) return more;
  }
  return true;
}

// The walk meets the failures again.
void ZarrTree::ListAhead(const std::function<std::string(std::uint64_t)>& below, Rows indices,
                         const GridCell& shard_cell, const NestedWalk& nested) {
  if (!remote() || indices.size() < 2) return;
  ForEachInParallel(indices.size(), kRowsAtOnce, [&](std::size_t i) {
    GridCell cell = shard_cell;
    cell.push_back(indices[i]);
    if (!Wants(cell, nested.walk)) return;
    static_cast<void>(IndicesOfWalk(below(indices[i]), cell, nested));
  });
}

CellBox ZarrTree::BoxOfShards(const GridCell& shard_cell) const {
  CellBox box{GridCell(array_.grid.rank()), array_.grid.grid_shape()};
  for (std::size_t d = 0; d < shard_cell.size(); ++d) {
    box.begin[d] = shards_of_chunks_.axis(d).Begin(shard_cell[d]);
    box.end[d] = shards_of_chunks_.axis(d).End(shard_cell[d]);
  }
  return box;
}

std::optional<CellBox> ZarrTree::BoxOf(std::uint64_t shard) const {
  GridCell shard_cell(array_.grid.rank());
  CellOfLinearIndex(array_.shard_grid.grid_shape(), shard, shard_cell);
  return BoxOfShards(shard_cell);
}

// The numbers of a directory level, with those that only unpublished shards have.
std::vector<std::uint64_t> ZarrTree::WithUnpublished(
    const GridDirectory& in, const std::vector<std::uint64_t>& stored,
    const std::vector<std::uint64_t>& unpublished) const {
  const std::size_t dimension = names_.IndexCount(in);
  const GridCell above = ShardCell(shards_of_chunks_, names_.Indices(in));
  std::vector<std::uint64_t> numbers = stored;
  GridCell shard_cell(array_.grid.rank());
  for (const std::uint64_t shard : unpublished) {
    CellOfLinearIndex(array_.shard_grid.grid_shape(), shard, shard_cell);
    if (std::equal(above.begin(), above.end(), shard_cell.begin()))
      numbers.push_back(shard_cell[dimension]);
  }
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  return numbers;
}

Status ZarrTree::List(const GridDirectory& in, std::uint64_t cookie, ListMode mode,
                      const ListVisitor& visitor, const DamageVisitor& damaged,
                      const std::vector<GridDirectory>& others) {
  if (depth() == 0) return FlatTree::List(in, cookie, mode, visitor, damaged, others);
  if (names_.HoldsPrefix(in)) {
    const GridDirectory only{1, 0};
    const std::string name = Path(only);
    if (cookie == 0) visitor({name, {Match::Kind::kDirectory, only, {}}, 1});
    return {};
  }
  if (mode == ListMode::kNone) return {};
  const std::size_t dimension = names_.IndexCount(in);
  const std::uint64_t extent = array_.grid.grid_shape()[dimension];
  bool more = true;
  if (ListsWholeGrid(mode) || (mode == ListMode::kGrid && in.level < depth())) {
    return ListIndices(in, {cookie, extent, true, {}, {}}, visitor, damaged, more);
  }
  if (cookie >= extent) return {};
  const GridAxis& axis = shards_of_chunks_.axis(dimension);
  const GridCell shard_cell = ShardCell(shards_of_chunks_, names_.Indices(in));
  // Before the shards: see AfterPublishes().
  const std::vector<std::uint64_t> unpublished = UnpublishedShards();
  UNSHARD_ASSIGN_OR_RETURN(
      const auto stored,
      StoredIndices(StoreDirectory(in), shard_cell, cookie == 0 ? Begun() : ShardLister::kAnyAge));
  std::vector<std::uint64_t> numbers = *stored.numbers;
  Run run;
  run.since = stored.read;
  for (const GridDirectory& other : others) {
    run.others.push_back(names_.Indices(other).back());
    numbers.push_back(axis.CellAt(run.others.back()));
  }
  std::sort(run.others.begin(), run.others.end());
  numbers = WithUnpublished(in, numbers, unpublished);
  const std::uint64_t end = array_.shard_grid.grid_shape()[dimension];
  numbers.erase(std::lower_bound(numbers.begin(), numbers.end(), end), numbers.end());
  const auto first = std::lower_bound(numbers.begin(), numbers.end(), axis.CellAt(cookie));
  for (auto number = first; number != numbers.end() && more; ++number) {
    run.begin = std::max(cookie, axis.Begin(*number));
    run.end = axis.End(*number);
    // What a listing that goes on begins with was loaded before.
    if (run.begin == axis.Begin(*number)) {
      LoadRows(in, numbers, static_cast<std::size_t>(number - numbers.begin()), run.since);
    }
    UNSHARD_RETURN_IF_ERROR(ListIndices(in, run, visitor, damaged, more));
  }
  return {};
}

// A program that goes through all directories lists each directory of the store many times.
ShardLister::Time ZarrTree::Begun() const {
  const Time now = shards().options().clock();
  if (!remote()) return now;
  return now - std::chrono::milliseconds(shards().options().ttl_milliseconds);
}

void ZarrTree::LoadRows(const GridDirectory& in, Rows rows, std::size_t from, Time since) {
  const GridAxis& axis = shards_of_chunks_.axis(names_.IndexCount(in));
  if (in.level == depth()) {
    const auto shard_of = [&](std::uint64_t row) {
      return Child(in, axis.Begin(row)).chunk.slot.shard;
    };
    if (HasPages(shard_of(rows[from])) == Has::kAll) return;
    const Rows next = rows.subspan(from, std::min(kPagesAtOnce, rows.size() - from));
    std::vector<std::uint64_t> shards;
    std::transform(next.begin(), next.end(), std::back_inserter(shards), shard_of);
    LoadPages(shards);
    return;
  }
  if (!remote() || from % kRowsAtOnce != 0) return;
  const Rows next = rows.subspan(from, std::min(kRowsAtOnce, rows.size() - from));
  if (next.size() == 1) return;
  ForEachInParallel(next.size(), kRowsAtOnce, [&](std::size_t i) {
    static_cast<void>(HoldsChunks(Child(in, axis.Begin(next[i])).directory, since));
  });
}

void ZarrTree::ForEachDirectoryIn(std::span<const std::uint64_t> shard_indices,
                                  const std::function<void(const GridDirectory&)>& visitor) const {
  std::vector<std::uint64_t> prefixes{0};
  for (std::size_t d = 0; d < shard_indices.size(); ++d) {
    const std::uint64_t extent = array_.grid.grid_shape()[d];
    const std::uint64_t begin = shards_of_chunks_.axis(d).Begin(shard_indices[d]);
    const std::uint64_t end = shards_of_chunks_.axis(d).End(shard_indices[d]);
    std::vector<std::uint64_t> deeper;
    for (const std::uint64_t prefix : prefixes) {
      for (std::uint64_t index = begin; index < end; ++index) {
        deeper.push_back(prefix * extent + index);
      }
    }
    prefixes = std::move(deeper);
  }
  const unsigned level = names_.prefix_levels() + static_cast<unsigned>(shard_indices.size());
  for (const std::uint64_t prefix : prefixes) visitor({level, prefix});
}

void ZarrTree::ForEachDirectory(std::uint64_t shard,
                                const std::function<void(const GridDirectory&)>& visitor) const {
  if (depth() == 0) return;
  GridCell in_shard_grid(array_.grid.rank());
  CellOfLinearIndex(array_.shard_grid.grid_shape(), shard, in_shard_grid);
  for (std::size_t count = 1; count < in_shard_grid.size(); ++count) {
    ForEachDirectoryIn(std::span(in_shard_grid).first(count), visitor);
  }
}

void ZarrTree::ForEachDirectoryAt(std::string_view key,
                                  const std::function<void(const GridDirectory&)>& visitor) const {
  if (depth() == 0) return;
  if (names_.prefix_levels() > 0) {
    if (key != "c" && !key.starts_with("c/")) return;
    key.remove_prefix(std::min<std::size_t>(key.size(), 2));
  } else if (key.empty()) {
    return;  // level 0
  }
  GridCell shard_indices;
  while (!key.empty()) {
    const std::size_t d = shard_indices.size();
    const std::size_t slash = std::min(key.find('/'), key.size());
    const auto index = ParseDecimal(key.substr(0, slash));
    if (!index || *index >= array_.shard_grid.grid_shape()[d]) return;
    shard_indices.push_back(*index);
    // A key with as many indices as the grid is that of a shard.
    if (shard_indices.size() == array_.grid.rank()) return;
    key.remove_prefix(std::min(slash + 1, key.size()));
  }
  ForEachDirectoryIn(shard_indices, visitor);
}

std::optional<std::uint64_t> ZarrTree::Position(const GridDirectory& in) const {
  if (depth() == 0) return std::nullopt;
  return first_of_level_[in.level] + in.prefix;
}

ChunkTree::Match ZarrTree::AtPosition(std::uint64_t position) const {
  if (position < positions_.end()) {
    return {Match::Kind::kChunk, {}, {positions_.At(position), ChunkPart::kPlain}};
  }
  const auto above = std::upper_bound(first_of_level_.begin(), first_of_level_.end(), position);
  const auto level = static_cast<unsigned>(above - first_of_level_.begin() - 1);
  return {Match::Kind::kDirectory, {level, position - first_of_level_[level]}, {}};
}

std::unique_ptr<ShardedTree> MakeZarrTree(std::uint32_t ordinal, std::shared_ptr<ShardSet> shards,
                                          std::shared_ptr<ChunkReader> reader,
                                          const ZarrShardedArray& array,
                                          std::shared_ptr<ObjectStore> store) {
  return std::make_unique<ZarrTree>(ordinal, std::move(shards), std::move(reader), array,
                                    std::move(store));
}

}  // namespace unshard
