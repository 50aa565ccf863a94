#include "fs/nodes/written_chunk.h"

#include "fs/common/request_failures.h"
#include "fs/nodes/staged_node.h"
#include "fs/nodes/superblock.h"

namespace unshard {

WrittenChunk::WrittenChunk(Superblock& superblock, NodeId id, std::uint64_t inode,
                           WrittenVersionPtr version, ContentPtr gzipped, NodeUse use,
                           const ContentPtr& held)
    : ChunkNode(superblock, id, inode, version->tree, version->chunk, use),
      version_(std::move(version)),
      gzipped_(std::move(gzipped)),
      held_(held) {}

ChunkNode::Seen WrittenChunk::Look() const {
  Seen seen{Latest(), false};
  seen.current = seen.latest == version_;
  return seen;
}

Result<Entry> WrittenChunk::Stat() {
  const std::uint64_t size = gzipped_ ? gzipped_->size() : version_->size;
  return Entry{id(),
               {inode(), size, superblock().parts.written->ModifiedOf(*version_), false},
               superblock().Timeout()};
}

Result<ContentPtr> WrittenChunk::Content(const Seen& seen) {
  if (gzipped_) return gzipped_;
  if (auto held = held_.lock()) return held;
  if (use() == NodeUse::kCached && !seen.current) return nullptr;
  auto content = superblock().writes->ContentOf(version_);
  if (!content && content.error().code == ErrorCode::kConflict) return nullptr;
  return content;
}

Result<ShardGenerationPtr> WrittenChunk::Generation() {
  if (superblock().parts.written->SpooledOf(*version_) || Latest() != version_) return nullptr;
  return tree()->shards().Current(chunk().slot.shard);
}

Result<Entry> UncommittedChunk::Stat() {
  Entry entry = StagedEntry(superblock(), id(), staged_);
  entry.attributes_milliseconds = 0;
  return entry;
}

Result<ContentPtr> UncommittedChunk::Content(const Seen&) {
  UNSHARD_ASSIGN_OR_RETURN(const ContentPtr now, superblock().writes->Current(tree(), chunk()));
  if (now) return nullptr;
  return NotCommitted();
}

}  // namespace unshard
