// Publishing the committed versions of one shard: from the spools into the store.
//
//   1. Take all versions of the shard that are in a spool, and ask whether the metadata still say
//      that chunks are stored in this way. Where an earlier attempt may have succeeded, leave out
//      those that it has put (store/publish/attempt_records.h).
//   2. Have the shard rewritten (store/publish/publisher.h).
//   3. Right before the new shard takes its name ask for the metadata once more, and record the
//      attempt. Readers of the shard wait from here on, until the new one is the current
//      generation.
//   4. Discard the files from their spools, also those of versions that were superseded while they
//      were published.
// Versions that cannot be published are quarantined in their spool, and readers see the store
// again.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "store/chunks/current_chunks.h"
#include "store/dataset/dataset_tree.h"
#include "store/publish/attempt_records.h"
#include "store/publish/publisher.h"
#include "store/publish/queue.h"
#include "store/volume/spooled_versions.h"

namespace unshard {

// Thread-safe, but one publish of a shard at a time.
class ShardPublishing {
 public:
  struct Parts {
    std::shared_ptr<ObjectReplacer> replacer;
    std::shared_ptr<DatasetTree> datasets;
    std::shared_ptr<CommittedVersions> written;
    SpooledVersions* versions = nullptr;     // outlives this object
    const CurrentChunks* current = nullptr;  // the same
    // Notified of a key of the source whose chunks have to be revalidated, as if another process
    // had replaced it. May be null.
    std::function<void(const std::string& key)> on_renewed;
    PublisherOptions limits;
    std::shared_ptr<AttemptRecords> attempts;
    // Chunks that another process has changed are quarantined; else they are replaced.
    bool strict = false;
    std::string root = {};  // CommittedTo::root
    // Published versions whose times and inode numbers are remembered; then the oldest go.
    std::size_t remembered = std::size_t{1} << 17;
  };
  struct Counters {
    std::atomic<std::uint64_t> bytes_published{0};
    std::atomic<std::uint64_t> conflicts{0};  // chunks of others that were replaced
    std::atomic<std::uint64_t> lost{0};       // versions whose file others have removed
  };
  explicit ShardPublishing(Parts parts)
      : parts_(std::move(parts)), publisher_(parts_.replacer, parts_.limits) {}

  // For PublishQueue. kConflict where versions were quarantined, kUnavailable where halves of
  // meshes wait for the other one; else as ShardPublisher::Publish fails. After other failures the
  // versions stay in their spools.
  Result<PublishQueue::Done> Publish(const DirtyShard& shard);
  // The mount is ending: locks of other writers are no longer waited for as long.
  void End() { publisher_.End(); }
  [[nodiscard]] const Counters& counters() const { return counters_; }

 private:
  void ForgetOldPublishes();

  const Parts parts_;
  ShardPublisher publisher_;
  Counters counters_;
};

}  // namespace unshard
