#include "fs/tree/chunk_dentries.h"

#include "fs/tree/grid_directory.h"
#include "fs/tree/superblock.h"

namespace unshard {

bool MayBeRemembered(Superblock& superblock, const StagedInode::Chunk& chunk) {
  if (chunk.gzipped) return false;
  // A chunk written under "<name>.gz" may have an older dentry of its other name.
  if (chunk.tree->TakesGzipNames()) return true;
  const auto version = superblock.parts.written->Find(ChunkId::Of(*chunk.tree, chunk.chunk));
  return !version || version->remembered;
}

bool PlainNameIsRemembered(Superblock& superblock, const StagedInode::Chunk& chunk) {
  if (!chunk.gzipped) return false;
  const ChunkId id = ChunkId::Of(*chunk.tree, chunk.chunk);
  superblock.choice.Wrote(id);
  if (const auto version = superblock.parts.written->Find(id)) return version->remembered;
  const ChunkRef bare = chunk.chunk.With(ChunkPart::kPlain);
  const auto facts = chunk.tree->chunks().Latest(bare);
  return !facts || *facts;
}

void DropPlainName(Superblock& superblock, const ChunkTree& tree, const ChunkRef& chunk) {
  const ChunkRef bare = chunk.With(ChunkPart::kPlain);
  const auto parent = KnownNode(superblock, tree, tree.Parent(bare));
  const auto& drop = superblock.writing.drop_entry;
  if (parent && drop) drop(*parent, BaseName(tree.Path(bare)));
}

void AwaitDrop(Superblock& superblock, const ChunkTree& tree, const ChunkRef& chunk) {
  const auto parent = KnownNode(superblock, tree, tree.Parent(chunk));
  const WriteNotifications& writing = superblock.writing;
  if (!parent || !writing.drop_entry || !writing.await_drop) return;
  const std::string name = BaseName(tree.Path(chunk));
  writing.drop_entry(*parent, name);
  RequestEpoch::Outside([&] { writing.await_drop(*parent, name); });
}

}  // namespace unshard
