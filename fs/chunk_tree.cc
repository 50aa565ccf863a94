#include "fs/chunk_tree.h"

namespace unshard {

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
    UNSHARD_ASSIGN_OR_RETURN(const auto index_page, shards_->Page(generation, page));
    if (HoldsNothing(*generation, *index_page)) return {};
    for (const IndexEntry& entry : index_page->entries()) {
      visitor(ChunkRef{{generation->shard, page, entry.slot}, ChunkPart::kPlain});
    }
  }
  return {};
}

}  // namespace unshard
