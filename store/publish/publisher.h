// Publishing: rewriting one shard of a store with committed chunks, never in place.
//
//   1. Begin to replace the shard (store/object/object_replacement.h). Its current version is the
//      base.
//   2. Read the index of the base, all pages, and check it. Plan which of its chunks stay.
//   3. Put the new version together: whole, or by additions at the end of the base, where the store
//      starts it from the base without a copy and little garbage results.
//   4. Read the new version's index back through the ordinary index walk and compare every entry.
//   5. Commit the new version. A version without any chunk is not stored: the shard is removed
//      instead, except in stores that remove nothing atomically. If another writer has replaced
//      the base since step 1, start over, after a random pause that lets others through.
//   6. Make it durable.
//
// Where the outcome of step 5 is unknown the publish fails, the spool keeps all, and the next
// publish finds either version.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "codec/shard/chunk_locator.h"
#include "codec/shard/format.h"
#include "store/local/file_system.h"
#include "store/object/object_replacement.h"
#include "store/shard/set.h"
#include "store/spool/spool.h"

namespace unshard {

// Fingerprints of bytes that are put, and of the bytes that they replace.
struct ExpectedBytes {
  // What the writer believed to replace; other bytes in the base count as a conflict.
  ChunkFingerprint expected;
  // The same: of a version that may or may not have been published since.
  std::optional<ChunkFingerprint> also_expected;
  // A version of the shard that is known to hold one of the two. Where the base is that version
  // the bytes that are replaced are not read.
  std::optional<Generation> seen_in;
  // What is put; other bytes are refused. Where the base has it already, as after a publish that
  // could not be made durable, that is no conflict.
  std::optional<ChunkFingerprint> put;
};

// One entry of the shard that changes.
struct ShardChange {
  std::uint64_t page = 0;
  std::uint64_t slot = 0;
  bool removed = false;
  bool yields = false;  // in conflict the chunk stays as it is in the base, as in strict mode
  // The plain bytes, whole; read as a stream when they are put. Null for a tombstone. May be
  // called more than once.
  std::function<Result<std::shared_ptr<File>>()> open;
  std::uint64_t size = 0;
  // In place of `open`: the bytes as the entry stores them, in the encoding of the shard format
  // (data_encoding); `size` is that of these. In the order of page and slot, and once more in each
  // attempt.
  std::function<Result<Bytes>()> stored;
  // Meshes: the fragments to store right before the manifest. Null: those of the base stay.
  std::function<Result<std::shared_ptr<File>>()> open_leading;
  std::uint64_t leading_size = 0;
  // Of the fragments; unset where nothing is known of them.
  std::optional<ExpectedBytes> leading;
  // As in ExpectedBytes.
  ChunkFingerprint expected;
  std::optional<ChunkFingerprint> also_expected;
  std::optional<Generation> seen_in;
  std::optional<ChunkFingerprint> put;
};

struct PublishRequest {
  ReplacedObject object;  // the shard in the store
  std::uint64_t shard = 0;
  const ShardFormat* format = nullptr;
  bool has_leading = false;          // meshes: each entry is preceded by bytes that no index names
  std::vector<ShardChange> changes;  // each (page, slot) once
  // In strict mode chunks that are in conflict stay as they are in the base, and so do those of
  // which it is not known what was to be replaced.
  bool strict = false;
  // Called right before the shard is replaced or removed, with the id of the attempt
  // (ObjectReplacement::attempt), each time followed by `committed`: with what was replaced by what
  // as soon as that has happened (or may have, where the outcome is unknown), null where it has
  // not. For ShardSet::Replacement. A failure ends the publish with the shard as it was. Neither is
  // called where the shard stays as it is.
  std::function<Status(const std::string& attempt)> committing;
  std::function<void(const ShardSet::OwnPublish*)> committed;
};

struct PublishResult {
  std::uint64_t bytes_written = 0;  // given to the store, index included; cloned bytes are not
  std::uint64_t object_size = 0;    // 0: the shard was removed, or there was none
  std::uint64_t chunks = 0;         // that the shard holds now
  bool appended = false;
  // Nothing was left to be done: chunks that were not there were removed, or all changes were
  // refused.
  bool unchanged = false;
  // Page and slot of chunks whose base was not what their writer had seen.
  std::vector<std::pair<std::uint64_t, std::uint64_t>> conflicting;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> refused;  // of these: that stay as they were
};

struct PublisherOptions {
  std::uint64_t max_index_bytes = std::uint64_t{128} << 20;        // of all pages of one shard
  std::uint64_t max_whole_shard_bytes = std::uint64_t{128} << 20;  // of a shard with outer codecs
  std::uint64_t max_chunk_bytes = std::uint64_t{64} << 20;         // of one chunk that is encoded
  unsigned garbage_percent = 25;  // an appended shard may hold that much dead bytes
  // Before a shard that another writer has replaced is tried again, at random, and twice as long
  // each time. 0: at once, where others are waited for by a lock.
  std::chrono::milliseconds first_pause{0};
};

// Thread-safe. One publish holds one chunk and the shard's index in memory, never the shard, unless
// it has outer codecs.
class ShardPublisher {
 public:
  ShardPublisher(std::shared_ptr<ObjectReplacer> store, const PublisherOptions& options);
  // Returns once the new version is durable. Fails, with the shard as it was:
  //   kDataLoss           the base is damaged in a place that the changes do not replace, or its
  //                       index cannot be read; a change has other bytes than it announced
  //   kInvalidArgument    a mesh manifest does not go with its fragments; a slot is changed twice
  //   kConflict           the shard kept being replaced under us
  //   kUnavailable        another writer has not released the shard in time
  //   kNotSupported       shards of this format cannot be written
  //   kResourceExhausted  a cap, or a full disk
  // and as the store fails. After a failure of step 6, or where the outcome of step 5 is unknown,
  // the new version may be there already: publishing again makes sure, and durable.
  Result<PublishResult> Publish(const PublishRequest& request);
  // The mount is ending: other writers are no longer waited for as long.
  void End() { ending_.request_stop(); }

 private:
  const std::shared_ptr<ObjectReplacer> store_;
  const PublisherOptions options_;
  std::stop_source ending_;
};

}  // namespace unshard
