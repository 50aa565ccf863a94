// The base of all nodes of chunk files: a chunk, and the version of it that is presented.
#pragma once

#include <ctime>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "fs/tree/node.h"
#include "fs/write/node_choice.h"
#include "fs/write/open_versions.h"
#include "store/chunks/chunk_tree.h"
#include "store/chunks/committed_versions.h"

namespace unshard {

class ChunkNode : public Node {
 public:
  ChunkNode(Superblock& superblock, NodeId id, std::uint64_t inode, std::shared_ptr<ChunkTree> tree,
            const ChunkRef& chunk, NodeUse use)
      : Node(superblock, id, inode), tree_(std::move(tree)), chunk_(chunk), use_(use) {}

  [[nodiscard]] std::string Path() const override;
  Result<Entry> SetAttributes(OpenFile* file, const AttributeChange& change, pid_t thread) override;
  Result<std::optional<std::string>> ExtendedAttribute(std::string_view name) override;
  [[nodiscard]] std::vector<std::string> ExtendedAttributes() override;
  // As fs/tree/chunk_opening.h says.
  Result<OpenFilePtr> Open(const OpenRequest& request) override;
  Result<std::optional<Version>> OpenCurrent() override { return OpenVersion(FindLatest()); }

  [[nodiscard]] const std::shared_ptr<ChunkTree>& tree() const { return tree_; }
  [[nodiscard]] const ChunkRef& chunk() const { return chunk_; }
  [[nodiscard]] ChunkId chunk_id() const { return ChunkId::Of(*tree_, chunk_); }
  // kCached: the kernel may keep a dentry that leads here.
  [[nodiscard]] NodeUse use() const { return use_; }
  // The file is a gzip file with the chunk in it.
  [[nodiscard]] virtual bool gzipped() const { return chunk_.part == ChunkPart::kStored; }

  // The latest version that was written through this mount (null: the store has the latest), and
  // whether this node is that of the version that readers get now.
  struct Seen {
    WrittenVersionPtr latest;
    bool current = false;
  };
  // Whether chunk and name were removed: a view that presents absent chunks keeps the name.
  [[nodiscard]] bool IsRemoved(const Seen& seen) const {
    return seen.latest && seen.latest->removed && !tree_->chunks().presents_absent();
  }
  [[nodiscard]] virtual Seen FindLatest() const = 0;
  // FindLatest() has found the latest version, and the kernel has no dentry of it that it uses
  // without a look-up.
  [[nodiscard]] virtual bool IsUnremembered(const Seen& seen) const;
  // Nothing where this node's version is gone and the name has to be looked up again.
  virtual Result<std::optional<Version>> OpenVersion(const Seen& seen) = 0;

 protected:
  [[nodiscard]] WrittenVersionPtr Latest() const;
  // The generation that holds this node's version; nothing where none does.
  virtual Result<std::optional<ChunkGeneration>> Generation() { return std::nullopt; }

 private:
  Result<Entry> Truncate(std::uint64_t size, pid_t thread);

  const std::shared_ptr<ChunkTree> tree_;
  const ChunkRef chunk_;
  const NodeUse use_;
};

// The modification time that readers get: what a program has set, else that of the shard.
timespec PresentedTime(const Superblock& superblock, const ChunkTree& tree, const ChunkRef& chunk,
                       const ChunkGeneration& generation);
// Sets it for a program. `latest` as in ChunkNode::Seen.
void SetPresentedTime(Superblock& superblock, ChunkTree& tree, const ChunkRef& chunk,
                      const WrittenVersionPtr& latest, const timespec& modified);

}  // namespace unshard
