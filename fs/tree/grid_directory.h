// Directories of the chunk grid: those inside a tree whose chunk keys have several components.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "fs/tree/name.h"
#include "fs/tree/node.h"
#include "store/chunks/chunk_tree.h"

namespace unshard {

// Below the first level of its tree; every directory of the grid exists.
class GridDirectoryNode final : public Directory {
 public:
  GridDirectoryNode(Superblock& superblock, NodeId id, std::uint64_t inode,
                    std::shared_ptr<ChunkTree> tree, const GridDirectory& in)
      : Directory(superblock, id, inode), tree_(std::move(tree)), in_(in) {}

  [[nodiscard]] std::string Path() const override;
  // Chunks and directories of the tree; else what the source has in a directory of the same name,
  // or a scratch file.
  Result<std::unique_ptr<Name>> Find(std::string_view name) override;
  Status List(const Listing& listing) override;
  // On a writable mount only at the last level: a directory of chunks is in the listings of its
  // parents from its first chunk to its last.
  [[nodiscard]] bool ListingIsKept() const override;
  Status Sync() override;

 protected:
  Result<Entry> Stat() override;

 private:
  Result<std::unique_ptr<Name>> FindBesideChunks(std::string_view name);
  Status ListNames(const Listing& listing);  // all but "." and ".."
  [[nodiscard]] bool IsHidden(std::string_view name) const;

  const std::shared_ptr<ChunkTree> tree_;
  const GridDirectory in_;
};

class GridDirectoryName final : public Name {
 public:
  GridDirectoryName(Superblock& superblock, std::string directory, std::string_view name,
                    std::shared_ptr<ChunkTree> tree, const GridDirectory& in)
      : Name(superblock, std::move(directory), name), tree_(std::move(tree)), in_(in) {}

  Result<Entry> Lookup(pid_t thread) override;
  // Succeeds for a directory of the grid, which always exists: a program that creates a tree
  // without looking goes on. Where the kernel has a dentry of it, it answers EEXIST itself.
  Result<Entry> MakeDirectory(mode_t mode) override;
  // Only checks that it is empty: a directory of the grid always exists. Afterwards `thread` does
  // not find it for a while (fs/tree/removed_directories.h).
  Status RemoveDirectory(pid_t thread) override;
  Status RenameTo(Name& to, bool replace) override;

 protected:
  [[nodiscard]] tl::unexpected<Error> Refuse() const override;

 private:
  [[nodiscard]] Result<bool> IsEmpty() const;

  const std::shared_ptr<ChunkTree> tree_;
  const GridDirectory in_;
};

// The path of a directory of a tree, below the mount point.
std::string PathIn(const ChunkTree& tree, const GridDirectory& in);
// Its st_ino.
std::uint64_t InodeOfGridDirectory(const ChunkTree& tree, const GridDirectory& in);
// Fails where the store cannot say when it was modified.
Result<Entry> ReferGridDirectory(Superblock& superblock, const std::shared_ptr<ChunkTree>& tree,
                                 const GridDirectory& in);
// The node of a directory of a tree, level 0 included, if the kernel may refer to it.
std::optional<NodeId> KnownNode(const Superblock& superblock, const ChunkTree& tree,
                                const GridDirectory& in);

// A name in a directory of a tree, and how the tree resolves it.
struct MatchedName {
  std::shared_ptr<ChunkTree> tree;
  GridDirectory in;
  ChunkTree::Match match;
};
// The name of a chunk, of a directory, or (kNoChunk) of nothing.
NamePtr NameInTree(Superblock& superblock, std::string directory, std::string_view name,
                   const MatchedName& matched, LookupOtherwise otherwise);
// "<chunk>.gz", which is not presented but may be written: a chunk in a gzip file.
bool IsGzipName(const ChunkTree& tree, const GridDirectory& in, std::string_view name);

}  // namespace unshard
