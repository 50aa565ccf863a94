// Replacing one object of a store, local or remote, as a whole.
//
// Begin() opens the version that is to be replaced (the base). The caller assembles a new version,
// also from ranges of the base, and commits it on the condition that the base is still the current
// version.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "codec/core/byte_range.h"
#include "codec/core/bytes.h"
#include "codec/core/error.h"
#include "codec/shard/chunk_locator.h"
#include "store/object/deadline.h"
#include "store/object/object_store.h"

namespace unshard {

// The bytes of a version that is being assembled, empty at first. Used by one thread.
class NewVersion {
 public:
  virtual ~NewVersion() = default;
  // Writes `bytes` at `at`. Beyond the end the version grows, and a gap is filled with zeros. A
  // failure to store the bytes may be reported by a later call, at the latest by the commit.
  virtual Status Write(std::uint64_t at, ByteSpan bytes) = 0;
  // Copies a range of the base to `at`, inside the store where it can do that. kDataLoss where the
  // base ends before the range does, kConflict where it has been replaced and is no longer
  // readable. A store that copies later says so later: ReadBack() fails with kConflict then, and
  // for a commit the condition has failed.
  virtual Status CopyBase(const ByteRange& range, std::uint64_t at) = 0;
  // Fills `to` with bytes of the new version; the count is smaller only where the version ends.
  virtual Result<std::size_t> ReadBack(std::uint64_t at, std::span<std::uint8_t> to) = 0;
  // Truncates the version, or extends it with zeros. Cheap where it has this size already.
  virtual Status SetSize(std::uint64_t size) = 0;
  virtual Result<std::uint64_t> Size() = 0;
};

// The outcome of a commit or a removal.
struct Committed {
  enum class Outcome {
    kCommitted,        // every reader that opens the object now gets `object`
    kConditionFailed,  // the base was no longer the current version; nothing has changed
    kUnknown,          // either of the two: the answer of the store was lost for `reason`
  };
  Outcome outcome = Outcome::kConditionFailed;
  std::optional<ObjectInfo> object{};  // kCommitted: the new version; nothing after a removal
  Error reason{ErrorCode::kUnavailable, {}, 0};
};

// One attempt to replace one object. Used by one thread. Its destructor discards what was not
// committed: as far as the store is reachable, neither a lock nor bytes remain.
class ObjectReplacement : public NewVersion {
 public:
  // The version that is to be replaced; null where the object is missing. A read gives
  // kConditionFailed once another process has replaced it and the store has not kept it.
  [[nodiscard]] virtual const std::shared_ptr<ObjectVersion>& base() const = 0;
  // Whether the base is the obsolete form in two objects, which no store removes in one step.
  [[nodiscard]] virtual bool base_is_pair() const = 0;
  // Fills the new version, which is empty, with all bytes of the base where this process need not
  // copy them (local: FICLONE; remote: a copy by the server). Elsewhere returns false and leaves
  // the version empty.
  virtual Result<bool> StartFromBase() = 0;

  // The id of this attempt, with which Commit() marks the new version: ObjectReplacer::Attempts has
  // it from then on, also after the process has ended. "" where commits leave no mark. Constant.
  [[nodiscard]] virtual std::string attempt() const { return {}; }

  // Called once everything is ready, right before the object is replaced. A failure ends the
  // attempt, and the object stays as it was.
  using Committing = std::function<Status()>;
  // Replaces the base by the new version as a whole. The bytes are durable before that, the name
  // only after MakeDurable(). After an error the object is unchanged. After kCommitted the new
  // version is the base for Remove() and MakeDurable().
  virtual Result<Committed> Commit(const Committing& committing) = 0;
  // Removes an obsolete pair beside the object, then the object. Requires: a base that is no pair.
  virtual Result<Committed> Remove(const Committing& committing) = 0;
  // Makes the object, or its absence, durable; then removes an obsolete pair that the object
  // supersedes. May be called without a commit: an earlier process may have ended between its
  // commit and this call.
  virtual Status MakeDurable() = 0;
};

// What is to be replaced.
struct ReplacedObject {
  std::string key;
  // The object's two parts in the obsolete form: they are the base where `key` is missing.
  std::optional<ShardKeys::Pair> obsolete;
};

// Where uploads in parts are recorded while they are under way: what a process that is killed
// leaves of one is kept, and paid for, until it is dropped. Thread-safe.
class UploadRecords {
 public:
  virtual ~UploadRecords() = default;
  // Returns the number of the record once it survives a power loss.
  virtual Result<std::uint64_t> Begin(const std::string& key, const std::string& upload) = 0;
  // Nothing is left of the upload.
  virtual void End(std::uint64_t number) = 0;
};

// Thread-safe.
class ObjectReplacer {
 public:
  virtual ~ObjectReplacer() = default;
  // Fails as replacing the object would, as far as that is known without trying: a read-only store,
  // no permission to write there.
  virtual Status CanReplace(const std::string& key) = 0;
  // Where the store lets one writer at a time replace an object, waits for the other writers: until
  // `deadline` at most, for a limited time without one, and for a short time only once
  // `deadline.stop` is requested (kUnavailable). kDataLoss where only one half of a pair is there.
  virtual Result<std::unique_ptr<ObjectReplacement>> Begin(const ReplacedObject& object,
                                                           const Deadline& deadline) = 0;
  // ObjectReplacement::MakeDurable() of all objects directly in a directory at once, for commits of
  // an earlier process. Removes no obsolete pairs. Succeeds where the directory is missing.
  virtual Status MakeDurable(const std::string& directory) = 0;
  // The attempts (ObjectReplacement::attempt) that have made the current version and those before
  // it, the latest first; none where the object is missing. Versions that so many have replaced
  // since are forgotten. A failure says nothing: the store could not be asked.
  virtual Result<std::vector<std::string>> Attempts(const std::string& key) {
    (void)key;
    return std::vector<std::string>();
  }
  // Where its uploads are recorded from now on; null: nowhere.
  virtual void RecordUploads(std::shared_ptr<UploadRecords> records) { (void)records; }
  // Drops what is left of an upload that an earlier process has recorded. Succeeds where nothing
  // is.
  virtual Status DropUpload(const std::string& key, const std::string& upload) {
    (void)key, (void)upload;
    return {};
  }
  // Whether Remove() is as atomic as Commit(). Where it is not, a shard without a chunk is stored
  // with an empty index, and never removed.
  [[nodiscard]] virtual bool removes_atomically() const { return true; }
  // The store takes no more than one new version of an object in this time; 0: any number.
  [[nodiscard]] virtual std::chrono::milliseconds least_interval() const {
    return std::chrono::milliseconds(0);
  }
  // For messages: where `key` lives. Never holds a credential.
  [[nodiscard]] virtual std::string Describe(const std::string& key) const = 0;
};

// Replaces or creates an object of the bytes that `fill` writes, once for each attempt. Readers see
// all old bytes or all new ones, also after a power loss. Returns once the new ones are durable.
// Fails as `fill` does, and with kConflict where other writers replaced the object first many times
// in a row.
using FillVersion = std::function<Status(NewVersion&)>;
Status ReplaceObject(ObjectReplacer& store, const std::string& key, const FillVersion& fill);
// The same, of these bytes.
Status ReplaceObject(ObjectReplacer& store, const std::string& key, ByteSpan bytes);

// The same of the version that was read (nothing: the object was missing), in one attempt. False
// where another one is there by now, which stays. One with the same bytes counts as the same.
Result<bool> ReplaceVersion(ObjectReplacer& store, const std::string& key,
                            const std::optional<WholeObject>& read, ByteSpan bytes);

}  // namespace unshard
