// Committing chunks and publishing them: what stands between a written file and its shard.
//
// A chunk's way:
//   1. Commit() checks the staged bytes, seals them in the spool together with the fingerprint of
//      what they replace, and makes them the version that every reader of the mount sees.
//   2. The queue decides when the shard is published (store/publish/queue.h).
//   3. Publish() takes all versions of the shard that are in the spool, has the shard rewritten,
//      and makes the new shard the current generation in the moment in which it is renamed.
//   4. From then on readers are served by the shard, and the spool's files are discarded.
// A version that is superseded while it is published stays in the spool until that has ended.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "store/chunks/chunk_content.h"
#include "store/chunks/written_chunks.h"
#include "store/dataset/dataset_tree.h"
#include "store/dataset/volume_options.h"
#include "store/dataset/write_status.h"
#include "store/publish/publisher.h"
#include "store/publish/queue.h"
#include "store/spool/spool.h"

namespace unshard {

// Thread-safe.
class ChunkWrites {
 public:
  struct Parts {
    std::shared_ptr<ObjectReplacer> replacer;  // of the source
    std::shared_ptr<DatasetTree> datasets;
    std::shared_ptr<WrittenChunks> written;
    // This mount's own spool first, then adopted ones.
    std::vector<std::shared_ptr<Spool>> spools;
    std::string spool_path;  // of this mount's own, for people
    // Told of a shard whose chunks are to be looked at as if somebody else had replaced it.
    std::function<void(const std::string& key)> on_renewed;
  };
  ChunkWrites(Parts parts, const VolumeOptions& options);
  ~ChunkWrites();

  // Takes up what the spools hold from before: published already, still to be published, or in
  // conflict with the store, in which case it is set aside and reported.
  void Replay();

  [[nodiscard]] const std::shared_ptr<Spool>& spool() const { return parts_.spools.front(); }
  [[nodiscard]] WrittenChunks& written() { return *parts_.written; }

  // The bytes that readers see now; null where the chunk is absent.
  Result<ContentPtr> Current(const std::shared_ptr<ChunkTree>& tree, const ChunkRef& chunk);
  // The bytes of one written version; kConflict where it is neither in the spool nor the latest.
  Result<ContentPtr> ContentOf(const WrittenVersionPtr& version);

  // Succeeds where chunks of this tree can be written at all.
  [[nodiscard]] Status CanWrite(const ChunkTree& tree) const;
  // Of the source.
  [[nodiscard]] ObjectReplacer& replacer() const { return *parts_.replacer; }
  // Waits until the spool has room for a new file and so many bytes, slowing down who writes faster
  // than the store.
  Status WaitForRoom(std::uint64_t bytes = 1);

  struct Commit {
    std::shared_ptr<ChunkTree> tree;
    ChunkRef chunk;
    bool gzipped = false;  // the bytes are a gzip file with the chunk in it
    timespec modified{};
    std::uint64_t inode = 0;
    // The kernel may have pages of the past for the chunk's arithmetic node.
    bool pages_doubtful = false;
  };
  // Fails with kInvalidArgument, and nothing changes, where the bytes cannot be right; with
  // kConflict where the tree has retired and no other one stores its chunks alike.
  Result<WrittenVersionPtr> CommitBytes(const Commit& to, StagedFile& staged);
  // Waits for room at the spool's cap, as writers do.
  Result<WrittenVersionPtr> CommitRemoval(const Commit& of);
  // Both, or nothing, also for the next mount where this one is killed meanwhile. Both survive a
  // power loss from return on.
  Status CommitMove(const Commit& to, StagedFile& staged, const Commit& of);

  // Returns once the version survives a power loss (or, with sync=store, stands in its shard).
  Status Sync(const WrittenVersionPtr& version);
  // Returns once the version, or a later one of its chunk, survives a power loss.
  Status SyncInSpool(const WrittenVersionPtr& version);
  // The same for all chunks of one directory of a tree.
  Status SyncDirectory(const ChunkTree& tree, const GridDirectory& in);

  // Publishes all that was committed before the call; in one tree, or everywhere.
  Status Flush(const ChunkTree& tree);
  Status Flush();
  void Hurry() { queue_->Hurry(); }
  // The mount is ending: shards that others hold locked are no longer waited for as long.
  void End() { publisher_.End(); }
  // Somebody else has replaced these shards.
  void ShardReplaced(const DirtyShard& shard) { parts_.written->ForgetPublished(shard); }

  [[nodiscard]] WriteStatus status() const;

