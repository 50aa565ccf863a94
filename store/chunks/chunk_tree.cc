#include "store/chunks/chunk_tree.h"

namespace unshard {

ChunkTree::Match ChunkTree::Resolve(const GridDirectory& in, std::string_view name) const {
  const NameMeaning meaning = names().Parse(in, name);
  Match match{meaning.kind, meaning.directory, {}};
  if (meaning.kind == NameKind::kChunk) match.chunk = {Locate(meaning.chunk), meaning.chunk.part};
  return match;
}

std::string ChunkTree::Path(const ChunkRef& chunk) const {
  auto file = ChunkAt(chunk.slot);
  if (!file) return {};
  file->part = chunk.part;
  return names().Path(*file);
}

GridDirectory ChunkTree::Parent(const ChunkRef& chunk) const {
  const auto file = depth() > 0 ? ChunkAt(chunk.slot) : std::nullopt;
  return file ? names().Parent(*file) : GridDirectory{};
}

std::optional<std::uint64_t> ChunkTree::FixedSize(const ChunkRef& chunk) const {
  if (chunk.part == ChunkPart::kFragments) return std::nullopt;
  return check().FixedSize(CellOf(chunk));
}

bool ChunkTree::HoldsNothing(const ShardGeneration& generation, const IndexPage& page) {
  return page.entries().empty() && generation.object->info().size == 0;
}

bool ChunkTree::IsShardKey(std::string_view key) const {
  return shards_->keys().Parse(key).has_value();
}

Status ChunkTree::ForEachPresent(const ShardGenerationPtr& generation,
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

Result<std::shared_ptr<const IndexPage>> ChunkTree::ShownPage(const ShardGenerationPtr& generation,
                                                              std::uint64_t page) const {
  UNSHARD_ASSIGN_OR_RETURN(auto stored, shards().Page(generation, page, CallerDeadline()));
  const auto differences = UnpublishedInPage(generation->shard, page, 0, ~std::uint64_t{0});
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

std::vector<UnpublishedChunks::Difference> ChunkTree::UnpublishedInPage(std::uint64_t shard,
                                                                        std::uint64_t page,
                                                                        std::uint64_t first,
                                                                        std::uint64_t last) const {
  if (!unpublished_ || unpublished_->empty()) return {};
  return unpublished_->InPage(ordinal_, shard, page, first, last);
}

std::vector<std::uint64_t> ChunkTree::UnpublishedShards() const {
  if (!unpublished_ || unpublished_->empty()) return {};
  return unpublished_->Shards(ordinal_);
}

std::vector<std::uint64_t> ChunkTree::UnpublishedPages(std::uint64_t shard) const {
  if (!unpublished_ || unpublished_->empty()) return {};
  return unpublished_->Pages(ordinal_, shard);
}

bool ChunkTree::HoldsWritten(const GridDirectory& in) const {
  return unpublished_ && unpublished_->HoldsChunks(ordinal_, in);
}

}  // namespace unshard
