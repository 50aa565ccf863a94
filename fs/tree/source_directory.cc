#include "fs/tree/source_directory.h"

#include <algorithm>

#include "codec/grid/chunk_key.h"
#include "fs/common/request_failures.h"
#include "fs/tree/away_store.h"
#include "fs/tree/chunk_name.h"
#include "fs/tree/control.h"
#include "fs/tree/document.h"
#include "fs/tree/grid_directory.h"
#include "fs/tree/listing.h"
#include "fs/tree/plain_chunk_name.h"
#include "fs/tree/scratch_name.h"
#include "fs/tree/source_name.h"
#include "fs/tree/staged_node.h"
#include "fs/tree/superblock.h"
#include "fs/tree/volume_files.h"
#include "store/local/shard_lock.h"
#include "store/source/all_views.h"

namespace unshard {
namespace {

// Several trees share a directory only where several scales share a key.
constexpr unsigned kTreeShift = 57;
constexpr std::size_t kMaxSharedTrees = 16;
// After all names of the source and all chunks.
constexpr std::uint64_t kDocumentCookie = kLargestDocumentCookie;
constexpr std::uint64_t kFirstComputedCookie = kDocumentCookie - 16;
// Of `files`, which is listed after ".." and before all others.
constexpr std::uint64_t kFilesCookie = kFirstComputedCookie - 1;

bool IsShard(const DirectoryOverlay& overlay, std::string_view name) {
  return std::any_of(overlay.trees.begin(), overlay.trees.end(),
                     [&](const auto& tree) { return tree->IsShardKey(name); });
}

// A shard, or its lock.
bool IsHidden(const DirectoryOverlay& overlay, std::string_view name) {
  return IsShard(overlay, WithoutLockSuffix(name));
}

// A directory whose chunks are one level deeper is an ordinary one, and so is one whose chunks are
// files of the source, onto which programs rename their temporary files.
bool HoldsScratch(const DirectoryOverlay& overlay) {
  return !overlay.holds_plain_chunks &&
         std::any_of(overlay.trees.begin(), overlay.trees.end(),
                     [](const auto& tree) { return tree->HoldsScratch() && tree->depth() == 0; });
}

// "<chunk>.br": a chunk of this tree with a compression that shards do not take.
bool IsChunkWithSuffix(const ChunkTree& tree, std::string_view name) {
  const auto bare = WithoutCompressionSuffix(name);
  return bare && tree.Resolve({}, *bare).kind == ChunkTree::Match::Kind::kChunk;
}

}  // namespace

Entry ReferDirectory(Superblock& superblock, const std::string& path, bool opaque,
                     const timespec& modified) {
  const std::string identity = NodeTable::DirectoryIdentity(path);
  const NodePtr node = superblock.nodes.Refer(identity, [&](NodeId id) {
    const std::uint64_t inode = path.empty() ? kRootNode : StableInode(identity);
    return std::make_shared<SourceDirectory>(superblock, id, inode, path, opaque);
  });
  return Entry{node->id(), {node->inode(), 0, modified, true}, superblock.NameTimeout()};
}

NodePtr SourceDirectory::MovedTo(const std::string& path) {
  return std::make_shared<SourceDirectory>(
      superblock(), id(), StableInode(NodeTable::DirectoryIdentity(path)), path,
      superblock().parts.datasets->index().IsBelowOpaque(path));
}

SourceDirectory::OverlayPtr SourceDirectory::Overlay() const {
  return opaque_ ? nullptr : superblock().parts.datasets->Find(path_);
}

// Whether a dataset was put at or above this path after the kernel got this node, in which shards
// would be plain files. The name leads to the directory of chunks by now.
bool SourceDirectory::IsReplaced() const {
  return !opaque_ && superblock().parts.datasets->index().IsInTree(path_);
}

bool ShowsModeOfSource(const Superblock& superblock, const std::string& path) {
  return superblock.writable() && !path.empty() && !superblock.parts.datasets->Find(path) &&
         superblock.parts.store->capabilities().keeps_replaced_versions;
}

Result<Entry> SourceDirectory::SetAttributes(OpenFile* file, const AttributeChange& change,
                                             pid_t thread) {
  if (change.mode && ShowsModeOfSource(superblock(), path_)) {
    UNSHARD_ASSIGN_OR_RETURN(const auto open,
                             superblock().parts.files->Open(path_, {.attributes = true}));
    if (!open) return StaleName();
    UNSHARD_RETURN_IF_ERROR(open->SetMode(*change.mode));
  }
  return Directory::SetAttributes(file, change, thread);
}

Result<Entry> SourceDirectory::Stat() {
  if (ShowsModeOfSource(superblock(), path_)) {
    UNSHARD_ASSIGN_OR_RETURN(const auto status, superblock().parts.files->Stat(path_));
    if (!status) return tl::unexpected<Error>(StaleNode());
    Entry entry{id(), {inode(), 0, status->modified, true}, superblock().NameTimeout()};
    entry.attributes.mode = status->mode & 0777;
    return entry;
  }
  return Entry{id(), {inode(), 0, superblock().ModifiedOf(path_), true}, superblock().Timeout()};
}

Result<Entry> SourceDirectory::Lookup(std::string_view name, pid_t thread) {
  if (superblock().writable() && IsMetadataName(name)) {
    const ChunkId document = StagedFiles::DocumentId({path_, std::string(name)});
    const auto staged = superblock().writers.Redirected(thread, document);
    if (staged) return ReferStaged(superblock(), staged);
  }
  return Directory::Lookup(name, thread);
}

Result<NamePtr> SourceDirectory::Find(std::string_view name) {
  if (path_.empty() && name == kControlDirectory) {
    return std::make_unique<ControlName>(superblock(), path_, name);
  }
  if (path_.empty() && name == kFilesDirectory && superblock().arrays) {
    return std::make_unique<FilesDirectoryName>(superblock(), path_, name);
  }
  const OverlayPtr overlay = Overlay();
  if (IsReplaced()) return StaleName();
  if (!overlay) return std::make_unique<SourceName>(superblock(), path_, name, opaque_);
  if (overlay->fault) {
    return std::make_unique<BrokenName>(superblock(), path_, name, *overlay->fault);
  }
  if (overlay->document && overlay->document->name == name) {
    return std::make_unique<DocumentName>(superblock(), path_, name, *overlay->document);
  }
  if (const Document* computed = overlay->FindComputed(name)) {
    return std::make_unique<DocumentName>(superblock(), path_, name, *computed);
  }
  if (NamePtr found = FindInTrees(overlay, name, 0)) return found;
  return FindBesideChunks(overlay, name);
}

// The meaning of a name in the trees from number `first` on; null where it has none. Where the
// chunk is absent, the name may be that of a chunk of another tree, or of a file of the source.
NamePtr SourceDirectory::FindInTrees(const OverlayPtr& overlay, std::string_view name,
                                     std::size_t first) {
  using Kind = ChunkTree::Match::Kind;
  const auto otherwise_after = [&](std::size_t tree) -> LookupOtherwise {
    if (tree + 1 == overlay->trees.size() && !overlay->holds_plain_chunks) return nullptr;
    return [this, overlay, name = std::string(name), tree](pid_t thread) -> Result<Entry> {
      if (const NamePtr found = FindInTrees(overlay, name, tree + 1)) return found->Lookup(thread);
      if (!overlay->holds_plain_chunks) return superblock().Missing();
      return NameInSource(overlay, name)->Lookup(thread);
    };
  };
  bool no_chunk = false;
  for (std::size_t i = first; i < overlay->trees.size(); ++i) {
    const std::shared_ptr<ChunkTree>& tree = overlay->trees[i];
    const ChunkTree::Match match = tree->Resolve({}, name);
    if (match.kind == Kind::kOther) continue;
    if (match.kind != Kind::kNoChunk || IsGzipName(*tree, {}, name)) {
      return NameInTree(superblock(), path_, name, {tree, {}, match}, otherwise_after(i));
    }
    // A name without a chunk in this tree may be that of a chunk that is a file of the source.
    if (!overlay->holds_plain_chunks || IsChunkWithSuffix(*tree, name)) no_chunk = true;
  }
  if (!no_chunk) return nullptr;
  return std::make_unique<NoChunkName>(superblock(), path_, name,
                                       otherwise_after(overlay->trees.size() - 1));
}

Result<NamePtr> SourceDirectory::FindBesideChunks(const OverlayPtr& overlay,
                                                  std::string_view name) {
  Superblock& sb = superblock();
  if (!sb.writable()) return NameInSource(overlay, name);
  if (IsShard(*overlay, name)) return std::make_unique<HiddenName>(sb, path_, name);
  // What a view hides of the source is not to be changed under its name.
  if (overlay->Hides(std::string(name))) {
    if (IsMetadataName(name)) return std::make_unique<HiddenName>(sb, path_, name);
    return std::make_unique<ScratchName>(sb, path_, name, 0);
  }
  const bool needed = overlay->virtual_children.contains(std::string(name));
  if (needed || !HoldsScratch(*overlay)) return NameInSource(overlay, name);
  // A file that exists there is one of the source; a lock file of our own is hidden.
  const bool hidden = IsHidden(*overlay, name);
  if (!hidden && !sb.scratch.Find(path_, name)) {
    sb.parts.watcher->Watch(path_);
    const auto there = StatBriefly(sb, JoinPath(path_, name));
    const bool unknown = !there && IsStoreAway(sb, there.error());
    if (!unknown) UNSHARD_RETURN_IF_ERROR(there);
    // While the store is away it may be one.
    if (unknown || *there) return NameInSource(overlay, name);
  }
  return std::make_unique<ScratchName>(sb, path_, name, hidden ? sb.Timeout() : 0);
}

NamePtr SourceDirectory::NameInSource(const OverlayPtr& overlay, std::string_view name) {
  using Presented = SourceName::Presented;
  Presented presented = Presented::kAsIs;
  if (IsHidden(*overlay, name) || overlay->Hides(std::string(name))) {
    presented = Presented::kHidden;
  } else if (overlay->virtual_children.contains(std::string(name))) {
    presented = Presented::kNeeded;
  }
  // Where several views are only read, a chunk of native/ would not be asked for at each look-up.
  const bool decodes = superblock().writable() || superblock().options.view != kAllViews;
  const bool may_be_chunk = overlay->holds_plain_chunks && presented == Presented::kAsIs;
  if (decodes && may_be_chunk && PlainChunkName::MayBe(name)) {
    return std::make_unique<PlainChunkName>(superblock(), path_, name, overlay->opaque);
  }
  return std::make_unique<SourceName>(superblock(), path_, name, overlay->opaque, presented);
}

Status SourceDirectory::List(const Listing& listing) {
  if (!ListDots(inode(), listing)) return {};
  if (!path_.empty() || !superblock().arrays) return ListNames(listing);
  const DirectoryName files{kFilesDirectory, StableInode(kFilesDirectory), true, kFilesCookie,
                            std::nullopt};
  if (listing.cookie <= kAfterDots && !listing.visitor(files)) return {};
  Listing others = listing;
  if (listing.cookie == kFilesCookie) others.cookie = kAfterDots;
  return ListNames(others);
}

Status SourceDirectory::ListNames(const Listing& listing) {
  const OverlayPtr overlay = Overlay();
  if (IsReplaced()) return StaleName();
  const bool plain = !overlay || (overlay->trees.empty() && overlay->virtual_children.empty() &&
                                  overlay->hidden.empty() && !overlay->closed);
  if (plain) return ListPlainDirectory(superblock(), path_, listing);
  return ListWithChunks(listing,
                        [&](const Listing& names) { return ListBesideChunks(*overlay, names); });
}

Status SourceDirectory::ListBesideChunks(const DirectoryOverlay& overlay, const Listing& listing) {
  const auto presented = [&](std::string_view name) {
    if (IsHidden(overlay, name) || overlay.Hides(std::string(name))) return false;
    if (overlay.FindComputed(name) != nullptr) return false;
    if (overlay.document && overlay.document->name == name) return false;
    return overlay.holds_plain_chunks ||
           std::all_of(overlay.trees.begin(), overlay.trees.end(), [&](const auto& tree) {
             return tree->Resolve({}, name).kind == ChunkTree::Match::Kind::kOther;
           });
  };
  if (listing.cookie == kDocumentCookie) return {};
  bool more = listing.cookie <= kFirstComputedCookie;
  const bool in_documents = !more;
  if (listing.cookie < kTreeCookies) {
    UNSHARD_ASSIGN_OR_RETURN(
        more, ListSourceNames(superblock(), path_, path_, overlay, presented, listing));
  }
  const std::size_t tree_count = std::min(overlay.trees.size(), kMaxSharedTrees);
  for (std::size_t i = 0; i < tree_count && more; ++i) {
    const std::uint64_t base = kTreeCookies + (std::uint64_t{i} << kTreeShift);
    const bool later = tree_count > 1 && listing.cookie >= base + (std::uint64_t{1} << kTreeShift);
    if (later) continue;
    UNSHARD_ASSIGN_OR_RETURN(more, ListTree(superblock(), overlay.trees[i], {}, base, listing));
  }
  // rm -r removes in the order of the listing: first the chunks, then the document that says how
  // they are stored, which can only be removed after them.
  if (!more && !in_documents) return {};
  std::uint64_t cookie = kFirstComputedCookie;
  for (const Document& computed : overlay.computed) {
    const std::string& name = computed.name;
    const bool listed = listing.cookie >= ++cookie;
    if (listed) continue;
    const std::uint64_t inode = InodeOfDocument(JoinPath(path_, name));
    if (!listing.visitor({name, inode, false, cookie, std::nullopt})) return {};
  }
  if (!overlay.document) return {};
  const std::string& name = overlay.document->name;
  listing.visitor(
      {name, InodeOfDocument(JoinPath(path_, name)), false, kDocumentCookie, std::nullopt});
  return {};
}

// A directory of chunks is in the listing of its parent from its first chunk to its last. The
// kernel is notified of changes in the directory itself, and of those in the source.
bool SourceDirectory::ListingIsKept() const {
  if (!superblock().writable()) return true;
  if (superblock().shares_chunks()) return false;
  const OverlayPtr overlay = Overlay();
  return !overlay || std::all_of(overlay->trees.begin(), overlay->trees.end(),
                                 [](const auto& tree) { return tree->depth() == 0; });
}

Status SourceDirectory::Sync() {
  Superblock& sb = superblock();
  if (const OverlayPtr overlay = Overlay()) {
    for (const auto& tree : overlay->trees) {
      UNSHARD_RETURN_IF_ERROR(sb.writes->SyncDirectory(*tree, {}));
    }
  }
  UNSHARD_ASSIGN_OR_RETURN(const auto there, sb.parts.files->Stat(path_));
  return there ? sb.parts.files->SyncDirectory(path_) : Status{};
}

}  // namespace unshard