 private:
  Result<ContentPtr> Stored(const std::shared_ptr<ChunkTree>& tree, const ChunkRef& chunk);
  Result<ChunkFingerprint> StoredFingerprint(const std::shared_ptr<ChunkTree>& tree,
                                             const ChunkRef& chunk);
  Result<ReplacedBytes> WhatIsReplaced(const WrittenVersionPtr& before,
                                       const std::shared_ptr<ChunkTree>& tree,
                                       const ChunkRef& chunk);
  Result<Commit> InServedTree(const Commit& commit) const;
  Result<std::shared_ptr<StagedFile>> Inflated(const Commit& commit, StagedFile& staged);
  Result<WrittenVersionPtr> Seal(const Commit& commit, StagedFile* staged);
  // A version that is still to be sealed, and with what.
  struct Prepared {
    WrittenVersionPtr version;
    SealTerms terms;
  };
  Result<Prepared> Prepare(const Commit& commit);
  void MakeLatest(const Prepared& prepared, SpooledChunk sealed);
  void MakeLatest(const WrittenVersionPtr& version);
  // Fills what it is given from the start of a chunk's bytes.
  using ReadStart = std::function<Result<std::size_t>(std::span<std::uint8_t> to)>;
  Status CheckBytes(ChunkTree& tree, const ChunkRef& chunk, std::uint64_t size,
                    const ReadStart& read) const;
  Status Check(const Commit& commit, StagedFile& staged) const;
  // EFBIG where its shard could never be published.
  [[nodiscard]] Status CheckShardFits(const Commit& commit, std::uint64_t size) const;

  Result<PublishQueue::Done> Publish(const DirtyShard& shard);
  Result<PublishQueue::Done> PublishVersions(const std::shared_ptr<ChunkTree>& tree,
                                             const DirtyShard& shard,
                                             std::vector<WrittenVersionPtr> versions);
  Result<PublishQueue::Done> LeaveRetired(const std::shared_ptr<ChunkTree>& tree,
                                          const DirtyShard& shard,
                                          const std::vector<WrittenVersionPtr>& versions);
  Status PrepareToPublish(const std::vector<WrittenVersionPtr>& versions);
  std::vector<ShardChange> Changes(const std::vector<WrittenVersionPtr>& versions);
  Result<std::vector<ShardChange>> MeshChanges(const std::shared_ptr<ChunkTree>& tree,
                                               std::vector<WrittenVersionPtr>& versions);
  struct MeshFiles;
  static std::vector<MeshFiles> PairMeshFiles(const std::vector<WrittenVersionPtr>& versions);
  Result<std::optional<ShardChange>> MeshChange(const std::shared_ptr<ChunkTree>& tree,
                                                const MeshFiles& files);
  ShardChange ChangeOf(const WrittenVersionPtr& version);
  Result<std::shared_ptr<File>> OpenSpooled(const WrittenVersionPtr& version);
  void SyncTogether(const std::vector<WrittenVersionPtr>& versions);
  void Discard(const std::vector<WrittenChunks::Spooled>& spooled);
  // Ends an attempt that has failed with `error`. Versions whose file another process has removed
  // from the spool are given up, so that the others can be published.
  tl::unexpected<Error> EndFailedPublish(const std::shared_ptr<ChunkTree>& tree,
                                         const DirtyShard& shard,
                                         const std::vector<WrittenVersionPtr>& versions,
                                         Error error);
  [[nodiscard]] std::optional<Error> WhyLost(const WrittenVersion& version) const;
  void SetAside(const WrittenChunks::Spooled& spooled, const std::string& why);
  // Strict mode: versions that somebody else's have come before are set aside.
  tl::unexpected<Error> Withdraw(const std::shared_ptr<ChunkTree>& tree, const DirtyShard& shard,
                                 const std::vector<WrittenVersionPtr>& versions);
  void Renew(const std::shared_ptr<ChunkTree>& tree, const DirtyShard& shard);
  void ForgetOldPublishes();

  std::optional<std::string> ReplayChunk(const std::shared_ptr<Spool>& spool,
                                         const SpooledChunk& chunk);
  struct Place {
    std::shared_ptr<ChunkTree> tree;
    ChunkRef chunk;
  };
  std::optional<Place> Resolve(const SpooledChunk& chunk);
  static std::optional<Place> PlaceIn(const std::shared_ptr<ChunkTree>& tree,
                                      std::string_view path);
  Status CheckSpooled(Spool& from, const SpooledChunk& chunk, const Place& place) const;
  void Adopt(const WrittenChunks::Spooled& spooled, const Place& place, bool first);

  const Parts parts_;
  const VolumeOptions options_;
  const std::uint64_t max_chunk_bytes_;
  ShardPublisher publisher_;
  std::unique_ptr<PublishQueue> queue_;
  std::atomic<std::uint64_t> next_number_{0};
  std::atomic<std::uint64_t> bytes_published_{0};
  std::atomic<std::uint64_t> conflicts_{0};
  std::atomic<std::uint64_t> adopted_{0};
  std::atomic<std::uint64_t> lost_{0};
};

}  // namespace unshard
