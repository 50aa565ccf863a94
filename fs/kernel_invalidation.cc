// Follows changes of the source:
//
// 1. A watcher's event names a key. The trees that have it revalidate their shards; from then on
//    every new look-up is answered with the new generation.
// 2. Answers that were computed before step 1 have to reach the kernel first: they are waited for.
// 3. The kernel's entries are invalidated: each chunk that the old generation holds, or the new, or
//    a generation that was given out between the two, and the directories that came or went. A
//    chunk that none of these generations holds was absent and is absent.
//    A writable mount drops names only where another process replaced shards or metadata, or events
//    were lost: a chunk's node cannot answer ESTALE to stat(2) while a reader has it open, whose
//    fstat(2) is the same GETATTR. For names of the source (NameTimeout) and our own publishes no
//    name has to be dropped.
// 4. A file that is open on an old node goes on reading its generation, whole: old and new have
//    different node numbers, and the old shard stays open as long as the kernel refers to it.
#include "fs/kernel_invalidation.h"

#include <set>
#include <string>
#include <unordered_set>
#include <utility>

#include "fs/tree/grid_directory.h"

namespace unshard {
namespace {

// Names of one shard that are remembered, so that each is dropped once.
constexpr std::size_t kMostDropped = std::size_t{1} << 16;

bool Concerns(const std::string& key, const std::string& directory) {
  return IsAtOrBelow(key, directory) || IsAtOrBelow(directory, key);
}

}  // namespace

std::optional<NodeId> KernelInvalidation::NodeOf(const std::string& directory) const {
  return superblock_.nodes.Find(NodeTable::DirectoryIdentity(directory));
}

void KernelInvalidation::Invalidate(std::optional<NodeId> node) {
  if (node) notifier_.InvalidateInode(*node);
}

std::vector<std::string> KernelInvalidation::Refresh(const ChangeWatcher::Event& event) {
  RefreshAll(event);
  return std::exchange(unread_, {});
}

void KernelInvalidation::DropPages(NodeId node) {
  const auto staged = superblock_.open_versions.StagedAt(node);
  const bool ended = staged && staged->ended();
  // The answer of a read that began before may still fill one.
  superblock_.epoch.WaitForRunning();
  notifier_.InvalidateInode(node);
  if (!ended || !UnpackGridNode(node)) return;
  superblock_.open_versions.EndWriting(node, staged, OpenVersions::End::kGivenBack);
}

void KernelInvalidation::RefreshAll(const ChangeWatcher::Event& event) {
  DatasetTree& datasets = *superblock_.parts.datasets;
  bool changed = true;
  for (const auto& tree :
       event.everything ? datasets.trees() : datasets.index().TreesNear(event.key)) {
    if (!RefreshTree(tree, event)) changed = false;
  }
  if (event.everything) {
    for (const std::string& path : datasets.index().examined()) Reload(path);
    for (const std::string& path : superblock_.nodes.SourcePaths()) RefreshPath(path);
    return;
  }
  if (datasets.index().ContributionAt(event.key)) {
    // A directory that is new, or in which anything may have changed.
    RefreshDocuments(event.key);
  }
  if (!changed) return;
  if (IsMetadataName(BaseName(event.key))) RefreshDocuments(ParentPath(event.key));
  if (superblock_.writable()) {
    RefreshListing(event.key);  // the name has little or no time to live (NameTimeout)
  } else {
    RefreshPath(event.key);
  }
}

void KernelInvalidation::Reload(const std::string& directory) {
  DatasetTree& datasets = *superblock_.parts.datasets;
  if (datasets.Reload(directory)) return;
  const auto overlay = datasets.index().OverlayAt(directory);
  const bool presented = overlay && overlay->document;
  unread_.push_back(presented ? JoinPath(directory, overlay->document->name) : directory);
}

// Reads the metadata in `directory` again, and where they have changed invalidates the kernel's
// entries that depend on them.
void KernelInvalidation::RefreshDocuments(const std::string& directory) {
  DatasetTree& datasets = *superblock_.parts.datasets;
  Reload(directory);
  if (!datasets.TakeChange(directory)) return;
  for (const std::string& path : superblock_.nodes.SourcePaths()) {
    if (Concerns(path, directory)) RefreshPath(path);
  }
  for (const auto& tree : datasets.index().TreesNear(directory)) RefreshFirstLevel(tree);
}

// A directory that is looked up again, and has the same node, still has the dentries below it that
// are in use: the kernel would resolve paths to the directories of a tree that was replaced.
void KernelInvalidation::RefreshFirstLevel(const TreePtr& tree) {
  if (tree->depth() == 0) return;
  const auto drop = [&](const ChunkTree::Listed& listed) {
    if (listed.match.kind == ChunkTree::Match::Kind::kDirectory) {
      DropDirectory(tree, listed.match.directory);
    }
    return true;
  };
  const auto listed = tree->List({}, 0, ListMode::kPresent, drop, [](auto&&...) {});
  if (!listed) RefreshPath(tree->directory());
}

void KernelInvalidation::RefreshPath(const std::string& path) {
  superblock_.epoch.WaitForRunning();
  const auto parent = NodeOf(ParentPath(path));
  if (parent && !path.empty()) notifier_.InvalidateEntry(*parent, BaseName(path));
  Invalidate(parent);
}

// Invalidates the listing and the attributes of the parent directory of `path`, and of `path` where
// it is a directory.
void KernelInvalidation::RefreshListing(const std::string& path) {
  superblock_.epoch.WaitForRunning();
  Invalidate(NodeOf(ParentPath(path)));
  Invalidate(NodeOf(path));
}

bool KernelInvalidation::RefreshTree(const TreePtr& tree, const ChangeWatcher::Event& event) {
  const auto [changes, up_to_date] =
      tree->chunks().Invalidate(event.everything ? std::string() : event.key);
  tree->ForgetListings();
  if (up_to_date) return false;
  superblock_.epoch.WaitForRunning();
  if (event.everything) {
    RefreshAllDirectories(tree);
  } else {
    // Our own publishes make and remove directories of the store, which exist in the grid all the
    // time. Where no shard has changed, and none was forgotten, no name below leads to another
    // node.
    const bool drop_names =
        !superblock_.writable() || !changes.empty() || tree->chunks().has_forgotten();
    RefreshDirectories(tree, event.key, drop_names);
  }
  for (const ChunkChange& change : changes) {
    superblock_.counters.shards_changed.fetch_add(1, std::memory_order_relaxed);
    if (superblock_.writable() && change.replaced) {
      superblock_.writes->ShardReplaced({tree->stored_ordinal(), change.shard});
    }
    AnnounceChange(tree, change);
  }
  for (const NodeId file : superblock_.volume_file_nodes.Of(tree->stored_ordinal()))
    Invalidate(file);
  return true;
}

// A directory of the tree that corresponds to one of the store has its names and its listing from
// that, and comes and goes with it, even where no shard in it is in use.
void KernelInvalidation::RefreshDirectories(const TreePtr& tree, const std::string& key,
                                            bool drop_names) {
  const std::string& directory = tree->directory();
  if (key.size() <= directory.size() || !Concerns(key, directory)) return;
  const std::string below = key.substr(directory.empty() ? 0 : directory.size() + 1);
  tree->ForEachDirectoryAt(below, [&](const GridDirectory& in) {
    if (drop_names) return DropDirectory(tree, in);
    Invalidate(KnownNode(superblock_, *tree, in));
  });
  tree->ForEachDirectoryAt(ParentPath(below), [&](const GridDirectory& in) {
    Invalidate(KnownNode(superblock_, *tree, in));
  });
}

// Dropping a dentry drops all dentries below it.
void KernelInvalidation::RefreshAllDirectories(const TreePtr& tree) {
  if (tree->depth() == 0) return;
  const auto drop = [&](const ChunkTree::Listed& listed) {
    DropDirectory(tree, listed.match.directory);
    return true;
  };
  tree->List({}, 0, ListMode::kGrid, drop, [](auto&&...) {});
}

// A directory of chunks is in the listings of its parents from its first chunk to its last.
void KernelInvalidation::DropListings(const ChunkTree& tree, GridDirectory in) {
  while (true) {
    Invalidate(KnownNode(superblock_, tree, in));
    if (in.level == 0) return;
    in = tree.Parent(in);
  }
}

// Drops all names of the chunk's bytes. False where the grid has no such chunk.
bool KernelInvalidation::DropChunk(ChunkTree& tree, const ChunkRef& chunk, NodeId parent) {
  const std::string name = BaseName(tree.Path(chunk));
  if (name.empty()) return false;
  notifier_.InvalidateEntry(parent, name);
  if (tree.is_mesh()) {
    notifier_.InvalidateEntry(parent, BaseName(tree.Path(chunk.With(ChunkPart::kFragments))));
  } else if (tree.chunks().encodes()) {
    notifier_.InvalidateEntry(parent, BaseName(tree.Path(chunk.With(ChunkPart::kStored))));
  }
  return true;
}

void KernelInvalidation::AnnounceChange(const TreePtr& tree, const ChunkChange& change) {
  bool complete = change.complete;
  std::set<std::pair<unsigned, std::uint64_t>> parents;
  std::unordered_set<std::string> dropped;  // most chunks are in all generations
  const auto drop = [&](const ChunkRef& chunk) {
    const std::string path = tree->Path(chunk);
    const bool known =
        dropped.size() < kMostDropped ? !dropped.insert(path).second : dropped.contains(path);
    if (known) return;
    const GridDirectory in = tree->Parent(chunk);
    const auto parent = KnownNode(superblock_, *tree, in);
    if (!parent || !DropChunk(*tree, chunk, *parent)) return;
    if (parents.emplace(in.level, in.prefix).second) DropListings(*tree, in);
  };
  for (const ChunkGeneration& generation : change.generations) {
    if (!tree->chunks().ForEachPresent(generation, drop)) complete = false;
  }
  if (change.came_or_went) {
    tree->ForEachDirectory(change.shard, [&](const GridDirectory& in) { DropDirectory(tree, in); });
  }
  // The names of an index that cannot be read are unknown: all names are looked up again.
  if (complete) return;
  if (tree->directory().empty()) {
    RefreshAllDirectories(tree);  // the root itself has no name to be dropped
  } else {
    RefreshPath(tree->directory());
  }
}

void KernelInvalidation::DropDirectory(const TreePtr& tree, const GridDirectory& in) {
  const auto parent = KnownNode(superblock_, *tree, tree->Parent(in));
  if (parent) notifier_.InvalidateEntry(*parent, BaseName(tree->Path(in)));
  Invalidate(parent);
  Invalidate(KnownNode(superblock_, *tree, in));
}

}  // namespace unshard
