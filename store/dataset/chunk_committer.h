// Committing: from the staged bytes of a chunk file to its latest version, in this mount's spool.
#pragma once

#include <cstdint>
#include <ctime>
#include <functional>
#include <memory>
#include <utility>

#include "store/dataset/commit_checks.h"
#include "store/dataset/current_chunks.h"
#include "store/dataset/dataset_index.h"
#include "store/dataset/spooled_versions.h"

namespace unshard {

// What a version is committed as.
struct ChunkCommit {
  std::shared_ptr<ChunkTree> tree;
  ChunkRef chunk;
  bool gzipped = false;  // the bytes are a gzip file with the chunk in it
  timespec modified{};
  std::uint64_t inode = 0;
  // The kernel may have pages of the past for the chunk's arithmetic node.
  bool pages_doubtful = false;
};

// Thread-safe. Every commit fails, and nothing changes, with
//   kInvalidArgument    the bytes cannot be right (CommitChecks); EFBIG, ENAMETOOLONG: a limit
//   kConflict           the tree has retired, and no other one stores its chunks alike
//   kResourceExhausted  ENOSPC: the spool is full
// and where the bytes that are replaced cannot be read.
class ChunkCommitter {
 public:
  // Stores that may be away, so that what a chunk replaces cannot be found out. Both null for
  // others: committing fails then.
  struct StoreAway {
    std::function<bool()> is_away;                  // as far as is known
    std::function<void(const Error& error)> found;  // it has just been found to be
  };
  // How what a chunk replaces is found out.
  enum class Replaced {
    kRead,       // its bytes are read: a change by another process is recognised later
    kOnlyFound,  // no other process writes: whether there is a chunk is enough
  };
  // References outlive this object.
  ChunkCommitter(std::shared_ptr<Spool> spool, std::shared_ptr<CommittedVersions> written,
                 const DatasetIndex& index, const CommitChecks& checks,
                 const CurrentChunks& current, SpooledVersions& versions, Replaced replaced,
                 StoreAway store_away = {})
      : spool_(std::move(spool)),
        written_(std::move(written)),
        index_(index),
        checks_(checks),
        current_(current),
        versions_(versions),
        replaced_(replaced),
        store_away_(std::move(store_away)) {}

  // Seals `staged`. From return on the version survives the end of this process, and readers see
  // it.
  Result<WrittenVersionPtr> CommitBytes(const ChunkCommit& to, StagedFile& staged);
  // The same for a tombstone.
  Result<WrittenVersionPtr> CommitRemoval(const ChunkCommit& of);
  // Both, or nothing, also for the next mount where this one is killed meanwhile. Both survive a
  // power loss from return on.
  Status CommitMove(const ChunkCommit& to, StagedFile& staged, const ChunkCommit& of);

 private:
  // A version that is still to be sealed, and the terms of its seal.
  struct Prepared {
    WrittenVersionPtr version;
    SealTerms terms;
  };
  Result<ChunkCommit> InServedTree(const ChunkCommit& commit) const;
  Status Check(const ChunkCommit& commit, StagedFile& staged) const;
  Result<std::shared_ptr<StagedFile>> Inflated(const ChunkCommit& commit, StagedFile& staged);
  Result<Prepared> Prepare(const ChunkCommit& commit);
  Result<StoredChunkPrint> StoredPrint(const ChunkCommit& commit) const;
  Result<ReplacedBytes> WhatIsReplaced(const WrittenVersionPtr& before,
                                       const ChunkCommit& commit) const;
  Result<WrittenVersionPtr> Seal(const ChunkCommit& commit, StagedFile* staged);

  const std::shared_ptr<Spool> spool_;
  const std::shared_ptr<CommittedVersions> written_;
  const DatasetIndex& index_;
  const CommitChecks& checks_;
  const CurrentChunks& current_;
  SpooledVersions& versions_;
  const Replaced replaced_;
  const StoreAway store_away_;
};

}  // namespace unshard
