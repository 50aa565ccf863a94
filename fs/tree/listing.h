// READDIR: the parts of which listings of all kinds of directories consist.
//
// A cookie is where a listing continues: 1 and 2 are "." and "..", then come names of the source by
// their place in a snapshot, and from kTreeCookies on the chunks by their position in storage
// order, and then documents. Once something had to be left out of the listing, the cookies from
// kTreeCookies on are moved down by kLeftOut: the request that comes to the end of the listing then
// fails, whichever request has left it out.
// Functions that return a Result<bool> give false where the visitor has stopped.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "codec/core/error.h"
#include "fs/tree/directory_snapshots.h"
#include "fs/tree/entry.h"
#include "store/chunks/chunk_tree.h"
#include "store/dataset/dataset_index.h"

namespace unshard {

struct Superblock;

inline constexpr std::uint64_t kAfterDots = 2;
inline constexpr std::uint64_t kTreeCookies = std::uint64_t{1} << 62;
inline constexpr std::uint64_t kLeftOut = std::uint64_t{1} << 61;
inline constexpr std::uint64_t kLargestDocumentCookie = kTreeCookies + kLeftOut - 1;
// The store's cookies are moved up by two; ext4 ends its directories with the largest there is.
inline constexpr std::uint64_t kLargestCookie = (std::uint64_t{1} << 63) - 1;

// "." and "..", of a directory with this st_ino.
bool ListDots(std::uint64_t inode, const Listing& listing);

// Names that are collected when a listing begins, and kept until it ends.
using NameCollector = std::function<Status(std::vector<DirectorySnapshots::Name>&)>;
// The inode of a path below the mount point.
using InodeOfPath = std::function<std::uint64_t(const std::string& path, bool directory)>;
// `inode_of`: null for those of the source's files and directories.
Result<bool> ListSnapshot(Superblock& superblock, const std::string& path,
                          const NameCollector& collect, const Listing& listing,
                          const InodeOfPath& inode_of = nullptr);

// Names of a directory of the source for which `presented` is true (none of them where it is null),
// those of its overlay, and scratch files; sorted. `presented_as`: its path below the mount point.
using NameFilter = std::function<bool(std::string_view)>;
Result<bool> ListSourceNames(Superblock& superblock, const std::string& path,
                             const std::string& presented_as, const DirectoryOverlay& overlay,
                             const NameFilter& presented, const Listing& listing);
// All names of a directory of the source, in the store's order.
Status ListPlainDirectory(Superblock& superblock, const std::string& path, const Listing& listing);

// Runs `list` for a directory with chunks, and fails with EIO at the end of the listing where
// chunks that may be there were left out of it, in this request or in one before it. The reasons
// are reported when they are met, and not once more.
using ListPart = std::function<Status(const Listing&)>;
Status ListWithChunks(const Listing& listing, const ListPart& list);

// The chunks and directories of a tree in one of its directories; cookies from `base_cookie` on.
// Requires: is called by ListWithChunks().
Result<bool> ListTree(Superblock& superblock, const std::shared_ptr<ChunkTree>& tree,
                      const GridDirectory& in, std::uint64_t base_cookie, const Listing& listing);

}  // namespace unshard
