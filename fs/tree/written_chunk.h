// Chunk files with versions that were written through this mount.
#pragma once

#include <memory>

#include "fs/tree/chunk_node.h"

namespace unshard {

// One committed version of a chunk.
class WrittenChunk final : public ChunkNode {
 public:
  struct Written {
    std::shared_ptr<ChunkTree> tree;  // that presents it
    ChunkRef chunk;
    WrittenVersionPtr version;
    std::uint64_t size = 0;  // as it is presented
  };
  // `gzipped`: "<chunk>.gz" of this version; null: the chunk itself.
  WrittenChunk(Superblock& superblock, NodeId id, std::uint64_t inode, const Written& written,
               ContentPtr gzipped, NodeUse use);

  [[nodiscard]] Seen FindLatest() const override;
  [[nodiscard]] bool gzipped() const override { return gzipped_ != nullptr; }
  Result<std::optional<Version>> OpenVersion(const Seen& seen) override;

 protected:
  Result<Entry> Stat() override;
  // After the publish the shard has the version, unless a later one has replaced it.
  Result<std::optional<ChunkGeneration>> Generation() override;

 private:
  const WrittenVersionPtr version_;
  const std::uint64_t size_;
  const ContentPtr gzipped_;
};

// The bytes of a written version, for `node` and with this st_ino. Nothing where they are gone.
Result<std::optional<ChunkNode::Version>> OpenWritten(const Superblock& superblock,
                                                      const ChunkNode& node,
                                                      const WrittenVersionPtr& version,
                                                      std::uint64_t inode);

// The name of a chunk that is being written and has no committed version: it can be removed, and be
// opened for writing. Readers never get uncommitted bytes.
class UncommittedChunk final : public ChunkNode {
 public:
  UncommittedChunk(Superblock& superblock, NodeId id, std::uint64_t inode,
                   std::shared_ptr<ChunkTree> tree, const ChunkRef& chunk,
                   std::shared_ptr<StagedInode> staged)
      : ChunkNode(superblock, id, inode, std::move(tree), chunk, NodeUse::kOwn),
        staged_(std::move(staged)) {}

  [[nodiscard]] Seen FindLatest() const override { return {}; }
  // NotCommitted; nothing once there is a version.
  Result<std::optional<Version>> OpenVersion(const Seen& seen) override;
  [[nodiscard]] std::vector<std::string> ExtendedAttributes() override { return {}; }

 protected:
  Result<Entry> Stat() override;

 private:
  const std::shared_ptr<StagedInode> staged_;
};

}  // namespace unshard
