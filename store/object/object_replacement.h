// Replacing one object of a store as a whole, wherever the store is.
//
// Begin() opens the version that is to be replaced (the base). The caller puts a new version
// together from it, and commits that on the condition that the base is still the current version.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "codec/core/byte_range.h"
#include "codec/core/bytes.h"
#include "codec/core/error.h"
#include "codec/shard/chunk_locator.h"
#include "store/object/deadline.h"
#include "store/object/object_store.h"

namespace unshard {

// The bytes of a version that is put together, empty at first. Used by one thread.
class NewVersion {
 public:
  virtual ~NewVersion() = default;
  // Puts `bytes` at `at`; the version grows where it ends before their end, with zeros between. A
  // failure to store them may be reported by a later call, at the latest by the commit.
  virtual Status Write(std::uint64_t at, ByteSpan bytes) = 0;
  // Puts a range of the base at `at`, by the store itself where it can. kDataLoss where the base
  // ends before the range does, kConflict where it has been replaced and cannot be read any more.
  virtual Status CopyBase(const ByteRange& range, std::uint64_t at) = 0;
  // Fills `to` with bytes that were put; the count is smaller only where the version ends.
  virtual Result<std::size_t> ReadBack(std::uint64_t at, std::span<std::uint8_t> to) = 0;
  // Cuts the version off, or extends it by zeros. Costs little where it has this size.
  virtual Status SetSize(std::uint64_t size) = 0;
  virtual Result<std::uint64_t> Size() = 0;
};

// What has become of a commit or a removal.
struct Committed {
  enum class Outcome {
    kCommitted,        // every reader that opens the object now gets `object`
    kConditionFailed,  // the base was not the current version any more; nothing has changed
    kUnknown,          // either of the two: `reason` kept the store's answer from us
  };
  Outcome outcome = Outcome::kConditionFailed;
  std::optional<ObjectInfo> object{};  // kCommitted: the new version; nothing after a removal
  Error reason{ErrorCode::kUnavailable, {}, 0};
};

// One attempt to replace one object. Used by one thread. Its destructor gives up what was not
// committed: it leaves neither a lock nor bytes behind, as far as the store can be reached.
class ObjectReplacement : public NewVersion {
 public:
  // The version that is to be replaced; null where the object is missing. A read gives
  // kConditionFailed once another process has replaced it and the store has not kept it.
  [[nodiscard]] virtual const std::shared_ptr<ObjectVersion>& base() const = 0;
  // Whether the base is the obsolete form in two objects, which no store removes in one step.
  [[nodiscard]] virtual bool base_is_pair() const = 0;
  // Makes all bytes of the base the start of the new version, which is empty, where that costs no
  // copy (local: FICLONE; remote: a copy by the server). False, and the version empty, elsewhere.
  virtual Result<bool> StartFromBase() = 0;

  // Called once everything is ready, right before the object is replaced. A failure ends the
  // attempt, and the object stays as it was.
  using Committing = std::function<Status()>;
  // Puts the new version in place of the base, whole. The bytes are durable before, its name only
  // after MakeDurable(). An error says that the object is as it was. After kCommitted the new
  // version is the base for Remove() and MakeDurable().
  virtual Result<Committed> Commit(const Committing& committing) = 0;
  // Removes the object, and an obsolete pair beside it before. Requires: a base that is no pair.
  virtual Result<Committed> Remove(const Committing& committing) = 0;
  // Returns once the object, or that it is missing, survives a power loss; then removes an obsolete
  // pair that the object supersedes. May be called without a commit: an earlier process may have
  // ended between the two.
  virtual Status MakeDurable() = 0;
};

// What is to be replaced.
struct ReplacedObject {
  std::string key;
  // The object's two parts in the obsolete form: they are the base where `key` is missing.
  std::optional<ShardKeys::Pair> obsolete;
};

// Thread-safe.
class ObjectReplacer {
 public:
  virtual ~ObjectReplacer() = default;
  // Fails as replacing the object would, as far as that can be told without trying: a read-only
  // store, no permission to write there.
  virtual Status CanReplace(const std::string& key) = 0;
  // Waits where the store lets one writer at a time replace an object: until `deadline` at most,
  // not for ever without one, and for a short time only once `deadline.stop` is requested
  // (kUnavailable). kDataLoss where only one half of a pair is there.
  virtual Result<std::unique_ptr<ObjectReplacement>> Begin(const ReplacedObject& object,
                                                           const Deadline& deadline) = 0;
  // ObjectReplacement::MakeDurable() of all objects directly in a directory at once, but for
  // obsolete pairs: for commits of an earlier process. Succeeds where the directory is missing.
  virtual Status MakeDurable(const std::string& directory) = 0;
  // For messages: where `key` lives. Never holds a credential.
  [[nodiscard]] virtual std::string Describe(const std::string& key) const = 0;
};

// Puts a whole small object in place of what stands under `key`, or makes it: readers see the old
// bytes or the new ones, also after a power loss. Returns once the new ones are durable. kConflict
// where other writers were faster many times in a row.
Status ReplaceObject(ObjectReplacer& store, const std::string& key, ByteSpan bytes);

}  // namespace unshard
