#include "store/chunks/sweep_reader.h"

#include <algorithm>
#include <chrono>

#include "store/chunks/sharded_tree.h"
#include "store/chunks/sweep_windows.h"

namespace unshard {
namespace {

using Layout = SweepWindows::Layout;

// A window that takes longer leaves the reads that wait for it too little of their time.
constexpr std::chrono::seconds kSlowRead{2};

std::shared_ptr<const Layout> LayoutOf(const IndexPage& page, bool goes_on) {
  auto layout = std::make_shared<Layout>();
  layout->goes_on = goes_on;
  for (const IndexEntry& entry : page.entries()) {
    if (!entry.damaged() && entry.range.size != 0) layout->chunks.push_back(entry.range);
  }
  std::sort(layout->chunks.begin(), layout->chunks.end(),
            [](const ByteRange& a, const ByteRange& b) { return a.begin < b.begin; });
  return layout;
}

}  // namespace

SweepReader::SweepReader(std::shared_ptr<ByteBudgetCache> cache, std::uint64_t max_prefetched)
    : cache_(std::move(cache)),
      layout_owner_(NewCacheOwner()),
      windows_(std::make_unique<SweepWindows>(max_prefetched)) {}

SweepReader::~SweepReader() = default;

Result<Bytes> SweepReader::Read(const ShardedTree& tree, const ShardSlot& slot,
                                const ShardGenerationPtr& generation, const ByteRange& range,
                                const Deadline& deadline) {
  ShardSet& shards = tree.shards();
  // It costs no request: no window is to be requested for it.
  if (generation->object && generation->object->IsCached(range)) {
    return shards.ReadStored(generation, range, deadline);
  }
  UNSHARD_ASSIGN_OR_RETURN(const auto page, shards.Page(generation, slot.page, deadline));
  const SweepWindows::Read read{{tree.ordinal(), generation->shard, generation->serial},
                                range,
                                page->LowerBound(slot.slot),
                                generation->object ? generation->object->info().size : 0};
  const SweepWindows::Place place = windows_->Note(read);
  if (place == SweepWindows::Place::kAlone) {
    return shards.ReadStored(generation, range, deadline);
  }
  const auto sort = [&]() -> Result<ByteBudgetCache::Loaded> {
    auto layout = LayoutOf(*page, shards.format().page_count() != 1);
    const std::uint64_t bytes = layout->chunks.size() * sizeof(ByteRange);
    return ByteBudgetCache::Loaded{std::move(layout), bytes};
  };
  const CacheKey key{layout_owner_ + tree.ordinal() * std::uint64_t{0x100000000}, generation->shard,
                     generation->serial, slot.page};
  UNSHARD_ASSIGN_OR_RETURN(const auto layout, cache_->Get(key, deadline, sort));
  windows_->Begin(read, place, *std::static_pointer_cast<const Layout>(layout),
                  [&](const ByteRange& window) { generation->object->Prefetch(window); });
  const auto begun = std::chrono::steady_clock::now();
  auto bytes = shards.ReadStored(generation, range, deadline);
  if (std::chrono::steady_clock::now() - begun > kSlowRead) windows_->Slow(read);
  return bytes;
}

}  // namespace unshard
