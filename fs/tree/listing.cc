#include "fs/tree/listing.h"

#include <algorithm>

#include "fs/common/request_failures.h"
#include "fs/tree/chunk_lookup.h"
#include "fs/tree/control.h"
#include "fs/tree/grid_directory.h"
#include "fs/tree/stored_chunk.h"
#include "fs/tree/superblock.h"

namespace unshard {
namespace {

constexpr unsigned kNumberShift = 32;

std::uint64_t InodeOfName(const std::string& path, bool directory) {
  return StableInode((directory ? "d:" : "f:") + path);
}

// Directories of the tree that hold only leftover scratch files: listed for programs that clean up.
std::vector<GridDirectory> WithScratch(const Superblock& superblock, const ChunkTree& tree,
                                       const GridDirectory& in) {
  std::vector<GridDirectory> found;
  if (!superblock.writable() || tree.depth() == 0) return found;
  for (const std::string& name : superblock.scratch.NamesAbove(PathIn(tree, in))) {
    const ChunkTree::Match match = tree.Resolve(in, name);
    if (match.kind == ChunkTree::Match::Kind::kDirectory) found.push_back(match.directory);
  }
  return found;
}

}  // namespace

bool ListDots(std::uint64_t inode, const Listing& listing) {
  if (listing.cookie < 1 && !listing.visitor({".", inode, true, 1, std::nullopt})) return false;
  return listing.cookie >= 2 || listing.visitor({"..", kRootNode, true, 2, std::nullopt});
}

Result<bool> ListSnapshot(Superblock& superblock, const std::string& path,
                          const NameCollector& collect, const Listing& listing,
                          const InodeOfPath& inode_of) {
  const std::uint64_t number = listing.cookie >> kNumberShift;
  auto snapshot = number == 0 ? nullptr : superblock.snapshots.Get(number);
  if (!snapshot) {
    std::vector<DirectorySnapshots::Name> fresh;
    UNSHARD_RETURN_IF_ERROR(collect(fresh));
    snapshot = superblock.snapshots.Put(std::move(fresh));
  }
  const std::uint64_t base = snapshot->number << kNumberShift;
  std::uint64_t at = number == 0 ? 0 : listing.cookie - (number << kNumberShift);
  for (; at < snapshot->names.size(); ++at) {
    const DirectorySnapshots::Name& name = snapshot->names[at];
    const std::string named = JoinPath(path, name.name);
    const std::uint64_t inode =
        inode_of ? inode_of(named, name.directory) : InodeOfName(named, name.directory);
    if (!listing.visitor({name.name, inode, name.directory, base + at + 1, std::nullopt})) {
      return false;
    }
  }
  return true;
}

Result<bool> ListSourceNames(Superblock& superblock, const std::string& path,
                             const std::string& presented_as, const DirectoryOverlay& overlay,
                             const NameFilter& presented, const Listing& listing) {
  const auto collect = [&](std::vector<DirectorySnapshots::Name>& fresh) -> Status {
    const auto collect_stored = [&](const ListEntry& entry) {
      const bool directory = entry.kind == ObjectInfo::Kind::kDirectory;
      const bool ours = path.empty() && entry.name == kControlDirectory;
      if (entry.kind != ObjectInfo::Kind::kOther && !ours && presented(entry.name)) {
        fresh.push_back({std::string(entry.name), directory});
      }
      return true;
    };
    if (presented) {
      superblock.parts.watcher->Watch(path);
      UNSHARD_RETURN_IF_ERROR(superblock.parts.store->List(path, CallerDeadline(), collect_stored));
    }
    for (const std::string& child : overlay.virtual_children) fresh.push_back({child, true});
    for (const auto& name : superblock.scratch.Names(presented_as)) {
      fresh.push_back({name.name, name.directory});
    }
    const auto by_name = [](const auto& a, const auto& b) { return a.name < b.name; };
    const auto same = [](const auto& a, const auto& b) { return a.name == b.name; };
    std::sort(fresh.begin(), fresh.end(), by_name);
    fresh.erase(std::unique(fresh.begin(), fresh.end(), same), fresh.end());
    return {};
  };
  return ListSnapshot(superblock, path, collect, listing);
}

Status ListPlainDirectory(Superblock& superblock, const std::string& path, const Listing& listing) {
  if (listing.cookie == kLargestCookie) return {};
  superblock.parts.watcher->Watch(path);
  const std::uint64_t resume = listing.cookie > 2 ? listing.cookie - 2 : 0;
  return superblock.parts.store->ListFrom(
      path, resume, CallerDeadline(), [&](const ListEntry& entry) {
        if (entry.kind == ObjectInfo::Kind::kOther) return true;
        if (path.empty() && entry.name == kControlDirectory) return true;
        const bool directory = entry.kind == ObjectInfo::Kind::kDirectory;
        const std::uint64_t inode = InodeOfName(JoinPath(path, entry.name), directory);
        const std::uint64_t next = std::min(entry.resume, kLargestCookie - 2) + 2;
        return listing.visitor({entry.name, inode, directory, next, std::nullopt});
      });
}

Status ListWithChunks(const Listing& listing, const ListPart& list) {
  bool left_out = listing.cookie >= kTreeCookies - kLeftOut && listing.cookie < kTreeCookies;
  bool stopped = false;
  const DirectoryVisitor visit = [&](const DirectoryName& name) {
    if (left_out && name.next_cookie >= kTreeCookies) {
      DirectoryName marked = name;
      marked.next_cookie -= kLeftOut;
      stopped = !listing.visitor(marked);
    } else {
      stopped = !listing.visitor(name);
    }
    return !stopped;
  };
  const std::uint64_t cookie = left_out ? listing.cookie + kLeftOut : listing.cookie;
  UNSHARD_RETURN_IF_ERROR(
      list({listing.node, cookie, listing.with_attributes, visit, listing.mode, &left_out}));
  if (stopped || !left_out) return {};
  return IncompleteListing();
}

Result<bool> ListTree(Superblock& superblock, const std::shared_ptr<ChunkTree>& tree,
                      const GridDirectory& in, std::uint64_t base_cookie, const Listing& listing) {
  if (tree->IsStoreDirectory(in)) superblock.parts.watcher->Watch(tree->StoreDirectory(in));
  using Give = AttributeDemand::Give;
  Give give = listing.with_attributes ? superblock.attribute_demand.ListingBegins() : Give::kNone;
  const std::uint64_t cookie = listing.cookie > base_cookie ? listing.cookie - base_cookie : 0;
  int few = give == Give::kFew && cookie == 0 ? AttributeDemand::kFewChunks : -1;
  bool more = true;
  const auto visit = [&](const ChunkTree::Listed& listed) {
    if (few == 0) more = false;
    if (!more) return false;
    const bool directory = listed.match.kind == ChunkTree::Match::Kind::kDirectory;
    DirectoryName name{listed.name, 0, directory, base_cookie + listed.next_cookie, std::nullopt};
    if (directory) {
      name.inode = InodeOfGridDirectory(*tree, listed.match.directory);
      if (listing.with_attributes) {
        const auto entry = ReferGridDirectory(superblock, tree, listed.match.directory);
        if (entry) name.entry = *entry;
      }
    } else {
      name.inode = InodeOfChunk(superblock, *tree, listed.match.chunk);
      if (give == Give::kAll || give == Give::kFew) {
        name.entry = EntryWithoutIo(superblock, tree, listed.match.chunk);
      }
      if (few > 0) --few;
      if (give == Give::kAllButOne) give = Give::kAll;
    }
    more = listing.visitor(name);
    if (!more && name.entry) superblock.Forget(name.entry->node, 1);
    return more;
  };
  const auto damaged = [&](const Error& error, ChunkTree::Unreadable shown) {
    superblock.Report("readdir", PathIn(*tree, in), error);
    if (shown == ChunkTree::Unreadable::kLeftOut) *listing.left_out = true;
    // The kernel is not to keep what may be another listing once this can be read.
    const bool is_for_kernel = listing.node != kNoNode;
    if (is_for_kernel && superblock.drop_listing) superblock.drop_listing(listing.node);
  };
  UNSHARD_RETURN_IF_ERROR(
      tree->List(in, cookie, listing.mode, visit, damaged, WithScratch(superblock, *tree, in)));
  return more;
}

}  // namespace unshard
