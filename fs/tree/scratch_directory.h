// A directory that a program made for its temporary files.
#pragma once

#include "fs/tree/node.h"
#include "fs/write/scratch_files.h"

namespace unshard {

class ScratchDirectoryNode final : public Directory {
 public:
  ScratchDirectoryNode(Superblock& superblock, NodeId id, std::uint64_t inode,
                       ScratchDirectoryPtr directory)
      : Directory(superblock, id, inode), directory_(std::move(directory)) {}

  [[nodiscard]] std::string Path() const override;
  Result<std::unique_ptr<Name>> Find(std::string_view name) override;
  Result<Entry> Lookup(std::string_view name, pid_t thread) override;
  Status List(const Listing& listing) override;
  [[nodiscard]] bool ListingIsKept() const override { return false; }

 protected:
  Result<Entry> Stat() override;

 private:
  const ScratchDirectoryPtr directory_;
};

Entry ReferScratchDirectory(Superblock& superblock, const ScratchDirectoryPtr& directory);

}  // namespace unshard
