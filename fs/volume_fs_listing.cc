// Listings. A cookie says where to go on: 1 and 2 are "." and "..", then come names of the source
// by their place in a snapshot, and from kTreeCookies on the chunks by their position in storage
// order.
#include <algorithm>

#include "fs/common/request_failures.h"
#include "fs/control_files.h"
#include "fs/volume_fs.h"

namespace unshard {
namespace {

constexpr std::uint64_t kDotsCookie = 2;  // after "." and ".."
constexpr std::uint64_t kFirstNameCookie = 3;
constexpr unsigned kNumberShift = 32;
constexpr std::uint64_t kTreeCookies = std::uint64_t{1} << 62;
// Several trees share a directory only where several scales share a key.
constexpr unsigned kTreeShift = 58;
constexpr std::size_t kMaxSharedTrees = 16;
// The store's cookies are moved up by two; ext4 ends its directories with the largest there is.
constexpr std::uint64_t kLargestCookie = (std::uint64_t{1} << 63) - 1;

// After all names of the source and all chunks.
constexpr std::uint64_t kDocumentCookie = kLargestCookie;

}  // namespace

Status VolumeFs::ReadDirectory(NodeId id, std::uint64_t cookie, bool with_attributes,
                               const DirectoryVisitor& visitor) {
  const Listing listing{id, cookie, with_attributes, visitor, options_.list};
  if (const auto grid = UnpackGridNode(id)) {
    const auto tree = parts_.datasets->TreeAt(grid->ordinal);
    if (!tree) return Fail(ErrorCode::kConflict, "the array was replaced");
    return ListGridDirectory(tree, tree->AtPosition(grid->position).directory, listing);
  }
  const TablePtr node = nodes_.Get(id);
  if (!node) return Fail(ErrorCode::kConflict, "the directory is gone");
  if (const auto* directory = std::get_if<DirectoryTarget>(&node->target)) {
    return ListDirectory(*directory, listing);
  }
  if (const auto* in = std::get_if<GridDirectoryTarget>(&node->target)) {
    return ListGridDirectory(in->tree, in->directory, listing);
  }
  if (std::holds_alternative<ControlDirectoryTarget>(node->target)) return ListControl(listing);
  if (std::holds_alternative<ScratchDirectoryTarget>(node->target)) {
    return ListScratchDirectory(*node, listing);
  }
  return Fail(ErrorCode::kInvalidArgument, "not a directory");
}

// A directory of chunks is listed in the one above it from its first chunk to its last. The kernel
// hears of what is made and removed in the directory itself, and of what changes in the source.
bool VolumeFs::ListingIsKept(NodeId id) const {
  if (!writable()) return true;
  if (const auto grid = UnpackGridNode(id)) {
    const auto tree = parts_.datasets->TreeAt(grid->ordinal);
    return tree && tree->AtPosition(grid->position).directory.level == tree->depth();
  }
  const TablePtr node = nodes_.Get(id);
  if (!node) return false;
  if (const auto* in = std::get_if<GridDirectoryTarget>(&node->target)) {
    return in->directory.level == in->tree->depth();
  }
  const auto* directory = std::get_if<DirectoryTarget>(&node->target);
  if (directory == nullptr) return false;
  const auto overlay = directory->opaque ? nullptr : parts_.datasets->Find(directory->path);
  return !overlay || std::all_of(overlay->trees.begin(), overlay->trees.end(),
                                 [](const auto& tree) { return tree->depth() == 0; });
}

bool VolumeFs::ListDots(std::uint64_t inode, const Listing& listing) {
  if (listing.cookie < 1 && !listing.visitor({".", inode, true, 1, std::nullopt})) return false;
  return listing.cookie >= 2 || listing.visitor({"..", kRootNode, true, 2, std::nullopt});
}

Status VolumeFs::ListControl(const Listing& listing) {
  if (!ListDots(StableInode("control"), listing)) return {};
  const auto& names = ControlFileNames();
  std::uint64_t at = std::max(listing.cookie, kFirstNameCookie - 1) - (kFirstNameCookie - 1);
  for (; at < names.size(); ++at) {
    const std::string path = std::string(kControlDirectory) + '/' + names[at];
    const std::uint64_t next = at + kFirstNameCookie;
    if (!listing.visitor({names[at], StableInode(path), false, next, std::nullopt})) return {};
  }
  return {};
}

Entry VolumeFs::ReferDirectory(const std::string& path, bool opaque, const ObjectInfo* info) {
  const TablePtr node = nodes_.Refer("d:" + path, "d:" + path, DirectoryTarget{path, opaque});
  const timespec modified = info != nullptr ? info->modified : ModifiedOf(path);
  return Entry{node->id, {node->inode, 0, modified, true}, NameTimeout()};
}

Entry VolumeFs::ReferScratchDirectory(const ScratchDirectoryPtr& directory) {
  const std::string identity = "x:" + std::to_string(directory->number);
  const TablePtr node = nodes_.Refer(identity, identity, ScratchDirectoryTarget{directory});
  return Entry{node->id, {node->inode, 0, directory->made, true}, Timeout()};
}

Status VolumeFs::ListScratchDirectory(const TableNode& node, const Listing& listing) {
  if (!ListDots(node.inode, listing)) return {};
  const auto path = scratch_.PathOf(*std::get<ScratchDirectoryTarget>(node.target).directory);
  if (!path) return {};
  bool more = true;
  const auto collect = [&](std::vector<DirectorySnapshots::Name>& names) -> Status {
    for (const auto& name : scratch_.Names(*path)) names.push_back({name.name, name.directory});
    return {};
  };
  return ListSnapshot(*path, collect, listing, more);
}

// Names that are collected when a listing begins.
Status VolumeFs::ListSnapshot(const std::string& path, const NameCollector& collect,
                              const Listing& listing, bool& more) {
  const std::uint64_t number = listing.cookie >> kNumberShift;
  auto snapshot = number == 0 ? nullptr : snapshots_.Get(number);
  if (!snapshot) {
    std::vector<DirectorySnapshots::Name> fresh;
    UNSHARD_RETURN_IF_ERROR(collect(fresh));
    snapshot = snapshots_.Put(std::move(fresh));
  }
  const std::uint64_t base = snapshot->number << kNumberShift;
  std::uint64_t at = number == 0 ? 0 : listing.cookie - (number << kNumberShift);
  for (; at < snapshot->names.size() && more; ++at) {
    const DirectorySnapshots::Name& name = snapshot->names[at];
    const std::string child = JoinPath(path, name.name);
    const std::uint64_t inode = StableInode((name.directory ? "d:" : "f:") + child);
    more = listing.visitor({name.name, inode, name.directory, base + at + 1, std::nullopt});
  }
  return {};
}

Status VolumeFs::ListSourceNames(const std::string& path, const std::string& shown_as,
                                 const DirectoryOverlay& special, const NameFilter& shown,
                                 const Listing& listing, bool& more) {
  const auto collect = [&](std::vector<DirectorySnapshots::Name>& fresh) -> Status {
    parts_.watcher->Watch(path);
    UNSHARD_RETURN_IF_ERROR(parts_.store->List(path, CallerDeadline(), [&](const ListEntry& entry) {
      const bool directory = entry.kind == ObjectInfo::Kind::kDirectory;
      const bool ours = path.empty() && entry.name == kControlDirectory;
      if (entry.kind != ObjectInfo::Kind::kOther && !ours && shown(entry.name)) {
        fresh.push_back({std::string(entry.name), directory});
      }
      return true;
    }));
    for (const std::string& child : special.virtual_children) fresh.push_back({child, true});
    for (const auto& name : scratch_.Names(shown_as)) fresh.push_back({name.name, name.directory});
    const auto by_name = [](const auto& a, const auto& b) { return a.name < b.name; };
    const auto same = [](const auto& a, const auto& b) { return a.name == b.name; };
    std::sort(fresh.begin(), fresh.end(), by_name);
    fresh.erase(std::unique(fresh.begin(), fresh.end(), same), fresh.end());
    return {};
  };
  return ListSnapshot(path, collect, listing, more);
}

Status VolumeFs::ListPlainDirectory(const std::string& path, const Listing& listing) {
  if (listing.cookie == kLargestCookie) return {};
  parts_.watcher->Watch(path);
  const std::uint64_t resume = listing.cookie > 2 ? listing.cookie - 2 : 0;
  return parts_.store->ListFrom(path, resume, CallerDeadline(), [&](const ListEntry& entry) {
    if (entry.kind == ObjectInfo::Kind::kOther) return true;
    if (path.empty() && entry.name == kControlDirectory) return true;
    const bool directory = entry.kind == ObjectInfo::Kind::kDirectory;
    const std::uint64_t inode = StableInode((directory ? "d:" : "f:") + JoinPath(path, entry.name));
    const std::uint64_t next = std::min(entry.resume, kLargestCookie - 2) + 2;
    return listing.visitor({entry.name, inode, directory, next, std::nullopt});
  });
}

Status VolumeFs::ListDirectory(const DirectoryTarget& directory, const Listing& listing) {
  const std::uint64_t inode =
      directory.path.empty() ? kRootNode : StableInode("d:" + directory.path);
  if (!ListDots(inode, listing)) return {};
  const auto overlay = directory.opaque ? nullptr : parts_.datasets->Find(directory.path);
  if (!overlay || (overlay->trees.empty() && overlay->virtual_children.empty())) {
    return ListPlainDirectory(directory.path, listing);
  }
  const DirectoryOverlay& special = *overlay;
  bool more = listing.cookie < kDocumentCookie;
  const auto is_document = [&](std::string_view name) {
    return special.document && special.document->name == name;
  };
  if (listing.cookie < kTreeCookies) {
    const auto shown = [&](std::string_view name) {
      if (IsHidden(special, name) || is_document(name)) return false;
      return special.holds_plain_chunks ||
             std::all_of(special.trees.begin(), special.trees.end(), [&](const auto& tree) {
               return tree->Resolve({}, name).kind == ChunkTree::Match::Kind::kOther;
             });
    };
    UNSHARD_RETURN_IF_ERROR(
        ListSourceNames(directory.path, directory.path, special, shown, listing, more));
  }
  const std::size_t tree_count = std::min(special.trees.size(), kMaxSharedTrees);
  for (std::size_t i = 0; i < tree_count && more; ++i) {
    const std::uint64_t base = kTreeCookies + (std::uint64_t{i} << kTreeShift);
    const bool later = tree_count > 1 && listing.cookie >= base + (std::uint64_t{1} << kTreeShift);
    if (later) continue;
    UNSHARD_RETURN_IF_ERROR(ListTree(special.trees[i], {}, base, listing, more));
  }
  // Who removes a tree in the order of its listings removes the chunks before what tells how they
  // are stored: that can go once they are gone.
  if (!more || !special.document) return {};
  const std::string& name = special.document->name;
  const std::uint64_t document = LastInode("f:" + JoinPath(directory.path, name));
  listing.visitor({name, document, false, kDocumentCookie, std::nullopt});
  return {};
}

Status VolumeFs::ListGridDirectory(const std::shared_ptr<ChunkTree>& tree, const GridDirectory& in,
                                   const Listing& listing) {
  if (!ListDots(InodeOf(*tree, {ChunkTree::Match::Kind::kDirectory, in, {}}), listing)) return {};
  bool more = true;
  const std::string store_directory = tree->StoreDirectory(in);
  const bool of_source = tree->IsStoreDirectory(in);
  if ((of_source || writable()) && listing.cookie < kTreeCookies) {
    const auto shown = [&](std::string_view name) {
      return of_source && !IsHidden(*tree, in, name) &&
             tree->Resolve(in, name).kind == ChunkTree::Match::Kind::kOther;
    };
    UNSHARD_RETURN_IF_ERROR(
        ListSourceNames(store_directory, PathOfDirectory(tree, in), {}, shown, listing, more));
  }
  if (!more) return {};
  parts_.watcher->Watch(store_directory);
  return ListTree(tree, in, kTreeCookies, listing, more);
}

Status VolumeFs::ListTree(const std::shared_ptr<ChunkTree>& tree, const GridDirectory& in,
                          std::uint64_t base_cookie, const Listing& listing, bool& more) {
  if (tree->IsStoreDirectory(in)) parts_.watcher->Watch(tree->StoreDirectory(in));
  auto give = AttributeDemand::Give::kNone;
  if (listing.with_attributes) give = attribute_demand_.ListingBegins();
  const auto visit = [&](const ChunkTree::Listed& listed) {
    const bool directory = listed.match.kind == ChunkTree::Match::Kind::kDirectory;
    const bool written = !directory && writable();
    DirectoryName name{
        listed.name,
        written ? InodeOfChunk(tree, listed.match.chunk) : InodeOf(*tree, listed.match), directory,
        base_cookie + listed.next_cookie, std::nullopt};
    if (directory ? listing.with_attributes : give == AttributeDemand::Give::kAll) {
      name.entry = FreeEntry(tree, listed.match);
    }
    if (!directory && give == AttributeDemand::Give::kAllButOne) {
      give = AttributeDemand::Give::kAll;
    }
    more = listing.visitor(name);
    if (!more && name.entry) Forget(name.entry->node, 1);
    return more;
  };
  const auto damaged = [&](const Error& error) { Report("readdir", listing.node, "", error); };
  const std::uint64_t cookie = listing.cookie > base_cookie ? listing.cookie - base_cookie : 0;
  // Who cleans up finds what is left of temporary files.
  std::vector<GridDirectory> with_scratch;
  if (writable() && tree->depth() > 0) {
    for (const std::string& name : scratch_.NamesAbove(PathOfDirectory(tree, in))) {
      const ChunkTree::Match match = tree->Resolve(in, name);
      if (match.kind != ChunkTree::Match::Kind::kDirectory) continue;
      with_scratch.push_back(match.directory);
    }
  }
  return tree->List(in, cookie, listing.mode, visit, damaged, with_scratch);
}

Result<bool> VolumeFs::IsEmpty(const std::shared_ptr<ChunkTree>& tree, const GridDirectory& in) {
  bool empty = true;
  const DirectoryVisitor visit = [&](const DirectoryName&) { return empty = false; };
  UNSHARD_RETURN_IF_ERROR(
      ListGridDirectory(tree, in, {kRootNode, kDotsCookie, false, visit, ListMode::kPresent}));
  return empty;
}

Result<bool> VolumeFs::IsEmpty(const DirectoryTarget& directory) {
  bool empty = true;
  const DirectoryVisitor visit = [&](const DirectoryName&) { return empty = false; };
  UNSHARD_RETURN_IF_ERROR(
      ListDirectory(directory, {kRootNode, kDotsCookie, false, visit, ListMode::kPresent}));
  return empty;
}

std::optional<Entry> VolumeFs::FreeEntry(const std::shared_ptr<ChunkTree>& tree,
                                         const ChunkTree::Match& match) {
  if (match.kind == ChunkTree::Match::Kind::kDirectory) {
    auto entry = ReferGridDirectory(tree, match.directory);
    if (!entry || entry->node == 0) return std::nullopt;
    return *entry;
  }
  if (!ChunkReader::SizeIsFree(*tree, match.chunk)) return std::nullopt;
  if (writable()) {
    const ChunkId id = ChunkId::Of(*tree, match.chunk);
    if (tree->is_mesh() || writers_.HasWriter(id) || parts_.written->Find(id)) return std::nullopt;
    if (choice_.UseFor(id) == NodeUse::kOwn) return std::nullopt;
  }
  const auto facts = reader_.Find(*tree, match.chunk);
  if (!facts || !*facts) return std::nullopt;
  return ReferChunk(tree, match.chunk, **facts);
}

Result<std::optional<std::string>> VolumeFs::GetExtendedAttribute(NodeId id,
                                                                  std::string_view name) {
  constexpr std::string_view kPrefix = "user.unshard.";
  if (!name.starts_with(kPrefix)) return std::nullopt;
  name.remove_prefix(kPrefix.size());
  std::shared_ptr<ChunkTree> tree;
  ChunkRef chunk;
  ShardGenerationPtr generation;
  if (const auto grid = UnpackGridNode(id)) {
    tree = parts_.datasets->TreeAt(grid->ordinal);
    if (!tree) return std::nullopt;
    const ChunkTree::Match match = tree->AtPosition(grid->position);
    if (match.kind != ChunkTree::Match::Kind::kChunk) return std::nullopt;
    chunk = match.chunk;
    generation = tree->shards().Find(chunk.slot.shard, grid->generation_count);
  } else {
    const TablePtr node = nodes_.Get(id);
    const auto* written = node ? std::get_if<WrittenTarget>(&node->target) : nullptr;
    const auto* target = node ? std::get_if<ChunkTarget>(&node->target) : nullptr;
    if (target != nullptr) {
      tree = target->tree;
      chunk = target->chunk;
      generation = tree->shards().Find(chunk.slot.shard, target->generation_count);
    } else if (written != nullptr && !parts_.written->SpooledOf(*written->version)) {
      // Published: the shard has it, unless another version came after it.
      tree = written->version->tree;
      chunk = written->version->chunk;
      if (parts_.written->Find(ChunkId::Of(*tree, chunk)) != written->version) return std::nullopt;
      UNSHARD_ASSIGN_OR_RETURN(generation,
                               tree->shards().Current(chunk.slot.shard, CallerDeadline()));
    }
  }
  if (!generation) return std::nullopt;
  UNSHARD_ASSIGN_OR_RETURN(const auto facts, reader_.FindIn(*tree, chunk, generation));
  if (!facts) return std::nullopt;
  if (name == "shard") return generation->key;
  if (name == "offset") return std::to_string(facts->stored.begin);
  if (name == "length") return std::to_string(facts->stored.size);
  if (name == "id") return std::to_string(chunk.slot.slot);
  if (name == "generation") {
    // A number, as the other attributes are; the same in every mount of the same shard.
    return std::to_string(StableInode(generation->object->info().generation.tag));
  }
  return std::nullopt;
}

std::vector<std::string> VolumeFs::ListExtendedAttributes(NodeId id) {
  bool chunk = false;
  if (const auto grid = UnpackGridNode(id)) {
    const auto tree = parts_.datasets->TreeAt(grid->ordinal);
    chunk = tree && tree->AtPosition(grid->position).kind == ChunkTree::Match::Kind::kChunk;
  } else {
    const TablePtr node = nodes_.Get(id);
    chunk = node && (std::holds_alternative<ChunkTarget>(node->target) ||
                     std::holds_alternative<WrittenTarget>(node->target));
  }
  // A chunk that is not in its shard yet has nothing to tell.
  if (!chunk || !GetExtendedAttribute(id, "user.unshard.shard").value_or(std::nullopt)) return {};
  return {"user.unshard.shard", "user.unshard.offset", "user.unshard.length", "user.unshard.id",
          "user.unshard.generation"};
}

}  // namespace unshard
