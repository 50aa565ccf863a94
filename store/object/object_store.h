// The store interface: objects by key, with ranged and conditional reads and opaque generations.
//
// A key is a relative path without empty, "." and ".." components; "" is the root. *Missing* and
// *condition failed* are results, not errors. Every method is safe for concurrent use. Methods with
// a Deadline block until they are done. Where the deadline passes before, they fail as
// Deadline::Check does, except in stores that never wait for others, as the local one. Writes do
// not use this interface (store/local/file_system.h).
#pragma once

#include <chrono>
#include <cstdint>
#include <ctime>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "codec/core/byte_range.h"
#include "codec/core/bytes.h"
#include "codec/core/error.h"
#include "codec/shard/format.h"
#include "store/object/deadline.h"

namespace unshard {

// Opaque validator of one version of one object; equal exactly if the object is the same version. A
// store may take versions of the same bytes for one.
struct Generation {
  std::string tag;
  friend bool operator==(const Generation&, const Generation&) = default;
};

struct ObjectInfo {
  enum class Kind { kFile, kDirectory, kOther };
  Kind kind = Kind::kFile;
  std::uint64_t size = 0;
  Generation generation;
  timespec modified{};
};

struct ReadResult {
  enum class State { kFound, kConditionFailed };
  State state = State::kFound;
  Bytes value;  // shorter than asked for only where the object ends
  std::uint64_t object_size = 0;
  Generation generation;
  // How long before this read began the store was asked for these bytes: they were prefetched.
  // kCachedAge, which no ttl reaches: they are from a disk, and their age is unknown.
  std::chrono::nanoseconds age{0};
  static constexpr std::chrono::hours kCachedAge{24 * 365 * 10};
};

// A range of an open file: the zero-copy alternative to Bytes. `owner` keeps the file open.
struct FileSlice {
  int descriptor = -1;
  ByteRange range;
  std::shared_ptr<const void> owner;
};

// Fills `to`, which has the size of the slice's range. kDataLoss where the file has become shorter.
Status ReadSlice(const FileSlice& slice, std::span<std::uint8_t> to);

// One version of one object. Stays readable while it is held; after the object has been replaced
// only where the store keeps replaced versions. Thread-safe.
class ObjectVersion {
 public:
  virtual ~ObjectVersion() = default;
  [[nodiscard]] virtual const ObjectInfo& info() const = 0;

  // kFound with bytes of exactly this version, or kConditionFailed where it is no longer available
  // (replaced remotely, or overwritten in place).
  using ReadDone = std::function<void(Result<ReadResult>)>;
  // Calls `done` exactly once, before it returns or on a thread of the store; `done` must not
  // block. A remote store returns without blocking; the local one reads before it returns.
  virtual void StartRead(const RangeRequest& range, const Deadline& deadline, ReadDone done) = 0;
  // StartRead, and a wait for its result.
  Result<ReadResult> Read(const RangeRequest& range, const Deadline& deadline);

  // The same bytes as a slice of a file, for splice, where that is as safe as Read: nothing for
  // remote objects and for files that were written to a moment ago. Counts as a read.
  virtual std::optional<FileSlice> Slice(const ByteRange& range) {
    (void)range;
    return std::nullopt;
  }
  // A hint that these bytes will be read soon: the kernel starts to read them from a local file
  // into the page cache; a PrefetchingStore requests them from a remote store. Does not wait, and
  // does not count as a read.
  virtual void Prefetch(const ByteRange& range) { (void)range; }
  // Whether a read of these bytes is served from this machine's disk (store/cache): it costs no
  // request, and proves nothing of the current version.
  [[nodiscard]] virtual bool IsCached(const ByteRange& range) const {
    (void)range;
    return false;
  }
};

// What a store can do. Constant for one store.
struct Capabilities {
  enum class Writes { kNone, kCreateOnly, kConditional };
  bool lists = true;
  // A version can be read after it has been replaced. Where it cannot, a read that succeeds proves
  // that the version was the current one when the read began.
  bool keeps_replaced_versions = true;
  Writes writes = Writes::kNone;
};

// One entry of a directory listing.
struct ListEntry {
  std::string_view name;
  ObjectInfo::Kind kind = ObjectInfo::Kind::kFile;
  std::uint64_t resume = 0;  // for ListFrom: goes on after this entry
};

class ObjectStore {
 public:
  virtual ~ObjectStore() = default;

