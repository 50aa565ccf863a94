// The writable side of a volume: from a written chunk file to its shard.
//
// A chunk's way:
//   1. A commit checks the staged bytes, seals them in the spool together with the fingerprint of
//      what they replace, and makes them the version that every reader of the mount sees
//      (chunk_committer.h).
//   2. The queue decides when the shard is published (store/publish/queue.h).
//   3. The shard is rewritten with all versions that are in the spool, and becomes the current
//      generation in the moment in which it is renamed (shard_publishing.h).
//   4. From then on readers are served by the shard, and the spool's files are discarded.
// Other files of a store whose files cannot be written in place go the same way, each for itself
// (store/files/object_files.h).
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "store/chunks/current_chunks.h"
#include "store/files/file_publishing.h"
#include "store/object/store_contact.h"
#include "store/publish/queue.h"
#include "store/source/volume_options.h"
#include "store/volume/chunk_committer.h"
#include "store/volume/commit_checks.h"
#include "store/volume/room.h"
#include "store/volume/shard_publishing.h"
#include "store/volume/spool_status.h"
#include "store/volume/spooled_versions.h"

namespace unshard {

// Thread-safe.
class WritePipeline {
 public:
  struct Parts {
    std::shared_ptr<ObjectReplacer> replacer;  // of the source
    std::shared_ptr<DatasetTree> datasets;
    std::shared_ptr<CommittedVersions> written;
    // Files of the source that are no shards; null where they are written in place.
    std::shared_ptr<ObjectFiles> files;
    ByteGate* converting = nullptr;  // of CommitChecks; outlives this object
    // This mount's own spool first, then adopted ones.
    std::vector<std::shared_ptr<Spool>> spools;
    std::string spool_path;  // of this mount's own, for people
    // Where all views are presented: CommittedTo::root, and the replacer without it; else "" and
    // null.
    std::string root = {};
    std::shared_ptr<ObjectReplacer> source_replacer = nullptr;
    // Notified of a shard whose chunks have to be revalidated, as if another process had replaced
    // it. May be null.
    std::function<void(const std::string& key)> on_renewed;
    // What is heard of a remote store; null where there is no network.
    std::shared_ptr<StoreContact> contact = nullptr;
    // Sends the store any request, at most until the deadline; false where it does not answer. Null
    // where there is no network.
    std::function<bool(const Deadline& deadline)> ask_store = nullptr;
  };
  WritePipeline(Parts parts, const VolumeOptions& options);
  ~WritePipeline();

  // Takes up what earlier mounts left in the spools (spool_replay.h). Once, before others use this.
  void Replay();

  [[nodiscard]] const std::shared_ptr<Spool>& spool() const { return parts_.spools.front(); }
  [[nodiscard]] CommittedVersions& written() { return *parts_.written; }
  // Of the source.
  [[nodiscard]] ObjectReplacer& replacer() const { return *parts_.replacer; }

  // What readers see of chunks.
  [[nodiscard]] const CurrentChunks& current() const { return current_; }

  // Whether the source is a store over a network, which may be away, and whether it is, as far as
  // is known.
  [[nodiscard]] bool is_remote() const { return parts_.files != nullptr; }
  [[nodiscard]] bool StoreIsAway() const { return queue_.StoreIsAway(); }
  // A request has found it away: commits do not ask it until it answers any request.
  void FoundStoreAway(const Error& error) {
    parts_.contact ? parts_.contact->FoundAway(error) : queue_.FoundStoreAway(error);
  }

  // Succeeds where chunks of this tree can be written at all.
  [[nodiscard]] Status CanWrite(const ChunkTree& tree) const { return checks_.CanWrite(tree); }
  // Whoever writes more than the spool may hold gets its answer by this. Nothing below waits for
  // room by itself.
  [[nodiscard]] Room& room() { return room_; }

  // As in ChunkCommitter.
  using Commit = ChunkCommit;
  Result<WrittenVersionPtr> CommitBytes(const Commit& to, StagedFile& staged);
  Result<WrittenVersionPtr> CommitRemoval(const Commit& of);
  Status CommitMove(const Commit& to, StagedFile& staged, const Commit& of);

  // Returns once the version, or a later one of its chunk, survives a power loss (or, with
  // sync=store, is in its shard).
  Status Sync(const WrittenVersionPtr& version);
  // The same of what is committed for a chunk.
  Status Sync(const ChunkTree& tree, const ChunkRef& chunk);
  // Returns once what is committed for a chunk survives a power loss.
  Status SyncInSpool(const ChunkTree& tree, const ChunkRef& chunk);
  // Sync() of all chunks directly in one directory of a tree.
  Status SyncDirectory(const ChunkTree& tree, const GridDirectory& in);

  // Publishes all that was committed before the call; in one tree, or everywhere. The latter fails
  // with kConflict, once, where since the last such failure committed versions were quarantined or
  // lost: also where a publish that no caller waited for has found that.
  Status Flush(const ChunkTree& tree);
  Status Flush();
  // `committed` is called, from now on, after each commit with the tree that has the chunk. Once,
  // before chunks are committed.
  void OnCommit(std::function<void(const ChunkTree& tree)> committed) {
    committed_ = std::move(committed);
  }
  // The mount is ending: locks of other writers are no longer waited for as long.
  void End() {
    ending_.request_stop();
    room_.End();
    publishing_.End();
  }
  // Flush() at the end of the mount. Ends with ETIMEDOUT where the network has moved no byte
  // for `patience`, and interrupts publishes that still run when it fails: their records and all
  // that was not published stay in the spool. Once, when nothing is committed any more.
  static constexpr std::chrono::seconds kStorePatience{15};
  Status Drain(std::chrono::milliseconds patience = kStorePatience);
  // Another process has replaced this shard.
  void ShardReplaced(const DirtyShard& shard) { parts_.written->ForgetPublished(shard); }

  [[nodiscard]] SpoolStatus status() const;

 private:
  [[nodiscard]] ObjectFiles::Committing FilesCommitting();
  [[nodiscard]] ChunkCommitter::StoreAway StoreAway();
  [[nodiscard]] PublishQueueOptions QueueOptions(const VolumeOptions& options);
  Result<PublishQueue::Done> Publish(const DirtyShard& shard);
  Status PublishAll();
  // How many committed versions were quarantined, as far as the spools know, or lost.
  [[nodiscard]] std::uint64_t NeverPublished() const;
  // Returns once the object of a chunk is in the source, if another view passes it through. Where
  // it cannot be put now it is put later.
  void PutPassedThrough(const Commit& committed);

  // After a commit: what readers of other files than the chunk's see of it.
  void Committed(const Commit& commit);

  const Parts parts_;
  std::function<void(const ChunkTree& tree)> committed_;  // may be null
  const SyncMode sync_;
  const std::shared_ptr<AttemptRecords> attempts_;
  std::unique_ptr<FilePublishing> file_publishing_;  // null where files are written in place
  std::stop_source ending_;
  std::stop_source interrupted_;  // requests of publishes are not waited for any more
  const CommitChecks checks_;
  const CurrentChunks current_;
  SpooledVersions versions_;
  ChunkCommitter committer_;
  ShardPublishing publishing_;
  std::atomic<std::uint64_t> reported_{0};  // of NeverPublished(), by Flush()
  PublishQueue queue_;                      // its threads use all the others
  Room room_;                               // goes first: its thread uses the queue
};

}  // namespace unshard
