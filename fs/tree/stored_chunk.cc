#include "fs/tree/stored_chunk.h"

#include "fs/common/request_failures.h"
#include "fs/tree/free_node.h"
#include "fs/tree/superblock.h"
#include "fs/tree/written_chunk.h"

namespace unshard {
namespace {

std::string IdentityOf(const ChunkTree& tree, const ChunkRef& chunk,
                       const ShardGeneration& generation) {
  return "k:" + std::to_string(tree.ordinal()) + ':' + std::to_string(generation.shard) + ':' +
         std::to_string(generation.count) + ':' + std::to_string(chunk.slot.page) + ':' +
         std::to_string(chunk.slot.slot) + ':' + std::to_string(static_cast<int>(chunk.part));
}

std::uint64_t StoredInode(const ChunkTree& tree, const ChunkRef& chunk) {
  const auto position = tree.Position(chunk);
  if (position && PackGridNode({tree.ordinal(), 0, *position})) {
    return GridInode({tree.ordinal(), 0, *position});
  }
  return StableInode("k:" + JoinPath(tree.directory(), tree.Path(chunk)));
}

}  // namespace

std::uint64_t InodeOfChunk(const Superblock& superblock, const ChunkTree& tree,
                           const ChunkRef& chunk) {
  if (superblock.writable()) {
    const WrittenVersionPtr version = superblock.parts.written->Find(ChunkId::Of(tree, chunk));
    if (version && version->inode != 0) return version->inode;
  }
  return StoredInode(tree, chunk);
}

Entry ReferStoredChunk(Superblock& superblock, const std::shared_ptr<ChunkTree>& tree,
                       const ChunkRef& chunk, const ChunkFacts& facts, NodeUse use) {
  const ShardGeneration& generation = *facts.generation;
  const Attributes attributes{StoredInode(*tree, chunk), facts.size,
                              ShownTime(superblock, *tree, chunk, generation), false};
  tree->shards().AddReference(facts.generation);
  const auto position = use == NodeUse::kCached ? tree->Position(chunk) : std::nullopt;
  if (position) {
    const auto id = PackGridNode({tree->ordinal(), generation.count, *position});
    if (id && !superblock.open_versions.IsTaken(*id)) {
      return Entry{*id, attributes, superblock.Timeout()};
    }
  }
  return ReferFreeNode(superblock, IdentityOf(*tree, chunk, generation), use, attributes,
                       [&](NodeId id, NodeUse as) {
                         return std::make_shared<StoredChunkNode>(
                             superblock, id, attributes.inode, tree, chunk,
                             StoredChunkNode::Stored{generation.count, false}, as);
                       });
}

std::optional<Entry> ReferArithmetic(const std::shared_ptr<ChunkTree>& tree,
                                     const ChunkRef& chunk) {
  if (chunk.part != ChunkPart::kPlain) return std::nullopt;
  const auto position = tree->Position(chunk);
  const auto generation = tree->shards().Current(chunk.slot.shard, CallerDeadline());
  if (!position || !generation) return std::nullopt;
  const GridNode grid{tree->ordinal(), (*generation)->count, *position};
  const auto id = PackGridNode(grid);
  if (!id) return std::nullopt;
  tree->shards().AddReference(*generation);
  return Entry{*id, {GridInode(grid), 0, {}, false}, 0};
}

ChunkNode::Seen StoredChunkNode::Look() const {
  Seen seen{Latest(), false};
  seen.current =
      !seen.latest || (stored_.arithmetic && seen.latest->first && !seen.latest->removed);
  return seen;
}

bool StoredChunkNode::IsUnremembered(const Seen& seen) const {
  if (use() != NodeUse::kCached) return true;
  return stored_.arithmetic && seen.latest && seen.current && !seen.latest->remembered;
}

Result<ShardGenerationPtr> StoredChunkNode::Generation() {
  return tree()->shards().Find(chunk().slot.shard, stored_.generation_number);
}

Result<Entry> StoredChunkNode::Stat() {
  const Superblock& sb = superblock();
  if (stored_.arithmetic && sb.writable()) {
    const Seen seen = Look();
    if (seen.latest && seen.current) {
      const std::uint64_t own = seen.latest->inode;
      return Entry{id(),
                   {own != 0 ? own : inode(), seen.latest->size,
                    sb.parts.written->ModifiedOf(*seen.latest), false},
                   sb.Timeout()};
    }
  }
  UNSHARD_ASSIGN_OR_RETURN(const ShardGenerationPtr generation, Generation());
  if (!generation) return LookAgain();
  UNSHARD_ASSIGN_OR_RETURN(const auto facts,
                           superblock().reader.FindIn(*tree(), chunk(), generation));
  if (!facts) return LookAgain();
  return Entry{id(),
               {inode(), facts->size, ShownTime(sb, *tree(), chunk(), *generation), false},
               sb.Timeout()};
}

Result<FilePiece> StoredChunkNode::Read(std::uint64_t offset, std::uint64_t size) {
  UNSHARD_ASSIGN_OR_RETURN(const ShardGenerationPtr generation, Generation());
  if (!generation) return tl::unexpected<Error>(StaleNode());
  return superblock().reader.Read(*tree(), chunk(), generation, offset, size);
}

// The generation first, then once more whether a version was committed meanwhile.
Result<std::optional<ChunkNode::Version>> StoredChunkNode::OpenVersion(const Seen& seen) {
  Superblock& sb = superblock();
  const bool remembered = use() == NodeUse::kCached;
  if (remembered && !seen.current) return std::nullopt;
  if (stored_.arithmetic && seen.latest) {
    const std::uint64_t own = seen.latest->inode;
    return OpenWritten(sb, seen.latest, own != 0 ? own : inode());
  }
  UNSHARD_ASSIGN_OR_RETURN(const ShardGenerationPtr generation, Generation());
  if (!generation) return std::nullopt;
  UNSHARD_ASSIGN_OR_RETURN(const auto facts, sb.reader.FindIn(*tree(), chunk(), generation));
  const bool later = remembered && Latest() != nullptr;
  if (later || !facts) return std::nullopt;
  return Version{MakeStoredContent(sb.reader, tree(), chunk(), *facts),
                 {inode(), facts->size, ShownTime(sb, *tree(), chunk(), *generation)}};
}

void StoredChunkNode::ReferAgain() {
  const auto generation = tree()->shards().Find(chunk().slot.shard, stored_.generation_number);
  if (generation) tree()->shards().AddReference(generation);
}

void StoredChunkNode::Forget(std::uint64_t references) {
  tree()->shards().DropReferences(chunk().slot.shard, stored_.generation_number, references);
}

}  // namespace unshard
