// Putting files that wait in the spool into the store, each whole, under its own key.
//
//   1. Take the latest version that waits. Where an earlier attempt on this key may have succeeded,
//      ask the store, and go on only where it has not.
//   2. Begin to replace the object. Compare what the store has with what the version was written
//      on: another host's version is a conflict. The later one wins, and the conflict is counted;
//      in strict mode the version is quarantined.
//   3. Record the attempt in the spool, durably, and put the bytes on the condition that the object
//      is still that of step 2. Where it is not, start over.
//   4. Discard the file from its spool.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "store/files/object_files.h"
#include "store/publish/attempt_records.h"
#include "store/publish/queue.h"

namespace unshard {

// Thread-safe, but one publish of a key at a time.
class FilePublishing {
 public:
  struct Counters {
    std::atomic<std::uint64_t> bytes_published{0};
    std::atomic<std::uint64_t> conflicts{0};
  };
  // `attempts` outlives this object. `strict`: what others have changed is not replaced.
  FilePublishing(std::shared_ptr<ObjectFiles> files, AttemptRecords& attempts, bool strict)
      : files_(std::move(files)), attempts_(attempts), strict_(strict) {}

  // For PublishQueue: the file with this number (FileTable::QueueNumber). kConflict where it was
  // quarantined, and where other hosts keep replacing the object; kUnavailable where the outcome is
  // not known; else as the store fails. After other failures the file stays in its spool.
  Result<PublishQueue::Done> Publish(std::uint64_t number, const Deadline& deadline);
  // A file that an earlier mount has left: it waits, is discarded where the store has it, or is
  // quarantined where another host has changed the object.
  void Replay(const std::shared_ptr<Spool>& spool, const SpooledChunk& chunk);
  [[nodiscard]] const Counters& counters() const { return counters_; }

 private:
  // What a version finds in the store.
  enum class Found {
    kReplaced,  // what it was written on, or an earlier version of this mount
    kSame,      // its own bytes
    kChanged,   // another host's version
  };
  Result<Found> Compare(const WaitingFile& file, const FileState& state,
                        const std::shared_ptr<ObjectVersion>& stored) const;
  Result<bool> WasPut(const std::string& key, const WaitingFile& file);
  struct Put {
    bool done = false;                   // false: the object was replaced meanwhile
    std::optional<ObjectInfo> stored{};  // what the store has now
  };
  Result<Put> PutOnce(const std::string& key, const WaitingPtr& file, const FileState& state,
                      const Deadline& deadline);
  Result<Committed> Commit(const std::string& key, const WaitingPtr& file,
                           ObjectReplacement& replacement);
  PublishQueue::Done End(const std::string& key, const WaitingPtr& file,
                         const std::optional<ObjectInfo>& stored);
  tl::unexpected<Error> Quarantine(const std::string& key, const WaitingPtr& file);

  const std::shared_ptr<ObjectFiles> files_;
  AttemptRecords& attempts_;
  const bool strict_;
  Counters counters_;
};

}  // namespace unshard
