// Following changes of the source.
//
// 1. A watcher's event names a key. Trees that it concerns look again at their shards; from then on
//    every new look-up is answered by the new generation.
// 2. Answers that were computed before step 1 are waited for until they have reached the kernel.
// 3. The kernel is told to look up again: each chunk that the old generation holds, the new one, or
//    one that was given out between the two, and the directories that came or went. What none of
//    them holds was absent and is absent.
//    A writable mount drops names only where somebody else replaced shards or metadata, or events
//    were lost: a chunk's node cannot answer ESTALE to stat(2) while a reader has it open, whose
//    fstat(2) is the same GETATTR. Names of the source need none (NameTimeout), and neither do our
//    own publishes.
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
  DatasetTree& datasets = *parts_.datasets;
  bool shown = true;
  for (const auto& tree :
       event.everything ? datasets.trees() : datasets.index().TreesNear(event.key)) {
    if (!RefreshTree(tree, event, notifier)) shown = false;
  }
  if (event.everything) {
    for (const std::string& path : datasets.index().examined()) datasets.Reload(path);
    for (const std::string& path : nodes_.SourcePaths()) RefreshPath(path, notifier);
    return;
  }
  if (datasets.index().ContributionAt(event.key)) {
    // A directory that came, or in which anything may have changed.
    RefreshDocuments(event.key, notifier);
  }
  if (!shown) return;
  if (IsDocumentName(BaseName(event.key))) RefreshDocuments(ParentPath(event.key), notifier);
  if (writable()) {
    RefreshListing(event.key, notifier);  // the name has little or no time to live (NameTimeout)
  } else {
    RefreshPath(event.key, notifier);
  }
}

// Reads the metadata in `directory` again, and where they say something else invalidates what was
// shown of it.
void VolumeFs::RefreshDocuments(const std::string& directory, KernelNotifier& notifier) {
  DatasetTree& datasets = *parts_.datasets;
  datasets.Reload(directory);
  if (!datasets.TakeChange(directory)) return;
  for (const std::string& path : nodes_.SourcePaths()) {
    if (Concerns(path, directory)) RefreshPath(path, notifier);
  }
  for (const auto& tree : datasets.index().TreesNear(directory)) TellFirstLevel(tree, notifier);
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

// The listing and the attributes of the directory that the path is in, and of itself where it is
// one.
void VolumeFs::RefreshListing(const std::string& path, KernelNotifier& notifier) {
  epoch_.WaitForRunning();
  if (const auto parent = nodes_.Find("d:" + ParentPath(path))) notifier.InvalidateInode(*parent);
  if (const auto self = nodes_.Find("d:" + path)) notifier.InvalidateInode(*self);
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
    // Our own publishes make and remove directories, which the grid has all the time. Where no
    // shard has changed, and none has been forgotten, no name below leads elsewhere.
    const bool drop_names = !writable() || !changes.empty() || tree->shards().has_forgotten();
    RefreshDirectories(tree, event.key, drop_names, notifier);
  }
  for (const ShardSet::Change& change : changes) {
    counters_.shards_changed.fetch_add(1, std::memory_order_relaxed);
    if (writes_) writes_->ShardReplaced({tree->ordinal(), change.shard});
    TellChange(tree, change, notifier);
  }
  return true;
}

// Directories of the tree that stand on a directory of the store come, go and are listed with it,
// also where no shard in them is in use.
void VolumeFs::RefreshDirectories(const std::shared_ptr<ChunkTree>& tree, const std::string& key,
                                  bool drop_names, KernelNotifier& notifier) {
  const std::string& directory = tree->directory();
  if (key.size() <= directory.size() || !Concerns(key, directory)) return;
  const std::string below = key.substr(directory.empty() ? 0 : directory.size() + 1);
  tree->ForEachDirectoryAt(below, [&](const GridDirectory& in) {
    if (drop_names) return TellDirectories(tree, in, notifier);
    if (const auto node = KnownNode(*tree, in)) notifier.InvalidateInode(*node);
  });
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

// A directory of chunks is listed in those above it from its first chunk to its last.
void VolumeFs::TellListings(const ChunkTree& tree, GridDirectory in, KernelNotifier& notifier) {
  while (true) {
    if (const auto node = KnownNode(tree, in)) notifier.InvalidateInode(*node);
    if (in.level == 0) return;
    in = tree.Parent(in);
  }
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
    if (parents.emplace(in.level, in.prefix).second) TellListings(*tree, in, notifier);
  };
  std::vector<ShardGenerationPtr> shown = change.between;
  shown.insert(shown.end(), {change.before, change.after});
  for (const ShardGenerationPtr& generation : shown) {
    if (!tree->ForEachPresent(generation, tell)) complete = false;
  }
  if (had != has) {
    tree->ForEachDirectory(change.shard,
                           [&](const GridDirectory& in) { TellDirectories(tree, in, notifier); });
  }
  // An index that cannot be read does not say which names it has: all of them are looked up again.
  if (complete) return;
  if (tree->directory().empty()) {
    RefreshAllDirectories(tree, notifier);  // the root itself has no name to be dropped
  } else {
    RefreshPath(tree->directory(), notifier);
  }
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
