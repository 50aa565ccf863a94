// Following changes of the source.
//
// 1. A watcher's event names a key. Trees that it concerns look again at their shards; from then on
//    every new look-up is answered by the new generation.
// 2. Answers that were computed before step 1 are waited for until they have reached the kernel.
// 3. The kernel is told to look up again: each chunk that the old or the new generation holds, and
//    the directories that came or went. What neither holds was absent and is absent.
// 4. Who still has an old node open goes on reading its generation, whole: old and new have
//    different node numbers, and the old shard stays open as long as the kernel refers to it.
#include <set>

#include "fs/volume_fs.h"

namespace unshard {
namespace {

bool Concerns(const std::string& key, const std::string& directory) {
  return IsAtOrBelow(key, directory) || IsAtOrBelow(directory, key);
}

}  // namespace

void VolumeFs::Refresh(const ChangeWatcher::Event& event, KernelNotifier& notifier) {
  bool shown = true;
  for (const auto& tree : parts_.datasets->trees()) {
    if (event.everything || Concerns(event.key, tree->directory())) {
      if (!RefreshTree(tree, event, notifier)) shown = false;
    }
  }
  if (!shown) return;
  if (event.everything) {
    for (const std::string& path : nodes_.SourcePaths()) RefreshPath(path, notifier);
    return;
  }
  const std::string name = BaseName(event.key);
  if (name == "info" || name == "zarr.json") {
    const std::string directory = ParentPath(event.key);
    if (parts_.datasets->Reload(directory)) {
      for (const std::string& path : nodes_.SourcePaths()) {
        if (Concerns(path, directory)) RefreshPath(path, notifier);
      }
      for (const auto& tree : parts_.datasets->trees()) {
        if (Concerns(tree->directory(), directory)) TellFirstLevel(tree, notifier);
      }
    }
  }
  RefreshPath(event.key, notifier);
}

// The kernel keeps what is in use below a directory that it looks up again, and would go on to find
// the directories of a tree that was replaced.
void VolumeFs::TellFirstLevel(const std::shared_ptr<ChunkTree>& tree, KernelNotifier& notifier) {
  if (tree->depth() == 0) return;
  const auto tell = [&](const ChunkTree::Listed& listed) {
    if (listed.match.kind == ChunkTree::Match::Kind::kDirectory) {
      TellDirectories(tree, listed.match.directory, notifier);
    }
    return true;
  };
  const auto listed = tree->List({}, 0, ListMode::kPresent, tell, [](const Error&) {});
  if (!listed) RefreshPath(tree->directory(), notifier);
}

void VolumeFs::RefreshPath(const std::string& path, KernelNotifier& notifier) {
  const std::string directory = ParentPath(path);
  epoch_.WaitForRunning();
  const auto parent = nodes_.Find("d:" + directory);
  if (!parent) return;
  if (!path.empty()) notifier.InvalidateEntry(*parent, BaseName(path));
  notifier.InvalidateInode(*parent);
}

// False where the key stands for nothing that is shown, or for a shard that shows what was told
// before: that is all that our own publishes leave.
bool VolumeFs::RefreshTree(const std::shared_ptr<ChunkTree>& tree,
                           const ChangeWatcher::Event& event, KernelNotifier& notifier) {
  bool settled = false;
  const auto changes =
      tree->shards().Invalidate(event.everything ? std::string() : event.key, &settled);
  tree->ForgetListings();
  if (settled) return false;
  epoch_.WaitForRunning();
  if (event.everything) {
    RefreshAllDirectories(tree, notifier);
  } else {
    RefreshDirectories(tree, event.key, notifier);
  }
  if (!changes.empty()) ForgetRemovedDirectories(*tree);
  for (const ShardSet::Change& change : changes) {
    counters_.shards_changed.fetch_add(1, std::memory_order_relaxed);
    if (writes_) writes_->ShardReplaced({tree->ordinal(), change.shard});
    TellChange(tree, change, notifier);
  }
  return true;
}

// What somebody else has put there is shown again.
void VolumeFs::ForgetRemovedDirectories(const ChunkTree& tree) {
  const std::string prefix = tree.directory().empty() ? "" : tree.directory() + "/";
  const std::lock_guard lock(directories_mutex_);
  std::erase_if(removed_, [&](const std::string& path) { return path.starts_with(prefix); });
}

// Directories of the tree that stand on a directory of the store come, go and are listed with it,
// also where no shard in them is in use.
void VolumeFs::RefreshDirectories(const std::shared_ptr<ChunkTree>& tree, const std::string& key,
                                  KernelNotifier& notifier) {
  const std::string& directory = tree->directory();
  if (key.size() <= directory.size() || !Concerns(key, directory)) return;
  const std::string below = key.substr(directory.empty() ? 0 : directory.size() + 1);
  tree->ForEachDirectoryAt(below,
                           [&](const GridDirectory& in) { TellDirectories(tree, in, notifier); });
  tree->ForEachDirectoryAt(ParentPath(below), [&](const GridDirectory& in) {
    if (const auto node = KnownNode(*tree, in)) notifier.InvalidateInode(*node);
  });
}

// With a name the kernel drops all that it knows below.
void VolumeFs::RefreshAllDirectories(const std::shared_ptr<ChunkTree>& tree,
                                     KernelNotifier& notifier) {
  if (tree->depth() == 0) return;
  const auto tell = [&](const ChunkTree::Listed& listed) {
    TellDirectories(tree, listed.match.directory, notifier);
    return true;
  };
  tree->List({}, 0, ListMode::kGrid, tell, [](const Error&) {});
}

std::optional<NodeId> VolumeFs::KnownNode(const ChunkTree& tree, const GridDirectory& in) const {
  if (in.level == 0) return nodes_.Find("d:" + tree.directory());
  if (const auto position = tree.Position(in)) {
    if (const auto id = PackGridNode({tree.ordinal(), 0, *position})) return id;
  }
  return nodes_.Find("g:" + std::to_string(tree.ordinal()) + ':' +
                     JoinPath(tree.directory(), tree.Path(in)));
}

void VolumeFs::TellChange(const std::shared_ptr<ChunkTree>& tree, const ShardSet::Change& change,
                          KernelNotifier& notifier) {
  const bool had = change.before && change.before->object;
  const bool has = change.after && change.after->object;
  bool complete = change.before && change.after;
  std::set<std::pair<unsigned, std::uint64_t>> parents;
  const auto tell = [&](const ChunkRef& chunk) {
    const GridDirectory in = tree->Parent(chunk);
    const auto parent = KnownNode(*tree, in);
    if (!parent) return;
    const std::string name = BaseName(tree->Path(chunk));
    if (name.empty()) return;
    notifier.InvalidateEntry(*parent, name);
    if (tree->is_mesh()) {
      notifier.InvalidateEntry(*parent, BaseName(tree->Path({chunk.slot, ChunkPart::kFragments})));
    } else if (!tree->shards().format().stored_is_plain()) {
      notifier.InvalidateEntry(*parent, BaseName(tree->Path({chunk.slot, ChunkPart::kStored})));
    }
    counters_.entries_invalidated.fetch_add(1, std::memory_order_relaxed);
    if (parents.emplace(in.level, in.prefix).second) notifier.InvalidateInode(*parent);
  };
  for (const ShardGenerationPtr& generation : {change.before, change.after}) {
    if (!tree->ForEachPresent(generation, tell)) complete = false;
  }
  if (had != has) {
    tree->ForEachDirectory(change.shard,
                           [&](const GridDirectory& in) { TellDirectories(tree, in, notifier); });
  }
  // An index that cannot be read does not say which names it has: all of them are looked up again.
  if (!complete) RefreshPath(tree->directory(), notifier);
}

void VolumeFs::TellDirectories(const std::shared_ptr<ChunkTree>& tree, const GridDirectory& in,
                               KernelNotifier& notifier) {
  if (const auto parent = KnownNode(*tree, tree->Parent(in))) {
    notifier.InvalidateEntry(*parent, BaseName(tree->Path(in)));
    notifier.InvalidateInode(*parent);
  }
  if (const auto node = KnownNode(*tree, in)) notifier.InvalidateInode(*node);
}

}  // namespace unshard
