#include "store/chunks/sharded_tree.h"

namespace unshard {

namespace {
constexpr int kTriesOfPage = 3;
}  // namespace

ShardedTree::ShardedTree(std::uint32_t ordinal, std::shared_ptr<ShardSet> shards,
                         std::shared_ptr<ChunkReader> reader)
    : ChunkTree(ordinal, shards->directory()),
      shards_(std::move(shards)),
      chunks_(*this, std::move(reader)) {}

std::optional<ChunkFile> ShardedTree::FileOf(const ChunkRef& chunk) const {
  auto file = ChunkAt(chunk.slot);
  if (file) file->part = chunk.part;
  return file;
}

bool ShardedTree::HoldsNothing(const ShardGeneration& generation, const IndexPage& page) {
  return page.entries().empty() && generation.object->info().size == 0;
}

bool ShardedTree::IsShardKey(std::string_view key) const {
  return shards_->keys().Parse(key).has_value();
}

Status ShardedTree::ForEachPresent(const ShardGenerationPtr& generation,
                                   const std::function<void(const ChunkRef&)>& visitor) {
  if (!generation || !generation->object) return {};
  const std::uint64_t page_count = shards_->format().page_count();
  for (std::uint64_t page = 0; page_count == 0 || page < page_count; ++page) {
    UNSHARD_ASSIGN_OR_RETURN(const auto index_page,
                             shards_->Page(generation, page, CallerDeadline()));
    if (HoldsNothing(*generation, *index_page)) return {};
    for (const IndexEntry& entry : index_page->entries()) {
      visitor(ChunkRef{{generation->shard, page, entry.slot}, ChunkPart::kPlain});
    }
  }
  return {};
}

Result<std::shared_ptr<const IndexPage>> ShardedTree::ShownPage(ShardGenerationPtr& generation,
                                                                std::uint64_t page) const {
  const auto differences = UnpublishedInPage(generation->shard, page, 0, ~std::uint64_t{0});
  UNSHARD_ASSIGN_OR_RETURN(auto stored, PageAfterPublishes(generation, page));
  if (differences.empty()) return stored;
  std::vector<IndexEntry> entries;
  entries.reserve(stored->entries().size() + differences.size());
  auto difference = differences.begin();
  const auto put_until = [&](std::uint64_t slot) {
    for (; difference != differences.end() && difference->slot < slot; ++difference) {
      if (!difference->removed) entries.push_back({difference->slot, {}});
    }
  };
  for (const IndexEntry& entry : stored->entries()) {
    put_until(entry.slot);
    if (difference != differences.end() && difference->slot == entry.slot) {
      if (!difference->removed) entries.push_back({entry.slot, {}});
      ++difference;
    } else {
      entries.push_back(entry);
    }
  }
  put_until(~std::uint64_t{0});
  if (difference != differences.end() && !difference->removed) {
    entries.push_back({difference->slot, {}});
  }
  return std::make_shared<const IndexPage>(std::move(entries));
}

Result<ShardGenerationPtr> ShardedTree::AfterPublishes(const ShardGenerationPtr& seen) const {
  if (unpublished() == nullptr) return seen;
  return shards().Current(seen->shard, CallerDeadline(), ShardSet::Trust::kUncontradicted);
}

Result<std::shared_ptr<const IndexPage>> ShardedTree::PageAfterPublishes(
    ShardGenerationPtr& generation, std::uint64_t page) const {
  UNSHARD_ASSIGN_OR_RETURN(generation, AfterPublishes(generation));
  for (int i = 1;; ++i) {
    auto loaded = shards().Page(generation, page, CallerDeadline());
    if (loaded || loaded.error().code != ErrorCode::kConflict || i == kTriesOfPage) return loaded;
    UNSHARD_ASSIGN_OR_RETURN(generation, shards().Current(generation->shard, CallerDeadline()));
  }
}

std::vector<UnpublishedChunks::Difference> ShardedTree::UnpublishedInPage(
    std::uint64_t shard, std::uint64_t page, std::uint64_t first, std::uint64_t last) const {
  if (unpublished() == nullptr || unpublished()->empty()) return {};
  return unpublished()->InPage(ordinal(), shard, page, first, last);
}

std::vector<std::uint64_t> ShardedTree::UnpublishedShards() const {
  if (unpublished() == nullptr || unpublished()->empty()) return {};
  return unpublished()->Shards(ordinal());
}

std::vector<std::uint64_t> ShardedTree::UnpublishedPages(std::uint64_t shard) const {
  if (unpublished() == nullptr || unpublished()->empty()) return {};
  return unpublished()->Pages(ordinal(), shard);
}

}  // namespace unshard
