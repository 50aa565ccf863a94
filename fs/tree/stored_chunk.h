// A chunk as one generation of its shard holds it.
#pragma once

#include "fs/tree/chunk_node.h"

namespace unshard {

// Each reference of the kernel's is a reference to the shard's generation.
class StoredChunkNode final : public ChunkNode {
 public:
  // `arithmetic`: the number identifies the node, which is made for each request. Such a node is
  // also that of the first written version of an absent chunk.
  struct Stored {
    std::uint32_t generation_number = 0;
    bool arithmetic = false;
  };
  StoredChunkNode(Superblock& superblock, NodeId id, std::uint64_t inode,
                  std::shared_ptr<ChunkTree> tree, const ChunkRef& chunk, const Stored& stored,
                  NodeUse use = NodeUse::kCached)
      : ChunkNode(superblock, id, inode, std::move(tree), chunk, use), stored_(stored) {}

  Result<FilePiece> Read(std::uint64_t offset, std::uint64_t size) override;
  Status Load() override;
  [[nodiscard]] Seen FindLatest() const override;
  [[nodiscard]] bool IsUnremembered(const Seen& seen) const override;
  Result<std::optional<Version>> OpenVersion(const Seen& seen) override;
  void ReferAgain() override;
  void Forget(std::uint64_t references) override;

 protected:
  Result<Entry> Stat() override;
  Result<std::optional<ChunkGeneration>> Generation() override;

 private:
  const Stored stored_;
};

// The entry of a chunk's node in the generation of `facts`; adds a reference to that.
Entry ReferStoredChunk(Superblock& superblock, const std::shared_ptr<ChunkTree>& tree,
                       const ChunkRef& chunk, const ChunkFacts& facts, NodeUse use);
// The entry of a chunk's arithmetic node in the present generation of its shard, whether or not it
// holds the chunk; nothing where it has none. A caller that does not answer with it drops the
// reference with Superblock::Forget.
std::optional<Entry> ReferArithmetic(const std::shared_ptr<ChunkTree>& tree, const ChunkRef& chunk);
// st_ino of a chunk, the same for all its nodes: that of the version written last, where it has
// one.
std::uint64_t InodeOfChunk(const Superblock& superblock, const ChunkTree& tree,
                           const ChunkRef& chunk);

}  // namespace unshard
