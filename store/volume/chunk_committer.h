// Committing: from the staged bytes of a chunk file to its latest version, in this mount's spool.
#pragma once

#include <cstdint>
#include <ctime>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "store/chunks/current_chunks.h"
#include "store/dataset/dataset_index.h"
#include "store/object/path_locks.h"
#include "store/volume/commit_checks.h"
#include "store/volume/spooled_versions.h"

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
  // What the shard holds in its place; null unless the caller has just read that.
  std::shared_ptr<const StoredChunkPrint> replaces = nullptr;
};

// What commits have to know of the source.
struct CommittedTo {
  bool removes_objects = true;  // ObjectReplacer::removes_atomically
  // What precedes the source's own directories in those of trees ("native/"): a spool belongs to
  // the source, whichever views it is mounted with.
  std::string root = {};
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
                 StoreAway store_away = {}, const CommittedTo& source = {})
      : removes_objects_(source.removes_objects),
        root_(source.root),
        spool_(std::move(spool)),
        written_(std::move(written)),
        index_(index),
        checks_(checks),
        current_(current),
        versions_(versions),
        replaced_(replaced),
        store_away_(std::move(store_away)) {}

  // Seals `staged`, in a view what is to be stored for it. From return on the version survives the
  // end of this process, and readers see it. Of several chunks that are stored for one of a view,
  // all or none are seen, also by the next mount where this one is killed meanwhile. Returns the
  // last of them.
  Result<WrittenVersionPtr> CommitBytes(const ChunkCommit& to, StagedFile& staged);
  // The same for a tombstone. Where readers of a view would not see what it means (they take an
  // absent chunk for zeros), or the object of an unsharded array cannot be removed, a chunk of the
  // value that they see is stored.
  Result<WrittenVersionPtr> CommitRemoval(const ChunkCommit& of);
  // Both, or nothing, also for the next mount where this one is killed meanwhile. Both survive a
  // power loss from return on. Where no tombstone can be stored, or either is several chunks that
  // are stored: one after the other.
  Status CommitMove(const ChunkCommit& to, StagedFile& staged, const ChunkCommit& of);

 private:
  // A version that is still to be sealed, and the terms of its seal.
  struct Prepared {
    WrittenVersionPtr version;
    SealTerms terms;
  };
  Result<ChunkCommit> InServedTree(const ChunkCommit& commit) const;
  Status Check(const ChunkCommit& commit, StagedFile& staged) const;
  Result<Bytes> WholeOf(const ChunkCommit& commit, StagedFile& staged) const;
  Result<std::shared_ptr<StagedFile>> Inflated(const ChunkCommit& commit, StagedFile& staged);
  // What is stored for a commit: of a chunk of a view, one or several others.
  struct StoredCommit {
    ChunkCommit commit;
    std::shared_ptr<StagedFile> restored;  // null where the bytes are stored as they are
    StagedFile* bytes = nullptr;           // null: a tombstone
  };
  using StoredCommits = std::vector<StoredCommit>;
  static ChunkCommit AsStored(const ChunkCommit& commit);
  Result<StoredCommits> Stored(const ChunkCommit& commit, StagedFile& staged);
  Result<StoredCommits> StoredRemoval(const ChunkCommit& commit);
  // One for each of the chunks that are stored.
  Result<StoredCommits> WithBytes(const ChunkCommit& commit, const std::vector<ByteVector>& bytes);
  [[nodiscard]] bool RemovalIsChunk(const ChunkCommit& commit) const;
  Result<std::shared_ptr<StagedFile>> Staged(ByteSpan bytes);
  [[nodiscard]] std::string DatasetOf(const ChunkTree& tree) const;
  Result<Prepared> Prepare(const ChunkCommit& commit);
  Result<StoredChunkPrint> StoredPrint(const ChunkCommit& commit) const;
  Result<ReplacedBytes> WhatIsReplaced(const WrittenVersionPtr& before,
                                       const ChunkCommit& commit) const;
  // Of all or none; several are one at a time, so that those of one chunk are of one writer.
  Result<WrittenVersionPtr> Seal(const StoredCommits& commits);

  const bool removes_objects_;
  const std::string root_;
  const std::shared_ptr<Spool> spool_;
  const std::shared_ptr<CommittedVersions> written_;
  const DatasetIndex& index_;
  const CommitChecks& checks_;
  const CurrentChunks& current_;
  SpooledVersions& versions_;
  const Replaced replaced_;
  const StoreAway store_away_;
  PathLocks sealing_;  // by the path of the first chunk
};

}  // namespace unshard
