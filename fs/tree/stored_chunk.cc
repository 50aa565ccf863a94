#include "fs/tree/stored_chunk.h"

#include "fs/common/request_failures.h"
#include "fs/tree/free_node.h"
#include "fs/tree/superblock.h"
#include "fs/tree/written_chunk.h"

namespace unshard {
namespace {

std::string IdentityOf(const ChunkTree& tree, const ChunkRef& chunk,
                       const ChunkGeneration& generation) {
  return "k:" + std::to_string(tree.ordinal()) + ':' + std::to_string(generation.number) + ':' +
         tree.Path(chunk);
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
  const ChunkGeneration& generation = facts.generation;
  const Attributes attributes{StoredInode(*tree, chunk), facts.size,
                              PresentedTime(superblock, *tree, chunk, generation), false};
  tree->chunks().AddReference(facts.generation);
  const auto position = use == NodeUse::kCached ? tree->Position(chunk) : std::nullopt;
  if (position) {
    const auto id = PackGridNode({tree->ordinal(), generation.number, *position});
    if (id && !superblock.open_versions.IsWriters(*id)) {
      return Entry{*id, attributes, superblock.Timeout()};
    }
  }
  return ReferFreeNode(superblock, IdentityOf(*tree, chunk, generation), use, attributes,
                       [&](NodeId id, NodeUse as) {
                         return std::make_shared<StoredChunkNode>(
                             superblock, id, attributes.inode, tree, chunk,
                             StoredChunkNode::Stored{generation.number, false}, as);
                       });
}

std::optional<Entry> ReferArithmetic(const std::shared_ptr<ChunkTree>& tree,
                                     const ChunkRef& chunk) {
  if (chunk.part != ChunkPart::kPlain) return std::nullopt;
  const auto position = tree->Position(chunk);
  const auto generation = tree->chunks().Current(chunk, CallerDeadline());
  if (!position || !generation) return std::nullopt;
  const GridNode grid{tree->ordinal(), generation->number, *position};
  const auto id = PackGridNode(grid);
  if (!id) return std::nullopt;
  tree->chunks().AddReference(*generation);
  return Entry{*id, {GridInode(grid), 0, {}, false}, 0};
}

ChunkNode::Seen StoredChunkNode::FindLatest() const {
  Seen seen{Latest(), false};
  seen.current =
      !seen.latest || (stored_.arithmetic && seen.latest->first && !seen.latest->removed);
  return seen;
}

bool StoredChunkNode::IsUnremembered(const Seen& seen) const {
  if (use() != NodeUse::kCached) return true;
  return stored_.arithmetic && seen.latest && seen.current && !seen.latest->remembered;
}

Result<std::optional<ChunkGeneration>> StoredChunkNode::Generation() {
  return tree()->chunks().Find(chunk(), stored_.generation_number);
}

Result<Entry> StoredChunkNode::Stat() {
  const Superblock& sb = superblock();
  if (stored_.arithmetic && sb.writable()) {
    const Seen seen = FindLatest();
    if (seen.latest && seen.current) {
      const std::uint64_t own = seen.latest->inode;
      return Entry{id(),
                   {own != 0 ? own : inode(), seen.latest->size,
                    sb.parts.written->ModifiedOf(*seen.latest), false},
                   sb.Timeout()};
    }
  }
  UNSHARD_ASSIGN_OR_RETURN(const auto generation, Generation());
  if (!generation) return StaleName();
  UNSHARD_ASSIGN_OR_RETURN(const auto facts, tree()->chunks().LatestIn(chunk(), *generation));
  if (!facts) return StaleName();
  return Entry{id(),
               {inode(), facts->size, PresentedTime(sb, *tree(), chunk(), *generation), false},
               sb.Timeout()};
}

Result<FilePiece> StoredChunkNode::Read(std::uint64_t offset, std::uint64_t size) {
  UNSHARD_ASSIGN_OR_RETURN(const auto generation, Generation());
  if (!generation) return tl::unexpected<Error>(StaleNode());
  return tree()->chunks().Read(chunk(), *generation, offset, size);
}

Status StoredChunkNode::Load() {
  UNSHARD_ASSIGN_OR_RETURN(const auto generation, Generation());
  if (!generation) return StaleName();
  UNSHARD_ASSIGN_OR_RETURN(const auto facts, tree()->chunks().LatestIn(chunk(), *generation));
  const Status loaded = facts ? tree()->chunks().Load(chunk(), *facts) : Status();
  if (!facts || (!loaded && loaded.error().code == ErrorCode::kConflict)) return StaleName();
  return loaded;
}

// Opens the generation, and then checks again whether a version was committed meanwhile.
Result<std::optional<ChunkNode::Version>> StoredChunkNode::OpenVersion(const Seen& seen) {
  Superblock& sb = superblock();
  const bool remembered = use() == NodeUse::kCached;
  if (remembered && !seen.current) return std::nullopt;
  if (stored_.arithmetic && seen.latest) {
    const std::uint64_t own = seen.latest->inode;
    return OpenWritten(sb, *this, seen.latest, own != 0 ? own : inode());
  }
  UNSHARD_ASSIGN_OR_RETURN(const auto generation, Generation());
  if (!generation) return std::nullopt;
  UNSHARD_ASSIGN_OR_RETURN(const auto facts, tree()->chunks().LatestIn(chunk(), *generation));
  const bool later = remembered && Latest() != nullptr;
  if (later || !facts) return std::nullopt;
  if (!sb.parts.store->capabilities().keeps_replaced_versions) {
    const Status loaded = tree()->chunks().Load(chunk(), *facts);
    if (!loaded && loaded.error().code == ErrorCode::kConflict) return std::nullopt;
  }
  auto content = OpenStoredContent(tree(), chunk(), *facts);
  if (!content && content.error().code == ErrorCode::kConflict) return std::nullopt;
  if (!content) return tl::unexpected<Error>(std::move(content).error());
  return Version{*std::move(content),
                 {inode(), facts->size, PresentedTime(sb, *tree(), chunk(), *generation)}};
}

void StoredChunkNode::ReferAgain() {
  const auto generation = tree()->chunks().Find(chunk(), stored_.generation_number);
  if (generation) tree()->chunks().AddReference(*generation);
}

void StoredChunkNode::Forget(std::uint64_t references) {
  tree()->chunks().DropReferences(chunk(), stored_.generation_number, references);
}

}  // namespace unshard
