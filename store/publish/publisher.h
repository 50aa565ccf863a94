// Publishing: rewriting one shard of a local store with committed chunks, never in place.
//
//   1. Open `<shard>.__lock` (made where it is missing), wait for its exclusive OFD lock, but not
//   for
//      ever, and open the path again: unless both are the same file another writer has renamed it,
//      and we start over. TensorStore does the same, so that both may write one dataset.
//   2. Read the index of the shard as it is now (the base), all pages, and check it. Where the
//      shard is missing, the pair of the obsolete form is the base.
//   3. Make `<shard>.new.__lock` anew, give it the owner, mode and attributes of the base, and put
//      the new version into it: whole, or, where the file system shares blocks and little garbage
//      results, as a clone of the base with additions at its end.
//   4. Read the new version's index back through the ordinary index walk and compare every entry.
//   5. Sync the new version. The base must still be the file of step 2, else start over.
//   6. Rename it onto the shard and sync the directory. A version without any chunk is not stored:
//      the shard is removed instead.
//   7. Remove the obsolete pair, whose bytes are in the shard now: readers ask for the shard first.
//      A pair that would come back to life with the removal of a shard is removed before it.
//   8. Remove the lock file, and what was not renamed.
//
// A crash leaves the old shard or the new one, and at most an unlocked and empty lock file and a
// part of a version, which the next publish of the shard removes.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "codec/shard/chunk_locator.h"
#include "codec/shard/format.h"
#include "store/local/file_system.h"
#include "store/local/shard_lock.h"
#include "store/shard/set.h"
#include "store/spool/spool.h"

namespace unshard {

// Of bytes that are put: what they replace, and what they are.
struct ExpectedBytes {
  // What the writer believed to replace; other bytes in the base count as a conflict.
  ChunkFingerprint expected;
  // The same: of a version that may or may not have been published since.
  std::optional<ChunkFingerprint> also_expected;
  // What is put; other bytes are refused. Where it stands there already, as after a publish that
  // could not sync the directory, that is no conflict.
  std::optional<ChunkFingerprint> put;
};

// One entry of the shard that changes.
struct ShardChange {
  std::uint64_t page = 0;
  std::uint64_t slot = 0;
  bool removed = false;
  // The plain bytes, whole; read as a stream when their turn comes. Null for a removal. May be
  // called more than once.
  std::function<Result<std::shared_ptr<File>>()> open;
  std::uint64_t size = 0;
  // Meshes: the fragments to stand right before the manifest. Null: those of the base stay.
  std::function<Result<std::shared_ptr<File>>()> open_leading;
  std::uint64_t leading_size = 0;
  // Of the fragments; unset where nothing is known of them.
  std::optional<ExpectedBytes> leading;
  // As in ExpectedBytes. Not looked at where the base is known to be the version that the writer
  // saw: that saves reading it.
  bool check_expected = true;
  ChunkFingerprint expected;
  std::optional<ChunkFingerprint> also_expected;
  std::optional<ChunkFingerprint> put;
};

struct PublishRequest {
  std::string key;  // of the shard in the store
  // The keys of the obsolete two-file form of this shard in the store, where there is such a form.
  std::optional<ShardKeys::Pair> obsolete;
  std::uint64_t shard = 0;
  const ShardFormat* format = nullptr;
  bool has_leading = false;          // meshes: each entry is preceded by bytes that no index names
  std::vector<ShardChange> changes;  // each (page, slot) once
  // In strict mode chunks that are in conflict stay as they are in the base.
  bool strict = false;
  // Called between steps 5 and 6 while the lock is held, each time followed by after_rename: with
  // what was replaced by what as soon as it has happened, or null where it has not. For
  // ShardSet::Replacement. A failure ends the publish with the shard as it was. Neither is called
  // where the shard stays as it is.
  std::function<Status()> before_rename;
  std::function<void(const ShardSet::OwnPublish*)> after_rename;
};

struct PublishResult {
  std::uint64_t bytes_written = 0;  // given to the store, index included; cloned bytes are not
  std::uint64_t object_size = 0;    // 0: the shard was removed, or there was none
  std::uint64_t chunks = 0;         // that the shard holds now
  bool appended = false;
  // Nothing was left to be done: chunks that were not there were removed, or, in strict mode, all
  // changes were in conflict.
  bool unchanged = false;
  std::uint64_t conflicts = 0;  // chunks whose base was not what their writer had seen
  std::vector<std::pair<std::uint64_t, std::uint64_t>> conflicting;  // their page and slot
  FileStatus status;  // of the new shard, where there is one and it has changed
};

struct PublisherOptions {
  std::uint64_t max_index_bytes = std::uint64_t{128} << 20;    // of all pages of one shard
  std::uint64_t max_wrapped_bytes = std::uint64_t{128} << 20;  // of a shard in a codec of its own
  std::uint64_t max_chunk_bytes = std::uint64_t{64} << 20;     // of one chunk that is encoded
  unsigned garbage_percent = 25;  // an appended shard may hold that much dead bytes
  LockPatience lock_patience{};   // of its own: `ending` is not used
};

// Thread-safe. One publish holds one chunk and the shard's index in memory, never the shard, unless
// the shard is wrapped.
class ShardPublisher {
 public:
  ShardPublisher(std::shared_ptr<FileSystem> store, const PublisherOptions& options);
  // Returns once the new version lasts. Fails, with the shard as it was:
  //   kDataLoss           the base is damaged in a place that the changes do not replace, or its
  //                       index cannot be read; a change has other bytes than it announced
  //   kInvalidArgument    a mesh manifest does not go with its fragments; a slot is changed twice
  //   kConflict           the shard kept being replaced under us
  //   kUnavailable        another writer has not released the shard's lock in time
  //   kNotSupported       shards of this format cannot be written
  //   kResourceExhausted  a cap, or a full disk
  // and as the store fails. After a failure to sync the directory the new version stands there, but
  // may not last: publishing again makes it so.
  Result<PublishResult> Publish(const PublishRequest& request);
  // The mount is ending: locks that others hold are no longer waited for as long.
  void End() { ending_ = true; }

 private:
  const std::shared_ptr<FileSystem> store_;
  const PublisherOptions options_;
  std::atomic<bool> ending_{false};
};

}  // namespace unshard