  [[nodiscard]] virtual Capabilities capabilities() const = 0;

  // The file or directory under `key`; nothing where it is missing. Symbolic links are followed as
  // long as they stay inside the store; a link out of it is kPermissionDenied. For directories,
  // and for files whose bytes the caller does not need: it costs a request of its own.
  virtual Result<std::optional<ObjectInfo>> Stat(std::string_view key,
                                                 const Deadline& deadline) = 0;

  struct Opened {
    std::shared_ptr<ObjectVersion> version;  // null: missing
    Bytes first;  // of this version; shorter than asked for only where the object ends
  };
  // Opens the current version of a file and reads `first` of it, in one request. A range of no
  // bytes reads none. A directory where a file should be is kDataLoss, or missing where the store
  // would have to ask once more to tell. An unreadable file is kPermissionDenied, a file that kept
  // changing while it was read kConflict.
  virtual Result<Opened> Open(std::string_view key, const RangeRequest& first,
                              const Deadline& deadline) = 0;

  // As Open, for a caller that has `first` of the version `known`: where that is still the current
  // one its bytes need not be sent, and `first` is empty then. Stores that cannot ask so send them.
  virtual Result<Opened> OpenUnlessKnown(std::string_view key, const RangeRequest& first,
                                         const ObjectInfo& known, const Deadline& deadline) {
    (void)known;
    return Open(key, first, deadline);
  }

  // As Open, from what a cache on this machine's disk keeps of the version that was opened last,
  // maybe by another process: asks no store. It may have been replaced since; the first read that
  // is not cached tells. Null where nothing is cached.
  virtual Opened OpenCached(std::string_view key, const RangeRequest& first) {
    (void)key, (void)first;
    return {};
  }
  // A version by what its info() was, maybe in another process; asks nothing. Null where this
  // store's generations do not tell versions apart for so long.
  virtual std::shared_ptr<ObjectVersion> Recall(std::string_view key, const ObjectInfo& info) {
    (void)key, (void)info;
    return nullptr;
  }
  // This process has replaced the object: what was said of it before does not hold any more. `now`:
  // by this version; nothing where it was removed, or that is not known.
  virtual void Replaced(std::string_view key, const std::optional<ObjectInfo>& now) {
    (void)key, (void)now;
  }
  // Tells the objects of this store from those of all others, in later processes too; may hold a
  // secret. "": nothing may be kept of them longer than this process.
  [[nodiscard]] virtual std::string Identity() const { return {}; }

  // Calls `visitor` for each entry directly below the directory `key` (no "." and "..", any
  // order) until it returns false. A missing directory has no entries. Reads ahead at most one
  // system buffer.
  using ListVisitor = std::function<bool(const ListEntry&)>;
  virtual Status List(std::string_view key, const Deadline& deadline,
                      const ListVisitor& visitor) = 0;

  // The same, after the entry whose `resume` is given (0: from the start); a store that can seek
  // does not read the entries before it again. Entries that appear or vanish meanwhile may or may
  // not be seen; all others are seen once.
  virtual Status ListFrom(std::string_view key, std::uint64_t resume, const Deadline& deadline,
                          const ListVisitor& visitor);

  // For messages: where `key` lives. Never holds a credential.
  [[nodiscard]] virtual std::string Describe(std::string_view key) const = 0;
};

// Fails with kInvalidArgument where `key` is not of the form that keys have.
Status CheckKey(std::string_view key);

// The bytes of an object of `object_size` bytes that `range` asks for: what lies beyond its end is
// cut off.
ByteRange ClipRange(const RangeRequest& range, std::uint64_t object_size);

// Reads a whole object of at most `max_bytes`, one version: in one request up to 1 MiB. Nothing
// where it is missing. Fails with kResourceExhausted where it is larger.
struct WholeObject {
  std::string text;
  ObjectInfo info;
};
Result<std::optional<WholeObject>> ReadWhole(ObjectStore& store, std::string_view key,
                                             std::uint64_t max_bytes, const Deadline& deadline);

}  // namespace unshard
