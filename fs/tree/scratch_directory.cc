#include "fs/tree/scratch_directory.h"

#include "fs/common/request_failures.h"
#include "fs/tree/listing.h"
#include "fs/tree/scratch_name.h"
#include "fs/tree/superblock.h"

namespace unshard {

std::string ScratchDirectoryNode::Path() const {
  return superblock().scratch.PathOf(*directory_).value_or("(a removed scratch directory)");
}

Result<NamePtr> ScratchDirectoryNode::Find(std::string_view name) {
  auto path = superblock().scratch.PathOf(*directory_);
  if (!path) return FailWith(ENOENT, ErrorCode::kNotFound, "the directory was removed");
  return std::make_unique<ScratchName>(superblock(), *std::move(path), name,
                                       superblock().Timeout());
}

Result<Entry> ScratchDirectoryNode::Lookup(std::string_view name, pid_t thread) {
  if (!superblock().scratch.PathOf(*directory_)) return superblock().Missing();
  return Directory::Lookup(name, thread);
}

Status ScratchDirectoryNode::List(const Listing& listing) {
  if (!ListDots(inode(), listing)) return {};
  const auto path = superblock().scratch.PathOf(*directory_);
  if (!path) return {};
  const auto collect = [&](std::vector<DirectorySnapshots::Name>& names) -> Status {
    for (const auto& name : superblock().scratch.Names(*path)) {
      names.push_back({name.name, name.directory});
    }
    return {};
  };
  UNSHARD_RETURN_IF_ERROR(ListSnapshot(superblock(), *path, collect, listing));
  return {};
}

Result<Entry> ScratchDirectoryNode::Stat() {
  return Entry{id(), {inode(), 0, directory_->made, true}, superblock().Timeout()};
}

Entry ReferScratchDirectory(Superblock& superblock, const ScratchDirectoryPtr& directory) {
  const std::string identity = "x:" + std::to_string(directory->number);
  const std::uint64_t inode = StableInode(identity);
  const NodePtr node = superblock.nodes.Refer(identity, [&](NodeId id) {
    return std::make_shared<ScratchDirectoryNode>(superblock, id, inode, directory);
  });
  return Entry{node->id(), {inode, 0, directory->made, true}, superblock.Timeout()};
}

}  // namespace unshard
