#include "store/chunks/sweep_reader.h"

#include <algorithm>
#include <chrono>

#include "store/chunks/sharded_tree.h"
#include "store/chunks/sweep_windows.h"

namespace unshard {
namespace {

// A window that takes longer leaves the reads that wait for it too little of their time.
constexpr std::chrono::seconds kSlowRead{2};
// For the index of the next shard.
constexpr std::chrono::seconds kPatience{20};
// Shards in a row that are missing, and passed over.
constexpr std::uint64_t kMostMissing = 64;

using Layout = SweepWindows::Layout;

SweepWindows::Read ReadOf(std::uint64_t ordinal, const ShardGeneration& generation,
                          const ByteRange& range, std::uint64_t listed) {
  return {{ordinal, generation.shard, generation.serial},
          range,
          listed,
          generation.object ? generation.object->info().size : 0};
}

Result<std::shared_ptr<const Layout>> LayoutOf(ByteBudgetCache& cache, const CacheKey& key,
                                               const ShardFormat& format, const IndexPage& page,
                                               const Deadline& deadline) {
  const auto sort = [&]() -> Result<ByteBudgetCache::Loaded> {
    auto layout = std::make_shared<Layout>();
    layout->goes_on = format.page_count() != 1;
    for (const IndexEntry& entry : page.entries()) {
      if (!entry.damaged() && entry.range.size != 0) layout->chunks.push_back(entry.range);
    }
    std::sort(layout->chunks.begin(), layout->chunks.end(),
              [](const ByteRange& x, const ByteRange& y) { return x.begin < y.begin; });
    const std::uint64_t bytes = layout->chunks.size() * sizeof(ByteRange);
    return ByteBudgetCache::Loaded{std::move(layout), bytes};
  };
  UNSHARD_ASSIGN_OR_RETURN(auto layout, cache.Get(key, deadline, sort));
  return std::static_pointer_cast<const Layout>(std::move(layout));
}

}  // namespace

SweepReader::SweepReader(std::shared_ptr<ByteBudgetCache> cache, std::uint64_t max_prefetched)
    : cache_(std::move(cache)),
      layout_owner_(NewCacheOwner()),
      windows_(std::make_unique<SweepWindows>(max_prefetched)) {}

SweepReader::~SweepReader() = default;

CacheKey SweepReader::LayoutKey(std::uint64_t ordinal, const ShardGeneration& generation,
                                std::uint64_t page) const {
  return {layout_owner_ + ordinal * std::uint64_t{0x100000000}, generation.shard, generation.serial,
          page};
}

Result<Bytes> SweepReader::Read(const ShardedTree& tree, const ShardSlot& slot,
                                const ShardGenerationPtr& generation, const ByteRange& range,
                                const Deadline& deadline) {
  ShardSet& shards = tree.shards();
  // It costs no request: no window is to be requested for it.
  if (generation->object && generation->object->IsCached(range)) {
    return shards.ReadStored(generation, range, deadline);
  }
  UNSHARD_ASSIGN_OR_RETURN(const auto page, shards.Page(generation, slot.page, deadline));
  const auto read = ReadOf(tree.ordinal(), *generation, range, page->LowerBound(slot.slot));
  const SweepWindows::Place place = windows_->Note(read);
  if (place == SweepWindows::Place::kAlone) {
    return shards.ReadStored(generation, range, deadline);
  }
  UNSHARD_ASSIGN_OR_RETURN(const auto layout,
                           LayoutOf(*cache_, LayoutKey(tree.ordinal(), *generation, slot.page),
                                    shards.format(), *page, deadline));
  const SweepWindows::Ends ends = windows_->Begin(
      read, place, *layout, [&](const ByteRange& window) { generation->object->Prefetch(window); });
  if (ends != SweepWindows::Ends::kNo) {
    GoOn(tree, *generation, ends == SweepWindows::Ends::kAgain, deadline);
  }
  const auto begun = std::chrono::steady_clock::now();
  auto bytes = shards.ReadStored(generation, range, deadline);
  if (std::chrono::steady_clock::now() - begun > kSlowRead) windows_->Slow(read);
  return bytes;
}

// The shard that follows `last` in a listing, as far as its index is cached, as it is where the
// directory was listed before (cp -r). Where it is not, and the store may be asked: the next one.
void SweepReader::GoOn(const ShardedTree& tree, const ShardGeneration& last, bool may_ask,
                       const Deadline& deadline) {
  if (!tree.PositionEnd()) return;
  ShardSet& shards = tree.shards();
  const Tree of{tree.ordinal(), tree.shared_shards()};
  const ReadAhead::Shard ends{of.ordinal, last.shard, last.serial};
  const std::uint64_t end = std::min(tree.ShardEnd(), last.shard + kMostMissing);
  for (std::uint64_t shard = last.shard + 1; shard < end; ++shard) {
    const auto known = shards.Current(shard, deadline, ShardSet::Trust::kKnown);
    if (known && *known && !(*known)->object) continue;
    Result<std::shared_ptr<const IndexPage>> page = nullptr;
    if (known && *known) page = shards.Page(*known, 0, deadline, ShardSet::Ahead::kCached);
    if (page && *page) return GoOnIn(of, ends, *known, *page, deadline);
    if (!may_ask) return;
    return asking_.Start([this, of, ends, shard](const std::stop_token& stop) {
      const Deadline own{std::chrono::steady_clock::now() + kPatience, stop};
      const auto next = of.shards->Current(shard, own, ShardSet::Trust::kUncontradicted);
      if (!next || !(*next)->object) return;
      const auto first = of.shards->Page(*next, 0, own);
      if (first) GoOnIn(of, ends, *next, *first, own);
    });
  }
}

void SweepReader::GoOnIn(const Tree& tree, const ReadAhead::Shard& last,
                         const ShardGenerationPtr& next,
                         const std::shared_ptr<const IndexPage>& page, const Deadline& deadline) {
  if (page->entries().empty()) return;
  const IndexEntry& first = page->entries().front();
  if (first.damaged() || first.range.size == 0) return;
  const auto layout =
      LayoutOf(*cache_, LayoutKey(tree.ordinal, *next, 0), tree.shards->format(), *page, deadline);
  if (!layout) return;
  windows_->GoOn(last, ReadOf(tree.ordinal, *next, first.range, 0), **layout,
                 [&](const ByteRange& window) { next->object->Prefetch(window); });
}

}  // namespace unshard
