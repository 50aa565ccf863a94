// Follows changes of the source: invalidates what the kernel keeps of them.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fs/tree/superblock.h"
#include "store/object/change_watcher.h"

namespace unshard {

// What the kernel is notified of. Called from the invalidating thread only.
class KernelNotifier {
 public:
  virtual ~KernelNotifier() = default;
  // FUSE_NOTIFY_INVAL_ENTRY: a dentry is dropped.
  virtual void InvalidateEntry(NodeId parent, const std::string& name) = 0;
  // FUSE_NOTIFY_INVAL_INODE: attributes, pages and a kept listing are dropped.
  virtual void InvalidateInode(NodeId node) = 0;
};

// Used by the invalidating thread only.
class KernelInvalidation {
 public:
  KernelInvalidation(Superblock& superblock, KernelNotifier& notifier)
      : superblock_(superblock), notifier_(notifier) {}

  // Revalidates what may have changed under `event`, and notifies the kernel. Returns the
  // keys of metadata that could not be read for a reason that may pass: what the kernel keeps of
  // them stays until these are given to Refresh() as events once more.
  std::vector<std::string> Refresh(const ChangeWatcher::Event& event);
  // The kernel drops the pages of a node. An arithmetic node that no writer has any more is that of
  // the committed version again from then on.
  void DropPages(NodeId node);

 private:
  using TreePtr = std::shared_ptr<ChunkTree>;

  // The node of a directory of the source, if the kernel refers to it.
  [[nodiscard]] std::optional<NodeId> NodeOf(const std::string& directory) const;
  void Invalidate(std::optional<NodeId> node);

  // False where nothing that is presented depends on the key, or its shard still has the generation
  // that was announced, as after each of our own publishes.
  bool RefreshTree(const TreePtr& tree, const ChangeWatcher::Event& event);
  void RefreshAll(const ChangeWatcher::Event& event);
  void Reload(const std::string& directory);
  void RefreshDocuments(const std::string& directory);
  void RefreshDirectories(const TreePtr& tree, const std::string& key, bool drop_names);
  void RefreshAllDirectories(const TreePtr& tree);
  void RefreshFirstLevel(const TreePtr& tree);
  void RefreshPath(const std::string& path);
  void RefreshListing(const std::string& path);
  void AnnounceChange(const TreePtr& tree, const ChunkChange& change);
  bool DropChunk(ChunkTree& tree, const ChunkRef& chunk, NodeId parent);
  void DropDirectory(const TreePtr& tree, const GridDirectory& in);
  void DropListings(const ChunkTree& tree, GridDirectory in);

  Superblock& superblock_;
  KernelNotifier& notifier_;
  std::vector<std::string> unread_;
};

}  // namespace unshard
