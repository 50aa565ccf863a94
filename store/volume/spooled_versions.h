// The committed versions that are in spools: how one becomes the latest of its chunk and dirty, how
// it becomes durable, and how it leaves its spool.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "store/chunks/committed_versions.h"
#include "store/chunks/current_chunks.h"
#include "store/dataset/chunk_in_tree.h"
#include "store/publish/queue.h"
#include "store/spool/spool.h"

namespace unshard {

// Changes the table of committed versions and the files in the spools together. Thread-safe.
//
// A spool's file that cannot be discarded is only logged: the next mount replays it, finds its
// chunk published, and discards it then.
class SpooledVersions {
 public:
  using Spooled = CommittedVersions::Spooled;
  // As PublishQueue::Add.
  using AddDirty = std::function<void(const DirtyShard& shard, std::int64_t chunks,
                                      std::int64_t bytes, bool complete)>;
  // `spools`: this mount's own one first, then adopted ones.
  SpooledVersions(std::shared_ptr<CommittedVersions> written,
                  std::vector<std::shared_ptr<Spool>> spools, AddDirty add_dirty)
      : written_(std::move(written)),
        spools_(std::move(spools)),
        add_dirty_(std::move(add_dirty)) {}

  // `version`, sealed as `sealed`, becomes the latest version of its chunk, and its shard dirty.
  void MakeLatest(const WrittenVersionPtr& version, Spooled sealed);
  // The same of versions of different chunks, which readers see together.
  struct Sealed {
    WrittenVersionPtr version;
    Spooled spooled;
  };
  void MakeLatest(std::vector<Sealed> all);
  // The same for a file that an earlier mount, or a retired tree, left in a spool. `stored`: what
  // its shard holds, which is what the file replaces; nothing where that is not known. `put`:
  // kPerhaps where a request of that mount may have put it, or may still arrive.
  void Adopt(const Spooled& spooled, const ChunkInTree& place,
             const std::optional<StoredChunkPrint>& stored = std::nullopt,
             WrittenVersion::Put put = WrittenVersion::Put::kNo);

  // Returns once the version, or a later one of its chunk, survives a power loss.
  Status Sync(const WrittenVersionPtr& version);
  // Syncs these with one fsync of their directory. What fails is left to Sync(), which reports it.
  void SyncTogether(const std::vector<WrittenVersionPtr>& versions);
  // Spool::PrepareToPublish for the files of these versions.
  Status PrepareToPublish(const std::vector<WrittenVersionPtr>& versions);

  // These are not published after all, or in the store now: see CommittedVersions. What has been
  // superseded meanwhile, or published, is discarded from its spool.
  void AbandonPublish(const std::vector<WrittenVersionPtr>& versions,
                      const std::optional<ShardSet::OwnPublish>& own = std::nullopt);
  CommittedVersions::Published EndPublish(const std::vector<WrittenVersionPtr>& versions,
                                          const std::optional<ShardSet::OwnPublish>& own);
  // These versions of a shard cannot be published: readers see the store again, as if they had
  // never been committed, and they no longer count as dirty. Returns those whose files are still in
  // a spool and to be kept.
  std::vector<Spooled> Withdraw(const DirtyShard& shard,
                                const std::vector<WrittenVersionPtr>& versions);
  // Of files that are superseded, or in the store. An exception ends the process: if one of them
  // stayed while later versions went, the next mount would publish it over them.
  void Discard(const std::vector<Spooled>& spooled) noexcept;
  // Moves a file to the conflicts of its spool, with a line in the log that says why.
  void Quarantine(const Spooled& spooled, const std::string& why);

  // Since the start.
  [[nodiscard]] std::uint64_t adopted() const { return adopted_.load(); }
  [[nodiscard]] std::uint64_t quarantined() const { return quarantined_.load(); }

 private:
  std::vector<CommittedVersions::Replaced> Replace(const std::vector<WrittenVersionPtr>& versions);
  // What follows once they are the latest, and cannot be undone: as for Discard().
  void FinishReplacing(const std::vector<WrittenVersionPtr>& versions,
                       const std::vector<CommittedVersions::Replaced>& replaced) noexcept;

  const std::shared_ptr<CommittedVersions> written_;
  const std::vector<std::shared_ptr<Spool>> spools_;
  const AddDirty add_dirty_;
  std::atomic<std::uint64_t> last_number_{0};
  std::atomic<std::uint64_t> adopted_{0};
  std::atomic<std::uint64_t> quarantined_{0};
};

}  // namespace unshard
