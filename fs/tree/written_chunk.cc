#include "fs/tree/written_chunk.h"

#include "fs/common/request_failures.h"
#include "fs/tree/staged_node.h"
#include "fs/tree/superblock.h"

namespace unshard {

Result<std::optional<ChunkNode::Version>> OpenWritten(const Superblock& superblock,
                                                      const ChunkNode& node,
                                                      const WrittenVersionPtr& version,
                                                      std::uint64_t inode) {
  const ChunkRef chunk = node.chunk().With(WrittenPart(node.chunk().part));
  auto content = superblock.writes->current().ContentIn(node.tree(), chunk, version);
  if (!content && content.error().code == ErrorCode::kConflict) return std::nullopt;
  if (!content) return tl::unexpected<Error>(content.error());
  if (!*content) return std::nullopt;
  // Of what is published the bytes are read now, as those of other stored chunks.
  if (!superblock.parts.store->capabilities().keeps_replaced_versions) {
    const auto read = (*content)->Read(0, 1);
    if (!read && read.error().code == ErrorCode::kConflict) return std::nullopt;
  }
  const std::uint64_t size = (*content)->size();
  return ChunkNode::Version{*std::move(content),
                            {inode, size, superblock.parts.written->ModifiedOf(*version)}};
}

WrittenChunk::WrittenChunk(Superblock& superblock, NodeId id, std::uint64_t inode,
                           const Written& written, ContentPtr gzipped, NodeUse use)
    : ChunkNode(superblock, id, inode, written.tree, written.version->chunk, use),
      version_(written.version),
      size_(written.size),
      gzipped_(std::move(gzipped)) {}

ChunkNode::Seen WrittenChunk::FindLatest() const {
  Seen seen{Latest(), false};
  seen.current = seen.latest == version_;
  return seen;
}

Result<Entry> WrittenChunk::Stat() {
  const std::uint64_t size = gzipped_ ? gzipped_->size() : size_;
  return Entry{id(),
               {inode(), size, superblock().parts.written->ModifiedOf(*version_), false},
               superblock().Timeout()};
}

Result<std::optional<ChunkNode::Version>> WrittenChunk::OpenVersion(const Seen& seen) {
  if (gzipped_) {
    const timespec modified = superblock().parts.written->ModifiedOf(*version_);
    return Version{gzipped_, {inode(), gzipped_->size(), modified}};
  }
  if (use() == NodeUse::kCached && !seen.current) return std::nullopt;
  return OpenWritten(superblock(), *this, version_, inode());
}

Result<std::optional<ChunkGeneration>> WrittenChunk::Generation() {
  if (superblock().parts.written->SpooledOf(*version_) || Latest() != version_) return std::nullopt;
  return tree()->chunks().Current(chunk(), CallerDeadline());
}

Result<Entry> UncommittedChunk::Stat() {
  Entry entry = StagedEntry(superblock(), id(), staged_);
  entry.attributes_milliseconds = 0;
  return entry;
}

Result<std::optional<ChunkNode::Version>> UncommittedChunk::OpenVersion(const Seen&) {
  UNSHARD_ASSIGN_OR_RETURN(const ContentPtr now,
                           superblock().writes->current().Current(tree(), chunk()));
  if (now) return std::nullopt;
  return NotCommitted();
}

}  // namespace unshard
