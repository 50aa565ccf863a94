// What readers of a writable volume see of each chunk: its latest committed version, and where
// there is none, what its shard holds.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "store/chunks/chunk_content.h"
#include "store/chunks/committed_versions.h"

namespace unshard {

// What a shard holds in the place of one chunk.
struct StoredChunkPrint {
  ChunkFingerprint fingerprint;
  // The version of the shard that holds it; nothing where the chunk is absent.
  std::optional<Generation> in = std::nullopt;
};

// Thread-safe. No lock is held across I/O.
class CurrentChunks {
 public:
  explicit CurrentChunks(std::shared_ptr<CommittedVersions> written)
      : written_(std::move(written)) {}

  // The bytes that readers see now; null where the chunk is absent.
  Result<ContentPtr> Current(const std::shared_ptr<ChunkTree>& tree, const ChunkRef& chunk) const;
  // The bytes of one committed version as they are stored. kConflict where the spool no longer has
  // them and a later version has been committed.
  Result<ContentPtr> ContentOf(const WrittenVersionPtr& version) const;
  // The same, of a version of this chunk, as the tree presents it. Null where the chunk is absent.
  Result<ContentPtr> ContentIn(const std::shared_ptr<ChunkTree>& tree, const ChunkRef& chunk,
                               const WrittenVersionPtr& version) const;
  // The size of that; nothing where the chunk is absent.
  Result<std::optional<std::uint64_t>> SizeIn(const std::shared_ptr<ChunkTree>& tree,
                                              const ChunkRef& chunk,
                                              const WrittenVersionPtr& version) const;
  // The bytes that the shard holds, whatever has been committed since; null where it has none.
  Result<ContentPtr> Stored(const std::shared_ptr<ChunkTree>& tree, const ChunkRef& chunk) const;
  // Of the same bytes, all of which are read for it. Requires: a ShardedTree.
  Result<StoredChunkPrint> StoredFingerprint(const std::shared_ptr<ChunkTree>& tree,
                                             const ChunkRef& chunk) const;
  // The same from the shard's index alone: where there is a chunk its bytes are not known.
  Result<StoredChunkPrint> StoredVersion(const std::shared_ptr<ChunkTree>& tree,
                                         const ChunkRef& chunk) const;

 private:
  const std::shared_ptr<CommittedVersions> written_;
};

}  // namespace unshard
