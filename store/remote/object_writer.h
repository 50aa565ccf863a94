// The requests that replacing an object of a service over a network is made of: all that S3 and GCS
// do each in their own way.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "codec/core/byte_range.h"
#include "codec/core/error.h"
#include "store/http/transport.h"
#include "store/object/deadline.h"
#include "store/object/object_store.h"

namespace unshard {

// The current version of an object.
struct RemoteObject {
  ObjectInfo info;        // as readers of the store are given it
  std::string validator;  // names this version in conditions
  // The ids that the version is marked with: of the attempt that has made it, then of those before.
  std::vector<std::string> attempts;
  // Metadata that a rewrite carries over, in the words of the service.
  HttpHeaders kept;
};

struct WriteCondition {
  enum class Kind {
    kNone,
    kMissing,  // the object is missing
    kVersion,  // `validator` names its current version
  };
  Kind kind = Kind::kNone;
  std::string validator;

  static WriteCondition Of(const std::optional<RemoteObject>& base) {
    if (!base) return {Kind::kMissing, {}};
    return {Kind::kVersion, base->validator};
  }
};

// A version that is to be made.
struct NewObject {
  std::string key;
  WriteCondition condition;
  std::vector<std::string> attempts;
  HttpHeaders kept;
};

// What became of a write, as far as its answer tells.
struct WriteAnswer {
  enum class Kind {
    kApplied,
    kNotSent,          // the service has not seen the request: no connection
    kConditionFailed,  // or the object is what an earlier sending of the same request has made of
                       // it
    kFailed,           // the service answered that it failed: it may have applied the request
    kLost,             // there was no answer: it may have applied the request, or may do so later
    kRefused,          // the same request is never applied, for `reason`
  };
  Kind kind = Kind::kApplied;
  // kApplied: the version, where the answer names it; `kept` and `attempts` are those of the
  // request. Nothing after a removal.
  std::optional<RemoteObject> object{};
  Error reason{ErrorCode::kUnavailable, {}, 0};
  // What the service asks for before another try.
  std::chrono::milliseconds retry_after{0};
};

// The upload of one object in parts of equal size, the last one excepted.
class PartedUpload {
 public:
  virtual ~PartedUpload() = default;
  // Where false, parts are put one after the other, in order; else from any threads.
  [[nodiscard]] virtual bool takes_parts_in_parallel() const = 0;
  // Puts the part of this number, counted from 0; again after failures that may pass.
  virtual Status Put(std::size_t part, std::shared_ptr<const HttpBody> bytes) = 0;
  // Copies the part from the version that the condition of the upload names, inside the service.
  // kConflict where that is no longer the current one.
  virtual Status Copy(std::size_t part, const ByteRange& of_base) = 0;
  // Makes the version, once. On the condition of the upload.
  virtual WriteAnswer Complete() = 0;
  // Drops the parts, as far as the service can be reached: whether none is left.
  virtual bool Abort() = 0;
  // By which ObjectWriter::DropParts finds it; "" where the service drops parts by itself.
  [[nodiscard]] virtual std::string id() const { return {}; }
};

// What a service takes, whatever it says of conditions. Constant.
struct WriterTraits {
  std::uint64_t most_single_bytes = std::uint64_t{5} << 30;  // of one Put
  std::uint64_t least_part_bytes = std::uint64_t{5} << 20;   // but the last
  std::uint64_t most_parts = 10000;
  bool copies_ranges = false;  // PartedUpload::Copy
  // Some servers compare validators without their quotes (Conduct::unquoted).
  bool validators_have_quotes = false;
  std::chrono::milliseconds least_interval{0};  // between versions of one object
};

// Thread-safe. Its methods wait for the service; a Deadline without an end means the time that the
// request is expected to take at most.
class ObjectWriter {
 public:
  virtual ~ObjectWriter() = default;

  [[nodiscard]] virtual WriterTraits traits() const = 0;
  // The service and the bucket: servers treat all objects of a bucket alike. Holds no credential.
  [[nodiscard]] virtual std::string Bucket() const = 0;
  [[nodiscard]] virtual std::string Describe(const std::string& key) const = 0;

  // The current version, by a request for its metadata; nothing where it is missing.
  virtual Result<std::optional<RemoteObject>> Look(const std::string& key,
                                                   const Deadline& deadline) = 0;
  // Adds to `object` what Look does not tell and a rewrite carries over: access control lists,
  // where they cost a request of their own and can be read. Fails where they may be read later.
  virtual Status AddGrants(const std::string& key, RemoteObject& object) {
    (void)key, (void)object;
    return {};
  }
  // The version, to be read on the condition that it still is the current one. Sends no request.
  virtual std::shared_ptr<ObjectVersion> Open(const std::string& key,
                                              const RemoteObject& object) = 0;
  // Put and Delete send their request once. Before it is sent again the caller has to find out, by
  // Look, what became of the first one.
  virtual WriteAnswer Put(const NewObject& object, std::shared_ptr<const HttpBody> bytes) = 0;
  virtual WriteAnswer Delete(const std::string& key, const WriteCondition& condition) = 0;
  // Begins an upload of `size` bytes in parts of `part_bytes`; no part has been sent yet.
  virtual Result<std::unique_ptr<PartedUpload>> BeginParts(const NewObject& object,
                                                           std::uint64_t size,
                                                           std::uint64_t part_bytes) = 0;
  // PartedUpload::Abort of an upload that another process has begun.
  virtual Status DropParts(const std::string& key, const std::string& upload) {
    (void)key, (void)upload;
    return {};
  }
};

}  // namespace unshard
