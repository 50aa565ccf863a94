// The store interface: objects by key, with ranged and conditional reads and opaque generations.
//
// A key is a relative path without empty, "." and ".." components; "" is the root. *Missing* and
// *condition failed* are results, not errors. Every method is safe for concurrent use and blocks
// until it is done. What is written goes past this interface (store/local/file_system.h).
#pragma once

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

namespace unshard {

// Opaque validator of one version of one object; equal exactly if the object is the same version.
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
  enum class State { kFound, kMissing, kConditionFailed };
  State state = State::kFound;
  Bytes value;  // shorter than asked for only where the object ends
  std::uint64_t object_size = 0;
  Generation generation;
};

struct ReadOptions {
  RangeRequest range;
  std::optional<Generation> if_match;  // read only this version, else kConditionFailed
};

// Bytes that stand in an open file: the zero-copy alternative to Bytes. `owner` keeps it open.
struct FileSlice {
  int descriptor = -1;
  ByteRange range;
  std::shared_ptr<const void> owner;
};

// Fills `to`, which has the size of the slice's range. kDataLoss where the file has become shorter.
Status ReadSlice(const FileSlice& slice, std::span<std::uint8_t> to);

// One version of one object, readable for as long as it is held, even after the object has been
// replaced by renaming (local files; a remote store answers kConditionFailed then). Thread-safe.
class ObjectVersion {
 public:
  virtual ~ObjectVersion() = default;
  [[nodiscard]] virtual const ObjectInfo& info() const = 0;
  // kFound with bytes of exactly this version, or kConditionFailed where it is no longer to be had
  // (replaced remotely, or overwritten in place).
  virtual Result<ReadResult> Read(const RangeRequest& range) = 0;
  // The same bytes as a slice of a file, for splicing, where that is as safe as Read: nothing for
  // remote objects and for files that were written to within the last moments. Counts as a read.
  virtual std::optional<FileSlice> Slice(const ByteRange& range) = 0;
  // A hint that these bytes will be read in a moment: a local file starts to fetch them. Does not
  // wait, and is no read.
  virtual void Prefetch(const ByteRange& range) { (void)range; }
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

  // What stands under `key`; nothing where it is missing. Symbolic links are followed as long as
  // they stay inside the store; one that leaves it is kPermissionDenied.
  virtual Result<std::optional<ObjectInfo>> Stat(std::string_view key) = 0;

  // Pins the present version of a file; a null pointer where it is missing. A directory where a
  // file should be is kDataLoss, an unreadable file kPermissionDenied.
  virtual Result<std::shared_ptr<ObjectVersion>> Open(std::string_view key) = 0;

  // One ranged read without pinning.
  virtual Result<ReadResult> Read(std::string_view key, const ReadOptions& options) = 0;

  // Calls `visitor` for each entry directly below the directory `key` (no "." and "..", any
  // order) until it returns false. A missing directory has no entries. Reads ahead at most one
  // system buffer.
  using ListVisitor = std::function<bool(const ListEntry&)>;
  virtual Status List(std::string_view key, const ListVisitor& visitor) = 0;

  // The same, after the entry whose `resume` is given (0: from the start), without reading again
  // what stands before it where the store can do that. Entries that come or go meanwhile may or may
  // not be seen; all others are seen once.
  virtual Status ListFrom(std::string_view key, std::uint64_t resume, const ListVisitor& visitor);

  // For messages: where `key` lives. Never holds a credential.
  [[nodiscard]] virtual std::string Describe(std::string_view key) const = 0;
};

// Fails with kInvalidArgument where `key` is not of the form that keys have.
Status CheckKey(std::string_view key);

// The bytes of an object of `object_size` bytes that `range` asks for: what lies beyond its end is
// cut off.
ByteRange ClipRange(const RangeRequest& range, std::uint64_t object_size);

// Reads a whole object of at most `max_bytes`, one version. Nothing where it is missing. Fails with
// kResourceExhausted where it is larger.
struct WholeObject {
  std::string text;
  ObjectInfo info;
};
Result<std::optional<WholeObject>> ReadWhole(ObjectStore& store, std::string_view key,
                                             std::uint64_t max_bytes);

}  // namespace unshard
