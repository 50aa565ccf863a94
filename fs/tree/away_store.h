// Requests of a writable mount while its remote store does not answer.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "codec/core/error.h"
#include "fs/tree/chunk_node.h"
#include "store/local/file_system.h"
#include "store/object/deadline.h"

namespace unshard {

// While it lives, the requests of this thread to a remote store have a short deadline: for answers
// that the caller can do without. Has no effect where the source is a directory.
class BriefWait {
 public:
  explicit BriefWait(const Superblock& superblock);

 private:
  std::optional<ServedCaller> caller_;
};

// Whether the error means that the store of a writable mount is away (MeansAway). Never of a source
// that is a directory, nor on a read-only mount.
bool IsStoreAway(const Superblock& superblock, const Error& error);

// What programs see under a key of the source, as FileSystem::Stat; a store that is away is waited
// for briefly.
Result<std::optional<FileStatus>> StatBriefly(Superblock& superblock, const std::string& path);

// A chunk of which the store, which is away, could not be asked whether it exists. The name leads
// here so that the chunk can be written: LOOKUP does not say what for, and after ENOENT programs
// would take the chunk for absent. Replacing it (O_TRUNC, rename) asks the store nothing; all else
// does, and fails where that is still away.
class UnknownChunk final : public ChunkNode {
 public:
  UnknownChunk(Superblock& superblock, NodeId id, std::uint64_t inode,
               std::shared_ptr<ChunkTree> tree, const ChunkRef& chunk)
      : ChunkNode(superblock, id, inode, std::move(tree), chunk, NodeUse::kOwn) {}

  [[nodiscard]] Seen FindLatest() const override { return {Latest(), false}; }
  // Nothing: readers get the latest version, which is looked for then.
  Result<std::optional<Version>> OpenVersion(const Seen& seen) override;
  [[nodiscard]] std::vector<std::string> ExtendedAttributes() override { return {}; }

 protected:
  // Those of the latest version.
  Result<Entry> Stat() override;
};

// The entry of such a node, which is given to one look-up.
Entry ReferUnknownChunk(Superblock& superblock, const std::shared_ptr<ChunkTree>& tree,
                        const ChunkRef& chunk);

}  // namespace unshard
