#include "fs/tree/grid_directory.h"

#include "fs/common/request_failures.h"
#include "fs/tree/away_store.h"
#include "fs/tree/chunk_name.h"
#include "fs/tree/listing.h"
#include "fs/tree/scratch_name.h"
#include "fs/tree/source_name.h"
#include "fs/tree/superblock.h"
#include "store/local/shard_lock.h"

namespace unshard {
namespace {

using Match = ChunkTree::Match;

constexpr std::string_view kGzipSuffix = ".gz";

std::optional<NodeId> ArithmeticId(const ChunkTree& tree, const GridDirectory& in) {
  const auto position = tree.Position(in);
  return position ? PackGridNode({tree.ordinal(), 0, *position}) : std::nullopt;
}

std::string IdentityOf(const ChunkTree& tree, const std::string& path) {
  return "g:" + std::to_string(tree.ordinal()) + ':' + path;
}

// The chunk that "<chunk>.gz" is written to; nothing for other names.
std::optional<ChunkRef> GzippedChunk(const ChunkTree& tree, const GridDirectory& in,
                                     std::string_view name) {
  if (!tree.TakesGzipNames() || !name.ends_with(kGzipSuffix)) return std::nullopt;
  name.remove_suffix(kGzipSuffix.size());
  const Match bare = tree.Resolve(in, name);
  if (bare.kind != Match::Kind::kChunk) return std::nullopt;
  return bare.chunk.With(ChunkPart::kStored);
}

}  // namespace

std::string PathIn(const ChunkTree& tree, const GridDirectory& in) {
  return JoinPath(tree.directory(), tree.Path(in));
}

std::uint64_t InodeOfGridDirectory(const ChunkTree& tree, const GridDirectory& in) {
  const auto id = ArithmeticId(tree, in);
  return id ? GridInode(*UnpackGridNode(*id)) : StableInode("k:" + PathIn(tree, in));
}

Result<Entry> ReferGridDirectory(Superblock& superblock, const std::shared_ptr<ChunkTree>& tree,
                                 const GridDirectory& in) {
  if (!superblock.options.immutable) {
    superblock.parts.watcher->Watch(ParentPath(tree->StoreDirectory(in)));
  }
  UNSHARD_ASSIGN_OR_RETURN(const auto modified, tree->Modified(in));
  const std::uint64_t inode = InodeOfGridDirectory(*tree, in);
  const std::string path = PathIn(*tree, in);
  auto id = ArithmeticId(*tree, in);
  if (!id) {
    const NodePtr node = superblock.nodes.Refer(IdentityOf(*tree, path), [&](NodeId made) {
      return std::make_shared<GridDirectoryNode>(superblock, made, inode, tree, in);
    });
    id = node->id();
  }
  Entry entry{
      *id, {inode, 0, modified.value_or(superblock.mount_time), true}, superblock.Timeout()};
  entry.generation = superblock.removed.GenerationOf(path);
  return entry;
}

std::optional<NodeId> KnownNode(const Superblock& superblock, const ChunkTree& tree,
                                const GridDirectory& in) {
  if (in.level == 0) {
    return superblock.nodes.Find(NodeTable::DirectoryIdentity(tree.directory()));
  }
  if (const auto id = ArithmeticId(tree, in)) return id;
  return superblock.nodes.Find(IdentityOf(tree, PathIn(tree, in)));
}

bool IsGzipName(const ChunkTree& tree, const GridDirectory& in, std::string_view name) {
  return GzippedChunk(tree, in, name).has_value();
}

NamePtr NameInTree(Superblock& superblock, std::string directory, std::string_view name,
                   const MatchedName& matched, LookupOtherwise otherwise) {
  const auto& [tree, in, match] = matched;
  if (match.kind == Match::Kind::kDirectory) {
    return std::make_unique<GridDirectoryName>(superblock, std::move(directory), name, tree,
                                               match.directory);
  }
  const bool presented = match.kind == Match::Kind::kChunk;
  const auto chunk = presented ? match.chunk : GzippedChunk(*tree, in, name);
  if (!chunk) {
    return std::make_unique<NoChunkName>(superblock, std::move(directory), name,
                                         std::move(otherwise));
  }
  return std::make_unique<ChunkName>(superblock, std::move(directory), name,
                                     ChunkName::Chunk{tree, *chunk, presented},
                                     std::move(otherwise));
}

std::string GridDirectoryNode::Path() const { return PathIn(*tree_, in_); }

Result<NamePtr> GridDirectoryNode::Find(std::string_view name) {
  if (tree_->retired()) return StaleName();
  const Match match = tree_->Resolve(in_, name);
  if (match.kind == Match::Kind::kOther) return FindBesideChunks(name);
  return NameInTree(superblock(), Path(), name, {tree_, in_, match}, nullptr);
}

// A shard, or its lock, among the other names of the directory "c" in which an array of one
// dimension has its chunks.
bool GridDirectoryNode::IsHidden(std::string_view name) const {
  return tree_->IsShardKey(JoinPath(tree_->Path(in_), WithoutLockSuffix(name)));
}

Result<NamePtr> GridDirectoryNode::FindBesideChunks(std::string_view name) {
  Superblock& sb = superblock();
  if (!tree_->IsStoreDirectory(in_)) {
    return std::make_unique<ScratchName>(sb, Path(), name, sb.Timeout());
  }
  if (IsHidden(name)) return std::make_unique<HiddenName>(sb, Path(), name);
  const std::string directory = tree_->StoreDirectory(in_);
  bool of_source = !sb.writable();
  if (!of_source && !sb.scratch.Find(Path(), name)) {
    sb.parts.watcher->Watch(directory);
    const auto there = StatBriefly(sb, JoinPath(directory, name));
    const bool unknown = !there && IsStoreAway(sb, there.error());
    if (!unknown) UNSHARD_RETURN_IF_ERROR(there);
    of_source = unknown || *there;  // while the store is away it may be one
  }
  if (of_source) return std::make_unique<SourceName>(sb, directory, name, true);
  return std::make_unique<ScratchName>(sb, Path(), name, 0);
}

Status GridDirectoryNode::List(const Listing& listing) {
  if (!ListDots(inode(), listing)) return {};
  return ListWithChunks(listing, [this](const Listing& names) { return ListNames(names); });
}

Status GridDirectoryNode::ListNames(const Listing& listing) {
  const std::string store_directory = tree_->StoreDirectory(in_);
  const bool of_source = tree_->IsStoreDirectory(in_);
  if ((of_source || superblock().writable()) && listing.cookie < kTreeCookies) {
    const NameFilter presented = [&](std::string_view name) {
      return !IsHidden(name) && tree_->Resolve(in_, name).kind == Match::Kind::kOther;
    };
    UNSHARD_ASSIGN_OR_RETURN(const bool more,
                             ListSourceNames(superblock(), store_directory, Path(), {},
                                             of_source ? presented : nullptr, listing));
    if (!more) return {};
  }
  superblock().parts.watcher->Watch(store_directory);
  UNSHARD_RETURN_IF_ERROR(ListTree(superblock(), tree_, in_, kTreeCookies, listing));
  return {};
}

bool GridDirectoryNode::ListingIsKept() const {
  return !superblock().writable() || (in_.level == tree_->depth() && !superblock().shares_chunks());
}

Status GridDirectoryNode::Sync() { return superblock().writes->SyncDirectory(*tree_, in_); }

Result<Entry> GridDirectoryNode::Stat() {
  const timespec modified = superblock().ModifiedOf(tree_->StoreDirectory(in_));
  return Entry{id(), {inode(), 0, modified, true}, superblock().Timeout()};
}

Result<Entry> GridDirectoryName::Lookup(pid_t thread) {
  return LookupRemovable(
      thread, [this] { return IsEmpty(); },
      [this]() -> Result<Entry> { return ReferGridDirectory(superblock(), tree_, in_); });
}

Result<bool> GridDirectoryName::IsEmpty() const {
  return GridDirectoryNode(superblock(), kNoNode, 0, tree_, in_).IsEmpty();
}

Result<Entry> GridDirectoryName::MakeDirectory(mode_t) {
  superblock().removed.Made(path());
  return ReferGridDirectory(superblock(), tree_, in_);
}

Status GridDirectoryName::RemoveDirectory(pid_t thread) {
  UNSHARD_ASSIGN_OR_RETURN(const bool empty, IsEmpty());
  if (!empty) return FailWith(ENOTEMPTY, ErrorCode::kInvalidArgument, path(), ": is not empty");
  // The kernel has marked its inode dead (S_DEAD).
  superblock().removed.Add(path(), thread);
  return {};
}

Status GridDirectoryName::RenameTo(Name& to, bool) { return to.TakeGridDirectory(path()); }

tl::unexpected<Error> GridDirectoryName::Refuse() const {
  return FailWith(EISDIR, ErrorCode::kInvalidArgument, path(), ": is a directory");
}

}  // namespace unshard
