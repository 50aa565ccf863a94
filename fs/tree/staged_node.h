// The node of a file that is being written: scratch, the next version of a chunk, or of a document.
#pragma once

#include <memory>

#include "fs/tree/node.h"
#include "fs/write/staged_inode.h"

namespace unshard {

// The node of a staged inode that has not taken over the node of what it replaces.
class StagedNode final : public Node {
 public:
  StagedNode(Superblock& superblock, NodeId id, std::shared_ptr<StagedInode> staged)
      : Node(superblock, id, staged->inode()), staged_(std::move(staged)) {}

  [[nodiscard]] std::string Path() const override;
  Result<OpenFilePtr> Open(const OpenRequest& request) override;
  [[nodiscard]] std::shared_ptr<StagedInode> Staged() const override { return staged_; }

 protected:
  Result<Entry> Stat() override;

 private:
  const std::shared_ptr<StagedInode> staged_;
};

// The entry of a staged inode's node: the node that it was created at, or has taken over, else a
// node of its own. Adds a reference.
Entry ReferStaged(Superblock& superblock, const std::shared_ptr<StagedInode>& staged);
// Its entry with the number `node`.
Entry StagedEntry(const Superblock& superblock, NodeId node,
                  const std::shared_ptr<StagedInode>& staged);
// SETATTR of a staged inode. Through a file (`file` not null) as ftruncate(2); else it is truncated
// by path, which commits it as a close would.
Result<Entry> SetStagedAttributes(Superblock& superblock, NodeId node,
                                  const std::shared_ptr<StagedInode>& staged, const OpenFile* file,
                                  const AttributeChange& change);
// One more open file on a staged inode, at `node`.
Result<OpenFilePtr> OpenStaged(Superblock& superblock, NodeId node,
                               const std::shared_ptr<StagedInode>& staged,
                               const OpenRequest& request);
// Commits it with another purpose: as a version of that chunk, or of that document. It keeps its
// former purpose where that fails.
Status CommitAs(Superblock& superblock, const std::shared_ptr<StagedInode>& staged,
                StagedInode::Purpose purpose);

}  // namespace unshard
